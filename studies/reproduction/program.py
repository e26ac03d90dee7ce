"""Digests of the program behind a result: of the code that runs and judges scenarios, and of the measures of claims.

They cover the packages that decide what a simulated run logs and what is counted in it (`_RUNNING`, `_MEASURING`), and
of these the modules that the simulator, the judge, the scenario's protocols and the measures import; neither comments
nor docstrings. So a change of another protocol, of the emulation's checks, of the report or of a command leaves the
digests as they are.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_ALWAYS = (
    "emulation.simulation.run",
    "analysis.judging.delay_stage",
    "analysis.judging.oracle",
    "analysis.judging.publication_stage",
    "analysis.judging.publisher_stage",
)
"""Modules that each reproduction runs."""
_RUNNING = (
    "broker_service.",
    "topology.",
    "scenario.",
    "emulation.simulation.",
    "analysis.judging.",
    "analysis.reading.",
)
_MEASURED_RUN = "analysis.claims.measured_run"
_MEASURING = (_MEASURED_RUN, "analysis.claims.papers.")
_REGISTRY = "broker_service.routing.registry"
"""Imports every protocol's package when the protocol is looked up, so that its imports say nothing about a scenario."""


def program_digest(protocols: Iterable[str], measures: Iterable[str]) -> str:
    """The digest of the program that runs these protocols and judges the runs; `measures` are names of modules."""
    packages = (f"broker_service.routing.{protocol.replace('-', '_')}" for protocol in protocols)
    return _digest(name for name in _needed([*_ALWAYS, *packages, *measures]) if name.startswith(_RUNNING))


def measures_digest(measures: Iterable[str]) -> str:
    """The digest of the code that measures claims in the tables of a run; `measures` are names of modules."""
    return _digest(name for name in _needed([_MEASURED_RUN, *measures]) if name.startswith(_MEASURING))


def _digest(names: Iterable[str]) -> str:
    """The digest of modules."""
    return hashlib.sha256("\n".join(f"{name} {_module(name).code}" for name in sorted(names)).encode()).hexdigest()[:16]


def _needed(roots: Iterable[str]) -> set[str]:
    """The modules among those that decide on results that are loaded with these ones."""
    needed: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in needed and name.startswith((*_RUNNING, *_MEASURING)) and _file(name) is not None:
            needed.add(name)
            waiting += [*_module(name).imports, name.rpartition(".")[0]]
    return needed


@dataclass(frozen=True, slots=True)
class _Module:
    """A module of this project, as far as digests need it."""

    imports: tuple[str, ...]
    """The names that it imports, modules or not."""
    code: str
    """A digest of its code without its docstrings."""


@cache
def _module(name: str) -> _Module:
    """Parses a module and walks through its code, once for all experiments."""
    file = _file(name)
    tree = ast.parse("" if file is None else file.read_bytes())
    imports: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [inner for inner in node.body if not _is_text(inner)]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imports += _imported(node)
    code = hashlib.sha256(ast.dump(tree).encode()).hexdigest()
    return _Module(() if name == _REGISTRY else tuple(imports), code)


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The names in a statement; none of one that names no module."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif node.module is not None:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_text(node: ast.stmt) -> bool:
    """True for a docstring, also one below a constant."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@cache
def _file(name: str) -> Path | None:
    """The source of a module of this project; None for others, and for a name that is no module."""
    path = ROOT.joinpath(*name.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)
