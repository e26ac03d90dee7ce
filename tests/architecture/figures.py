"""Figures of the source tree: its size, how evenly it is divided, its imports, its small and its repeated parts.

    python -m tests.architecture.figures
    python -m tests.architecture.figures --names
    python -m tests.architecture.figures --root ../other --packages broker_service topology emulation analysis

A second tree, for a comparison, may have other packages. Its order is not known here, so its arrows up are not counted;
rooms that lie on a circle of imports are counted in every tree.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import networkx as nx

from tests.architecture.imports import ROOT, Import, imports_of, modules, statements
from tests.architecture.order import arrows_up, packages

SMALL = 40
"""Lines below which a module counts as small."""
LONG_FUNCTION = 50
"""Lines above which a function counts as long."""
MANY_METHODS = 20
"""Methods above which a class knows too much."""
UNCLEAR_WORDS = (
    *("What", "How", "Whether", "Where", "When", "Which", "Who", "Whose"),
    *("Those", "That", "The same", "As", "By", "Of", "So", "In which", "None", "See the module"),
)
"""Words with which no docstring begins (CONTRIBUTING.md, prose), because it could not be read by itself."""
PRONOUNS = ("It", "Its", "They", "Their", "Them", "From there")
"""Words with which no docstring of the product begins. Docstrings of tests may, because the test's name is the noun."""
REPEATED_STATEMENTS = 4
"""Statements from which on two functions with the same body count as a duplicate."""


@dataclass(frozen=True)
class Source:
    """One module of the product."""

    name: str
    lines: int
    tree: ast.Module
    is_init: bool

    @classmethod
    def read(cls, name: str, path: Path) -> Source:
        text = path.read_text(encoding="utf-8")
        return cls(name, len(text.splitlines()), ast.parse(text), path.name == "__init__.py")

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """All statements, in the order of `ast.walk`. A tree has ten times as many nodes, and is walked once."""
        return list(statements(self.tree))


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the output."""

    name: str
    value: str
    names: tuple[str, ...] = ()
    """Modules, classes or functions that the figure counts, where a reader may want to see them."""

    @classmethod
    def count(cls, name: str, names: Iterable[str]) -> Figure:
        """Figure whose value is the number of these names."""
        counted = tuple(names)
        return cls(name, str(len(counted)), counted)


def figures(root: Path, names: Iterable[str]) -> list[Figure]:
    """All figures that need no order, of the tree below `root` with these top-level packages."""
    found, _ = _of_tree(root, names)
    return found


def _of_tree(root: Path, names: Iterable[str]) -> tuple[list[Figure], list[Import]]:
    """The figures, and the imports that they count. Each module is parsed once, which takes most of the time."""
    paths = modules(names, root)
    sources = [Source.read(name, path) for name, path in paths.items()]
    arrows = imports_of(((source.name, source.tree) for source in sources), paths)
    found = [
        *_sizes(sources, root),
        *_arrows(arrows),
        *_small_modules(sources, arrows),
        *_duplicates(sources),
        Figure.count(
            "docstrings that begin with a question or a reference",
            chain.from_iterable(map(unclear_docstrings, sources)),
        ),
    ]
    return found, arrows


def own_figures() -> list[Figure]:
    """All figures of this tree, the imports that point up among them."""
    found, arrows = _of_tree(ROOT, packages())
    return [*found, Figure.count("imports that point up", map(str, arrows_up(arrows)))]


def _sizes(sources: list[Source], root: Path) -> list[Figure]:
    lines: Counter[str] = Counter()
    for source in sources:
        lines[source.name.partition(".")[0]] += source.lines
    largest, share = lines.most_common(1)[0]
    longest = max(sources, key=lambda source: source.lines)
    tests = modules(["tests"], root)
    return [
        Figure("packages", str(len(lines))),
        Figure(
            "rooms", str(len({tuple(source.name.split(".")[:2]) for source in sources} - {(name,) for name in lines}))
        ),
        Figure("modules", str(len(sources))),
        Figure("lines of product", f"{lines.total():,}"),
        Figure("lines of tests", f"{sum(len(path.read_text('utf-8').splitlines()) for path in tests.values()):,}"),
        Figure("largest package", f"{largest}, {share / lines.total():.1%} of the product's lines"),
        Figure("longest module", f"{longest.name}, {longest.lines} lines"),
        Figure.count(f"functions over {LONG_FUNCTION} lines", chain.from_iterable(map(_long_functions, sources))),
        Figure.count(f"classes of over {MANY_METHODS} methods", chain.from_iterable(map(_large_classes, sources))),
    ]


def _long_functions(source: Source) -> list[str]:
    long = [node for node in _functions(source) if (node.end_lineno or 0) - node.lineno + 1 > LONG_FUNCTION]
    return [f"{source.name}.{node.name}" for node in long]


def _large_classes(source: Source) -> list[str]:
    classes = (node for node in source.statements if isinstance(node, ast.ClassDef))
    return [f"{source.name}.{node.name}" for node in classes if len(_methods(node)) > MANY_METHODS]


def _methods(node: ast.ClassDef) -> list[ast.stmt]:
    return [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]


def _functions(source: Source) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in source.statements if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _arrows(arrows: list[Import]) -> list[Figure]:
    """An arrow joins two packages, or two rooms, however many of their modules import one another."""
    packages: nx.DiGraph[str] = nx.DiGraph()
    rooms: nx.DiGraph[tuple[str, ...]] = nx.DiGraph()
    inner: nx.DiGraph[tuple[str, ...]] = nx.DiGraph()
    for arrow in arrows:
        importer, imported = arrow.importer.split("."), arrow.imported.split(".")
        packages.add_edge(importer[0], imported[0])
        rooms.add_edge(tuple(importer[:2]), tuple(imported[:2]))
        if importer[0] == imported[0] and len(importer) > 1 and len(imported) > 1:
            inner.add_edge(tuple(importer[:2]), tuple(imported[:2]))
    packages.remove_edges_from(list(nx.selfloop_edges(packages)))
    rooms.remove_edges_from(list(nx.selfloop_edges(rooms)))
    inner.remove_edges_from(list(nx.selfloop_edges(inner)))
    circles = [circle for circle in nx.strongly_connected_components(inner) if len(circle) > 1]
    return [
        Figure("imports between modules", str(len(arrows))),
        Figure("arrows between packages", str(packages.number_of_edges())),
        Figure("arrows between rooms of all packages", str(rooms.number_of_edges())),
        Figure("arrows between rooms of one package", str(inner.number_of_edges())),
        Figure("rooms that lie on a circle", str(sum(map(len, circles)))),
    ]


def _small_modules(sources: list[Source], arrows: list[Import]) -> list[Figure]:
    """Figures on modules other than a package's `__init__`, whose re-exports do not count as imports."""
    own = [source for source in sources if not source.is_init]
    importers = Counter(arrow.imported for arrow in arrows if not arrow.imported.startswith(f"{arrow.importer}."))
    single = [source.name for source in own if importers[source.name] == 1]
    small = [source.name for source in own if source.lines < SMALL]
    return [
        Figure.count(f"modules under {SMALL} lines", small),
        Figure.count("modules with one importer", single),
        Figure.count(f"modules under {SMALL} lines with one importer", sorted({*small} & {*single})),
    ]


def _duplicates(sources: list[Source]) -> list[Figure]:
    classes = _repeated(
        (node.name, source.name)
        for source in sources
        for node in source.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    bodies = _repeated(body for source in sources for body in _bodies(source))
    named = [f"{name}: {', '.join(where)}" for name, where in sorted(classes.items())]
    repeated = [", ".join(where) for where in bodies.values()]
    return [
        Figure.count("names of classes defined in several modules", named),
        Figure.count(f"functions of {REPEATED_STATEMENTS} statements or more that are repeated", repeated),
    ]


def _bodies(source: Source) -> list[tuple[str, str]]:
    """Bodies of functions without docstrings, in a form that is equal where the code is, and the functions' names."""
    found = []
    for function in _functions(source):
        body = function.body[1:] if ast.get_docstring(function) is not None else function.body
        if sum(1 for statement in body for _ in statements(statement)) >= REPEATED_STATEMENTS:
            found.append(("\n".join(map(ast.dump, body)), f"{source.name}.{function.name}"))
    return found


def unclear_docstrings(source: Source) -> list[str]:
    """Docstrings of modules, classes, functions and attributes that begin with an unclear word."""
    texts = (node.value for node in source.statements if isinstance(node, ast.Expr))
    docstrings = ((node.value, node.lineno) for node in texts if isinstance(node, ast.Constant))
    words = UNCLEAR_WORDS if source.name.startswith("tests.") else (*UNCLEAR_WORDS, *PRONOUNS)
    begin = re.compile(rf"\s*({'|'.join(words)})\b")
    return [f"{source.name}:{line}" for text, line in docstrings if isinstance(text, str) and begin.match(text)]


def _repeated(found: Iterable[tuple[str, str]]) -> Mapping[str, list[str]]:
    """Values that were found more than once, with the names of where they were found."""
    places: dict[str, list[str]] = {}
    for value, place in found:
        places.setdefault(value, []).append(place)
    return {value: where for value, where in places.items() if len(where) > 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT, help="another tree")
    parser.add_argument("--packages", nargs="+", metavar="NAME", help="its top-level packages")
    parser.add_argument("--names", action="store_true", help="show the modules, classes and functions counted, too")
    options = parser.parse_args()
    for figure in figures(options.root, options.packages) if options.packages else own_figures():
        print(f"{figure.name:<60} {figure.value}")
        for name in figure.names if options.names else ():
            print(f"    {name}")


if __name__ == "__main__":
    main()
