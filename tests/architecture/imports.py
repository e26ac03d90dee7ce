"""Imports between the product's own modules, read from their sources without running them."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_GENERATED = "generated"
"""Folder of code that set-up generates. It imports nothing of the product and is on no floor."""

_BODIES = ("body", "handlers", "orelse", "finalbody", "cases")
"""Fields of statements, handlers and cases that hold statements, or what holds statements."""


@dataclass(frozen=True, order=True, slots=True)
class Import:
    """One module of the product imports another. Both are dotted names; a package's name means its `__init__`."""

    importer: str
    imported: str

    def __str__(self) -> str:
        return f"{self.importer} -> {self.imported}"


def modules(packages: Iterable[str], root: Path = ROOT) -> dict[str, Path]:
    """Source file of every module below these top-level packages, by dotted name; generated code is left out."""
    sources: dict[str, Path] = {}
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            name = path.relative_to(root).with_suffix("")
            if _GENERATED not in name.parts:
                sources[".".join(name.parts).removesuffix(".__init__")] = path
    return sources


def imports(sources: Mapping[str, Path]) -> list[Import]:
    """Every import of one of these modules by another, sorted; those inside functions and for type checking count."""
    trees = ((name, ast.parse(path.read_text(encoding="utf-8"))) for name, path in sources.items())
    return imports_of(trees, sources)


def imports_of(trees: Iterable[tuple[str, ast.Module]], sources: Mapping[str, Path]) -> list[Import]:
    """The imports that `imports` finds, of modules that are parsed already."""
    found: set[Import] = set()
    for importer, tree in trees:
        package = importer if sources[importer].name == "__init__.py" else importer.rpartition(".")[0]
        for target in _targets(tree, package):
            imported = _module(target, sources)
            if imported is not None and imported != importer:
                found.add(Import(importer, imported))
    return sorted(found)


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """All statements at and below a node, level by level. What holds no statement is not entered, so that a module
    takes a fifth of the time of `ast.walk`."""
    waiting = deque([tree])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, ast.stmt):
            yield node
        for name in _BODIES:
            waiting.extend(getattr(node, name, ()))


def _targets(tree: ast.Module, package: str) -> Iterator[str]:
    """Dotted names that a module of this package imports: modules, and names defined in modules."""
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{source}.{alias.name}" for alias in node.names)


def _module(target: str, sources: Mapping[str, Path]) -> str | None:
    """Longest prefix of a dotted name that is one of the modules; none for generated code and other libraries."""
    if _GENERATED in target.split("."):
        return None
    while target and target not in sources:
        target = target.rpartition(".")[0]
    return target or None
