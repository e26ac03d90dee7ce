"""The index of a compiled build: the sources that it was made from, which `setup/compiled_finder.py` compares."""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from setup.compiled_finder import SHARED, content_hash

LIBRARY = "brokerlab"
"""Name, less mypyc's suffix, of the library that holds the code of all compiled modules."""
EXTENSION = str(sysconfig.get_config_var("EXT_SUFFIX"))
"""Ending of the file name of an extension of this interpreter."""


def index_lines(tree: Path, modules: Sequence[str]) -> Iterator[str]:
    """Lines of the build's index: the compiled modules, what they import of the tree, and the library of their code."""
    compiled = set(modules)
    for source in sorted(imported(tree, compiled)):
        path = tree / source
        status = path.stat()
        extension = source.removesuffix(".py") + EXTENSION if source in compiled else ""
        yield f"{source}\t{status.st_mtime_ns}\t{status.st_size}\t{content_hash(path.read_bytes())}\t{extension}\n"
    yield f"{SHARED}\t0\t0\t\t{LIBRARY}__mypyc{EXTENSION}\n"


def imported(tree: Path, sources: Collection[str]) -> set[str]:
    """Sources of the tree that these sources import, directly or not, and the packages around them."""
    found: set[str] = set()
    unread = [path for source in sources for path in _sources_of(tree, source.removesuffix(".py").replace("/", "."))]
    while unread:
        path = unread.pop()
        if path not in found:
            found.add(path)
            for node in ast.walk(ast.parse((tree / path).read_bytes())):
                unread += (source for name in _names_imported(node) for source in _sources_of(tree, name))
    return found


def _names_imported(node: ast.AST) -> Iterator[str]:
    """Dotted names that a statement may import; some of them may be no modules."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module is not None:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _sources_of(tree: Path, name: str) -> Iterator[str]:
    """Sources that the import of a dotted name runs, as far as the tree has them: its packages and the module."""
    parts = name.split(".")
    for number in range(1, len(parts) + 1):
        path = "/".join(parts[:number])
        yield from (source for source in (f"{path}.py", f"{path}/__init__.py") if (tree / source).is_file())
