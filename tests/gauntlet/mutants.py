"""Mutants of the product, drawn from a seed: one place in one function is changed in the source, and the function is
compiled and installed in its module.

Conditions are negated, comparisons moved by one, constants changed by one, calls and statements left out (so that
actions are dropped and state is not erased), results doubled, and messages sent to another neighbour.
"""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from types import FrameType, ModuleType
from typing import Any

from tests.gauntlet import scenarios
from tests.gauntlet.planting import install
from tests.gauntlet.scenarios import Scenario
from tests.gauntlet.trials import Part

_ROUTING = "broker_service.routing"


@dataclass(frozen=True, slots=True)
class Target:
    """An area of the product, and the scenarios in which its mutants are tried."""

    area: str
    modules: Sequence[str]
    scenarios: Sequence[Scenario]


def _of(package: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{package}.{name}" for name in names)


_ANY_ROUTING = (scenarios.TID_FIXED, scenarios.CBF, scenarios.OCTOPIA, scenarios.GRYPHON)
TARGETS: Sequence[Target] = (
    Target(
        "tid",
        _of(f"{_ROUTING}.tid", "router", "trees", "bindings", "tables", "routes", "publications"),
        (scenarios.TID_FIXED, scenarios.TID_DYNAMIC, scenarios.TID_LINE, scenarios.TID_LATE),
    ),
    Target(
        "tid, composites",
        _of(
            f"{_ROUTING}.tid.placement", "units", "detections", "join_points", "reports", "endings", "sub_units", "rows"
        ),
        (scenarios.COMPOSITES_TOPOLOGY, scenarios.COMPOSITES_DCSR),
    ),
    Target(
        "octopia",
        _of(
            f"{_ROUTING}.octopia",
            "router",
            "publications",
            "forwarding",
            "dynamic",
            "tables",
            "vector",
            "neighbourhood",
        ),
        (scenarios.OCTOPIA, scenarios.OCTOPIA_DYNAMIC),
    ),
    Target(
        "medym",
        (
            *_of(f"{_ROUTING}.medym", "router", "sums", "mesh"),
            *_of(f"{_ROUTING}.medym.multicast", "decisions", "destination_lists", "routing_functions"),
            *_of(f"{_ROUTING}.medym.announcements", "relay", "announcement_tree"),
            *_of(f"{_ROUTING}.medym.subscriptions", "exchange", "advertised_exchange", "advertisements"),
        ),
        (
            scenarios.MEDYM_MST,
            scenarios.MEDYM_CLOSE,
            scenarios.MEDYM_BALANCED,
            scenarios.MEDYM_SOURCE,
            scenarios.MEDYM_ADVERTISED,
        ),
    ),
    Target(
        "cbf",
        _of(f"{_ROUTING}.cbf", "router", "table", "sums", "tree", "announcements", "advertising"),
        (scenarios.CBF, scenarios.CBF_COVERING, scenarios.LANGUAGE_CBF),
    ),
    Target(
        "channelization",
        _of(f"{_ROUTING}.channelization", "router", "event_space", "clustering", "plan"),
        (scenarios.CHANNELIZATION,),
    ),
    Target(
        "gryphon",
        (
            *_of(f"{_ROUTING}.gryphon", "router", "clients"),
            *_of(f"{_ROUTING}.gryphon.relaying", "forwarding", "reception", "relay", "retransmission"),
            *_of(
                f"{_ROUTING}.gryphon.streams",
                "horizon",
                "publisher_log",
                "stored_publications",
                "recognition",
                "state",
                "ranges",
            ),
            *_of(f"{_ROUTING}.gryphon.subscriptions", "leaf_subscriptions", "roots", "covering"),
            *_of(f"{_ROUTING}.gryphon.propagation", "propagation", "dissemination", "parties"),
        ),
        (scenarios.GRYPHON, scenarios.GRYPHON_FLOODING),
    ),
    Target(
        "semi-probabilistic",
        (
            *_of(f"{_ROUTING}.semi_probabilistic", "router", "choice", "subscriptions"),
            f"{_ROUTING}.common.recognition",
        ),
        (scenarios.SEMI_FLOOD,),
    ),
    Target(
        "matching",
        (
            *_of("broker_service.matching", "index", "block", "bounds", "conditions", "access", "tree"),
            *_of("broker_service.language", "content", "relations", "number_sets", "string_sets"),
            f"{_ROUTING}.interface.matcher",
        ),
        (scenarios.LANGUAGE_CBF, scenarios.LANGUAGE_TID, *_ANY_ROUTING),
    ),
    Target(
        "detection",
        (
            "broker_service.core.composites",
            *_of("broker_service.detection", "detector", "standing", "search", "plans", "matches", "slots", "kept"),
        ),
        (scenarios.COMPOSITES_SIMPLE, scenarios.COMPOSITES_WINDOW, scenarios.COMPOSITES_CBF),
    ),
    Target(
        "links and sessions",
        (
            "broker_service.core.actions",
            *_of("broker_service.links", "overlay_link", "retransmission", "session"),
            *_of("broker_service.core", "client_sessions", "declaring", "session", "progress"),
        ),
        _ANY_ROUTING,
    ),
    Target("client library", _of("broker_service.client_library", "client_requests", "starts"), _ANY_ROUTING),
)


@dataclass(frozen=True, slots=True)
class _Place:
    """A change of one place of one function."""

    module: str
    owner: str
    """The class of a method; empty for a function of the module."""
    function: str
    number: int
    """The number of the change among all that are possible in this function."""
    line: int
    words: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of the product, and the scenario in which it is tried."""

    number: int
    area: str
    place: _Place
    scenario: Scenario

    @property
    def title(self) -> str:
        place = self.place
        name = f"{place.owner}.{place.function}" if place.owner else place.function
        where = f"{place.module.removeprefix('broker_service.')}.{name}"
        return f"{self.number}: {where}, line {place.line}, {place.words} [{self.scenario.name}]"

    @property
    def owner(self) -> type | ModuleType:
        """The class or module whose function is changed."""
        module = importlib.import_module(self.place.module)
        return getattr(module, self.place.owner) if self.place.owner else module

    def install(self) -> None:
        """Puts the mutated function in the place of the original one, in this process."""
        place = self.place
        module = importlib.import_module(place.module)
        tree = copy.deepcopy(_definition(place.module, place.owner, place.function))
        _sites(tree)[place.number].apply()
        module.__dict__["_misdirected"] = _misdirected
        made: dict[str, Any] = {}
        code = compile(ast.fix_missing_locations(ast.Module([tree], [])), module.__file__ or "", "exec")
        exec(code, module.__dict__, made)
        install(self.owner, place.function, made[place.function])


Executed = Mapping[str, frozenset[int]]
"""Lines that a run executed, by module."""


def drawn(seed: int, executed: Callable[[Scenario], Executed], part: Part) -> Iterator[Mutant]:
    """A part of the mutants that a seed draws, without end, always the same ones. Areas take turns, so that each has as
    many.

    `executed` gives the lines that the honest run of a scenario executes: only these are changed, because another
    change could do no harm there.
    """
    for number in count(part.number - 1, part.of):
        draws = random.Random(f"{seed}:{number}")
        target = TARGETS[number % len(TARGETS)]
        scenario = draws.choice(target.scenarios)
        lines = executed(scenario)
        places = [
            place
            for module in target.modules
            for place in _places(module)
            if place.line in lines.get(module, frozenset())
        ]
        if places:
            yield Mutant(number, target.area, draws.choice(places), scenario)


@contextmanager
def watched(lines: dict[str, set[int]]) -> Iterator[None]:
    """Adds the lines of the targets' functions that this process executes meanwhile, by module, to `lines`."""
    files = {
        importlib.import_module(module).__file__: lines.setdefault(module, set())
        for target in TARGETS
        for module in target.modules
    }

    def trace(frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        seen = files.get(frame.f_code.co_filename)
        if seen is None:
            return None

        def line(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
            seen.add(frame.f_lineno)
            return line

        return line

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


@dataclass(slots=True)
class _Site:
    """A change that is possible in a function's tree."""

    line: int
    words: str
    apply: Callable[[], None]


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(importlib.import_module(module)))


@cache
def _functions(module: str) -> tuple[tuple[str, str], ...]:
    """Functions and methods of a module that can be compiled by themselves, by class and name."""
    found: list[tuple[str, str]] = []
    for node in _tree(module).body:
        if isinstance(node, ast.FunctionDef):
            found.append(("", node.name))
        elif isinstance(node, ast.ClassDef):
            found += [(node.name, each.name) for each in node.body if isinstance(each, ast.FunctionDef)]
    return tuple(one for one in found if _stands_alone(_definition(module, *one)))


def _stands_alone(definition: ast.FunctionDef) -> bool:
    """False for a function that calls `super()`, which needs its class, and for setters and abstract methods."""
    uses_super = any(isinstance(node, ast.Name) and node.id == "super" for node in ast.walk(definition))
    plain = all(
        isinstance(one, ast.Name) and one.id in ("property", "staticmethod") for one in definition.decorator_list
    )
    return plain and not uses_super and definition.name != "tables"


@cache
def _definition(module: str, owner: str, function: str) -> ast.FunctionDef:
    """The last definition of that name, because a property's setter or an overload may come before it."""
    body: Sequence[ast.stmt] = _tree(module).body
    if owner:
        body = next(node.body for node in body if isinstance(node, ast.ClassDef) and node.name == owner)
    return [node for node in body if isinstance(node, ast.FunctionDef) and node.name == function][-1]


@cache
def _places(module: str) -> tuple[_Place, ...]:
    """Every change that is possible in a module."""
    return tuple(
        _Place(module, owner, function, place, site.line, site.words)
        for owner, function in _functions(module)
        for place, site in enumerate(_sites(copy.deepcopy(_definition(module, owner, function))))
    )


_MOVED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


def _sites(function: ast.FunctionDef) -> list[_Site]:
    """All changes that are possible in a function, in the order of its source. Applying one changes the tree."""
    found: list[_Site] = []
    for node in ast.walk(function):
        found += _of_expression(node)
        for name in ("body", "orelse"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                found += _of_statements(statements)
    return found


def _of_expression(node: ast.AST) -> Iterator[_Site]:
    if isinstance(node, ast.If | ast.IfExp):
        yield _Site(node.test.lineno, "condition negated", lambda: _negate(node))
    elif isinstance(node, ast.comprehension):
        for place, condition in enumerate(node.ifs):
            yield _Site(condition.lineno, "condition left out", lambda place=place: node.ifs.pop(place))
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in _MOVED:
        yield _Site(node.lineno, "comparison moved", lambda: _move(node))
    elif isinstance(node, ast.BoolOp):
        yield _Site(node.lineno, "and for or", lambda: _swap(node))
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield _Site(node.lineno, f"{node.value} is {node.value + 1}", lambda: _raise(node))
    elif isinstance(node, ast.Return) and node.value is not None and _gives_several(node.value):
        value = node.value
        yield _Site(node.lineno, "result empty", lambda: setattr(node, "value", _sliced(value, 0)))
        yield _Site(node.lineno, "result without its last", lambda: setattr(node, "value", _sliced(value, -1)))
        yield _Site(node.lineno, "result doubled", lambda: setattr(node, "value", _doubled(value)))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Send" and node.args:
        yield _Site(node.lineno, "sent to another neighbour", lambda: _misdirect(node))


def _of_statements(statements: list[ast.stmt]) -> Iterator[_Site]:
    """Statements that may be left out."""
    for place, statement in enumerate(statements):
        is_call = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        if is_call or isinstance(statement, ast.Delete | ast.AugAssign):
            yield _Site(
                statement.lineno, "statement left out", lambda place=place: statements.__setitem__(place, ast.Pass())
            )


def _gives_several(value: ast.expr) -> bool:
    return isinstance(value, ast.List | ast.ListComp) or (isinstance(value, ast.Tuple) and len(value.elts) != 2)


def _negate(node: ast.If | ast.IfExp) -> None:
    node.test = ast.UnaryOp(ast.Not(), node.test)


def _move(node: ast.Compare) -> None:
    node.ops[0] = _MOVED[type(node.ops[0])]()


def _swap(node: ast.BoolOp) -> None:
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()


def _raise(node: ast.Constant) -> None:
    node.value += 1


def _sliced(value: ast.expr, end: int) -> ast.expr:
    return ast.Subscript(value, ast.Slice(upper=ast.Constant(end)), ast.Load())


def _doubled(value: ast.expr) -> ast.expr:
    return ast.BinOp(value, ast.Mult(), ast.Constant(2))


def _misdirect(node: ast.Call) -> None:
    node.args[0] = ast.Call(ast.Name("_misdirected", ast.Load()), [node.args[0]], [])


def _misdirected(neighbour: str) -> str:
    """Another neighbour of the broker whose router calls, if it has another; else the same."""
    frame = inspect.currentframe()
    caller = None if frame is None else frame.f_back
    while caller is not None:
        context = getattr(caller.f_locals.get("self"), "_context", None)
        links = getattr(context, "links", None)
        if links:
            return next((other for other in sorted(links) if other != neighbour), neighbour)
        caller = caller.f_back
    return neighbour
