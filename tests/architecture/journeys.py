"""Two ways through the code, function by function: that of a publication, and that of a scenario.

The tables are drawn in docs/architecture.md. Functions are looked up in the sources: each must exist, a step of the
publication must use the name by which it hands the publication on, and a step of the scenario must take and return the
types that are drawn.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from tests.architecture.imports import ROOT

LAYERS: Mapping[str, str] = {
    "broker_service.client_library": "client library",
    "broker_service.grpc_shell": "gRPC shell",
    "broker_service.links": "link",
    "broker_service.core": "broker core",
    "broker_service.routing": "router",
}
"""Layer of a broker or client to which a function belongs, by the room it is in."""


@dataclass(frozen=True, slots=True)
class Step:
    """A function on a publication's way."""

    function: str
    """Dotted name."""
    does: str
    hands_over: str = ""
    """Name in the function's body by which the publication goes on; that of the next step's function by default."""

    @property
    def layer(self) -> str:
        room = ".".join(self.function.split(".")[:2])
        return LAYERS[room]

    @property
    def short_name(self) -> str:
        return ".".join(self.function.split(".")[-2:])


@dataclass(frozen=True, slots=True)
class Process:
    """Steps within one process, and how the publication leaves it."""

    name: str
    steps: Sequence[Step]
    leaves_by: str = ""
    """Name of what carries the publication to the next process."""


_CLIENT, _SHELL, _LINKS = "broker_service.client_library", "broker_service.grpc_shell", "broker_service.links"
_SESSIONS = "broker_service.core.client_sessions.ClientSessions"
_ROUTING = "broker_service.routing"
_ACTIONS, _TID = "broker_service.core.actions.ActionExecutor", f"{_ROUTING}.tid"

PUBLICATION: Sequence[Process] = (
    Process(
        "publisher's client",
        (
            Step(f"{_CLIENT}.client.Client.publish", "encodes the content, makes it an operation", "submit"),
            Step(f"{_CLIENT}.client_requests.ClientRequests.submit", "queues it, wakes the stream", "on_waiting"),
            Step(f"{_CLIENT}.client_session.RequestStream.next_frames", "fills a frame", "encode_client_frames"),
        ),
        "gRPC stream of the client: ClientFrame",
    ),
    Process(
        "broker B1",
        (
            Step(f"{_SHELL}.streams.SessionStream.on_frame", "decodes the frame", "_submit"),
            Step(f"{_SHELL}.streams.SessionStream._handle", "calls the core when it is served"),
            Step(f"{_SESSIONS}.handle", "takes the operations in order"),
            Step(f"{_SESSIONS}.publish", "checks it against the advertisements"),
            Step(f"{_TID}.router.TidRouter.publish", "calls the rules for publications"),
            Step(f"{_TID}.publications.Publications.publish", "the one match; next hops and clients", "Deliver"),
            Step(f"{_ACTIONS}.perform", "carries out the router's actions"),
            Step(f"{_LINKS}.overlay_link.OverlayLink.put", "queues it for the neighbour", "on_waiting"),
            Step(f"{_LINKS}.session.LinkSession.next_frames", "fills frames, within the window", "take"),
            Step(f"{_SHELL}.streams.LinkStream.next_frames", "encodes them", "encode_link_frame"),
        ),
        "gRPC stream over the emulated link: LinkFrame",
    ),
    Process(
        "broker B2",
        (
            Step(f"{_SHELL}.streams.LinkStream.on_frame", "decodes the frame"),
            Step(f"{_LINKS}.session.LinkSession.received", "checks it, reads the acknowledgement", "messages"),
            Step(f"{_LINKS}.session.LinkSession.handle", "calls the core when it is served"),
            Step(f"{_ACTIONS}.receive", "counts it, and disturbs it on request"),
            Step(f"{_ACTIONS}._route", "logs it"),
            Step(f"{_ROUTING}.common.decoding.DispatchingRouter.receive", "calls the kind's receiver", "_receivers"),
            Step(f"{_TID}.publications.Publications.receive", "reads destinations, not the content", "Deliver"),
            Step(f"{_ACTIONS}._deliver", "makes an event for each session", "ClientEvent"),
            Step("broker_service.core.session.Session.put", "queues the event", "on_waiting"),
            Step(f"{_SHELL}.streams.SessionStream.next_frames", "fills a frame", "encode_broker_frame"),
        ),
        "gRPC stream of the client: BrokerFrame",
    ),
    Process(
        "subscriber's client",
        (
            Step(f"{_CLIENT}.client_session.RequestStream.on_frame", "decodes the frame", "receive"),
            Step(f"{_CLIENT}.client.Session._on_event", "decodes the content"),
            Step(f"{_CLIENT}.client.Client.notify", "the application iterates over it", "put"),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Stage:
    """A function on a scenario's way, from one value to the next."""

    function: str
    """Dotted name."""
    takes: str
    """Type of a parameter."""
    gives: str
    """Type of the result."""
    does: str

    @property
    def short_name(self) -> str:
        return self.function.rpartition(".")[2]

    @property
    def package(self) -> str:
        return ".".join(self.function.split(".")[:2])


LOAD = Stage("scenario.loading.load", "Path", "Scenario", "parse, check, name mistakes with their line")
PLAN = Stage("emulation.planning.plan.make_plan", "Scenario", "Plan", "draw everything random from the seed")
EMULATE = Stage("emulation.run.emulate.emulate", "Plan", "RunOutcome", "real brokers over emulated links")
SIMULATE = Stage("emulation.simulation.run.simulate", "Plan", "RunOutcome", "the same broker core in virtual time")
ANALYZE = Stage("analysis.pipeline.run.analyze", "Path", "Summary", "with Spark, or without")
FIND = Stage("analysis.pipeline.stages.run_stages", "RunDirectory", "Findings", "read, judge and order the log records")
SUMMARISE = Stage("analysis.pipeline.summarise.summarise", "Findings", "Summary", "counts, delays, both verdicts")
REPORT = Stage("analysis.report.building.build_report", "Path", "Path", "draw the page for people")

SCENARIO: Sequence[Stage] = (LOAD, PLAN, EMULATE, SIMULATE, ANALYZE, FIND, SUMMARISE, REPORT)
COMMAND = "command_line.commands.emulate"
"""Module of the command that makes all calls but the two inside `analyze`."""
CALLED_BY_COMMAND = (LOAD, PLAN, EMULATE, SIMULATE, ANALYZE, REPORT)
CALLED_BY_ANALYZE = (FIND, SUMMARISE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def _module(name: str) -> ast.Module:
    return ast.parse((ROOT / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8"))


def find_function(dotted: str) -> Function:
    """Definition of a function or method. Raises `LookupError` where there is none of this name."""
    names = dotted.split(".")
    depth = next((n for n in range(len(names), 0, -1) if (ROOT / f"{'/'.join(names[:n])}.py").is_file()), 0)
    if not depth:
        raise LookupError(f"{dotted}: no such module")
    body: Sequence[ast.stmt] = _module(".".join(names[:depth])).body
    for name in names[depth:]:
        found = [node for node in body if isinstance(node, ast.ClassDef | Function) and node.name == name]
        if not found:
            raise LookupError(f"{dotted}: there is no {name}")
        node, body = found[0], found[0].body
    assert isinstance(node, Function)
    return node


def names_in(node: ast.AST) -> set[str]:
    """Names and attributes that occur in a piece of code."""
    return {
        child.attr if isinstance(child, ast.Attribute) else child.id
        for child in ast.walk(node)
        if isinstance(child, ast.Attribute | ast.Name)
    }


def names_called_in_module(module: str) -> set[str]:
    """Names that occur in the functions of a module; its imports do not count."""
    return set().union(*(names_in(node) for node in _module(module).body if isinstance(node, Function)))


def parameter_types(function: Function) -> set[str]:
    """Annotations of a function's parameters, as written."""
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return {ast.unparse(argument.annotation) for argument in arguments if argument.annotation is not None}


def result_type(function: Function) -> str:
    """Annotation of a function's result, as written."""
    return "" if function.returns is None else ast.unparse(function.returns)
