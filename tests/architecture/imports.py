"""The imports between the product's own modules, read from their sources without running them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, order=True)
class Import:
    """One module of the product imports another. Both are dotted names."""

    importer: str
    imported: str


def modules(packages: Iterable[str], root: Path = ROOT) -> dict[str, Path]:
    """The source file of every module, by dotted name; a package's name stands for its `__init__`."""
    found: dict[str, Path] = {}
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            if "generated" not in path.parts:
                name = ".".join(path.relative_to(root).with_suffix("").parts)
                found[name.removesuffix(".__init__")] = path
    return found


def imports(sources: Mapping[str, Path]) -> list[Import]:
    """Every import of one of these modules by another, imports inside functions included."""
    found: set[Import] = set()
    for importer, path in sources.items():
        for target in _targets(ast.parse(path.read_text(encoding="utf-8"))):
            imported = _module(target, sources)
            if imported is not None and imported != importer:
                found.add(Import(importer, imported))
    return sorted(found)


def _targets(tree: ast.Module) -> Iterator[str]:
    """The dotted names that a module imports: modules, and things in modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _module(target: str, sources: Mapping[str, Path]) -> str | None:
    """The longest prefix of a dotted name that is a module of the product."""
    while target and target not in sources:
        target = target.rpartition(".")[0]
    return target or None
