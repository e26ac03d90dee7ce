"""Checks that need the overlay: sections that are valid on their own and contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

import msgspec

from broker_service.language import ContentError
from broker_service.routing import PROTOCOLS, found_protocol, protocol_named, read_options
from broker_service.routing.outside import ProtocolError
from broker_service.routing.registry import failed_planning
from record.errors import UserError
from record.faults import LOST_STREAMS, FaultKind
from record.promises import Completeness, Loss, Promises
from scenario.faults import FaultError, TargetError, plan
from scenario.faults.roles import LinkEnds
from scenario.foreign_brokers import foreign_problems
from scenario.model import Scenario
from scenario.sections.expect import Expect
from scenario.sections.messages import Problem
from scenario.sections.section import suggestion
from scenario.sections.workload import FileWorkload, OperationItem
from scenario.workload.detections import MOST_DETECTIONS
from scenario.workload.file.contents import contents_of
from scenario.workload.generate import generate, planned_sites
from scenario.workload.generate import problems as workload_problems
from scenario.workload.placement import broker_problems
from scenario.workload.roaming import drawn_moves
from scenario.workload.sites import site_problems
from scenario.yaml_files.fields import FieldPath
from topology.link_properties import OverlayError
from topology.model import Overlay
from topology.structures.declared import structure_with

_WITHDRAWS: Mapping[str, str] = {"unsubscribe": "subscribe", "unadvertise": "advertise"}
"""The operation whose ids an operation withdraws."""


@dataclass(frozen=True, slots=True)
class BuiltOverlay:
    """The overlay of a scenario at its start, and the pairs of brokers that motion links later, in order of time."""

    overlay: Overlay
    later_pairs: tuple[LinkEnds, ...]


class OverlayBuilder:
    """Builds the overlays of a scenario's variants, each in turn.

    A variant that differs from the one before it in other fields only gets the same overlay, because building a large
    one takes seconds.
    """

    def __init__(self) -> None:
        self._fields: tuple[object, ...] = ()
        self._built: BuiltOverlay | None = None

    def build(self, scenario: Scenario) -> BuiltOverlay:
        """Raises `OverlayError`."""
        fields = (scenario.name, scenario.topology, scenario.motion, scenario.timeline, scenario.seed)
        if self._built is None or fields != self._fields:
            evolution = scenario.evolution()
            if evolution is None:
                self._built = BuiltOverlay(scenario.overlay(), ())
            else:
                self._built = BuiltOverlay(evolution.start, evolution.later_pairs())
            self._fields = fields
        return self._built


def problems(scenario: Scenario, builder: OverlayBuilder) -> Iterator[Problem]:
    """Every reason why a scenario whose fields are valid cannot be run."""
    yield from contradictions(scenario, builder)
    yield from _motion(scenario)


def contradictions(scenario: Scenario, builder: OverlayBuilder) -> Iterator[Problem]:
    """Every contradiction in a scenario whose fields are valid, in the order of the fields.

    A scenario without any may still be one whose protocol does not bear its motion.
    """
    try:
        built = builder.build(scenario)
    except OverlayError as error:
        yield Problem(_blamed(scenario), str(error))
        return
    overlay = built.overlay
    yield from _routing(scenario, overlay)
    of_workload = [*workload_problems(scenario, overlay), *_operations(scenario, overlay)]
    yield from of_workload or _detections(scenario, overlay)
    of_sites = list(site_problems(scenario, overlay, _generated_clients(scenario, len(overlay.brokers))))
    yield from of_sites
    if not (of_workload or of_sites):
        yield from _faults(scenario, overlay, built.later_pairs)
    yield from foreign_problems(scenario, overlay)


def _blamed(scenario: Scenario) -> FieldPath:
    """The section because of which there is no overlay: the motion, unless the topology alone makes none."""
    if scenario.motion is None:
        return ("topology",)
    try:
        scenario.topology.build(scenario.name, scenario.seed)
    except OverlayError:
        return ("topology",)
    return ("motion",)


def _routing(scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    name, options = scenario.routing.protocol, scenario.routing.options
    try:
        protocol = found_protocol(name)
    except ProtocolError as error:
        yield Problem(("routing", "protocol"), str(error))
        return
    if protocol is None:
        yield Problem(("routing", "protocol"), f"unknown routing protocol {name!r}{suggestion(name, PROTOCOLS)}")
        return
    yield from _structure(name, protocol.options.attributes, overlay)
    problems = list(_each_option(name, protocol.options, options))
    yield from problems
    if not problems:
        try:
            promises = read_options(name, options).promises
        except ValueError as error:
            yield Problem(("routing",), str(error))
        except UserError:
            raise
        except Exception as error:
            raise failed_planning(name, "its promises", error) from error
        else:
            yield from _expectations(scenario, promises)
            yield from _survival(scenario, promises)


def _motion(scenario: Scenario) -> Iterator[Problem]:
    """Motion of an overlay whose protocol does not bear it."""
    name = scenario.routing.protocol
    if scenario.motion is not None and not protocol_named(name).options.neighbours_change:
        bearing = [known for known, other in PROTOCOLS.items() if other.options.neighbours_change]
        remedy = f"or route by {' or '.join(bearing)}" if bearing else "or look at it by `brokerlab topology`"
        yield Problem(("motion",), f"neighbours of a broker that routes by {name} do not change; remove it, {remedy}")


def _expectations(scenario: Scenario, promises: Promises) -> Iterator[Problem]:
    if scenario.expect is None:
        return
    if scenario.expect == Expect():
        yield Problem(("expect",), "expects nothing; give it a field, such as `judged: 95%`, or remove it")
    if scenario.expect.least_delivery is not None and promises.delivery is Completeness.EVERY:
        name = scenario.routing.protocol
        message = f"{name} promises every delivery, and a ratio is expected of best effort only; write `correct`"
        yield Problem(("expect", "delivery"), message)


def _survival(scenario: Scenario, promises: Promises) -> Iterator[Problem]:
    """Losses of messages that the scenario asks for and that the protocol does not promise to survive."""
    name = scenario.routing.protocol
    if not scenario.brokers.limits.resume and promises.loss(LOST_STREAMS) is Loss.EVERYTHING:
        message = f"{name} does not promise to survive what broken streams lose then; remove it"
        yield Problem(("brokers", "limits", "resume"), message)
    for index, fault in enumerate(scenario.faults):
        if fault.disturb is not None and promises.loss(FaultKind.DISTURB) is Loss.EVERYTHING:
            message = f"{name} does not promise to survive messages that are lost, repeated or held back; remove it"
            yield Problem(("faults", index, "disturb"), message)


def _each_option(name: str, struct: type[msgspec.Struct], options: Mapping[str, Any]) -> Iterator[Problem]:
    known = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
    for option, value in options.items():
        path: FieldPath = ("routing", option)
        if option not in known:
            yield Problem(path, f"the protocol {name} has no option {option!r}{suggestion(option, known)}")
            continue
        if get_origin(known[option]) is Literal and value not in get_args(known[option]):
            yield Problem(path, f"unknown value {value!r}{suggestion(str(value), map(str, get_args(known[option])))}")
            continue
        try:
            msgspec.convert(value, known[option])
        except msgspec.ValidationError as error:
            yield Problem(path, f"{str(error)[:1].lower()}{str(error)[1:]}")


def _structure(protocol: str, needed: tuple[str, ...], overlay: Overlay) -> Iterator[Problem]:
    """A problem when the overlay lacks the structure that the protocol needs."""
    structure = structure_with(needed)
    if any(not set(needed) <= broker.attributes.keys() for broker in overlay.brokers):
        remedy = f"use a topology of kind {structure.name}" if structure else "docs/topologies.md lists what has them"
        message = f"{protocol} routes on the brokers' attributes {' and '.join(needed)}, which these lack; {remedy}"
        yield Problem(("topology",), message)
    elif structure is not None:
        try:
            structure.check(overlay)
        except OverlayError as error:
            yield Problem(("topology",), f"{protocol} cannot run on it: {error}")


def _operations(scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    last = scenario.timeline.join + scenario.timeline.foreseen.run
    generated = _generated_clients(scenario, len(overlay.brokers))
    first_operations: dict[str, OperationItem] = {}
    for index, item in enumerate(scenario.workload.operations):
        path: FieldPath = ("workload", "operations", index)
        yield from broker_problems((*path, "broker"), item.broker, overlay)
        if item.client in generated:
            yield Problem((*path, "client"), f"{item.client} is a generated client; choose another name")
        first = first_operations.setdefault(item.client, item)
        if first.broker != item.broker:
            yield Problem(
                (*path, "broker"), f"{item.client} is already a client of {first.broker}; a client has one broker"
            )
        if item.at >= last:
            yield Problem((*path, "at"), f"after the run phase, which ends {last:g} s after the start")
        try:
            item.content()
        except ContentError as error:
            yield Problem((*path, item.verb), str(error))
    yield from _taken_ids(scenario.workload.operations)


def _taken_ids(operations: Sequence[OperationItem]) -> Iterator[Problem]:
    """Ids that a client gives to something else while what has them stands. One that is withdrawn may be used again,
    but not that of a publication."""
    taken: set[tuple[str, str, str]] = set()
    for index, item in sorted(enumerate(operations), key=lambda numbered: numbered[1].at):
        if item.verb in _WITHDRAWS:
            taken.discard((item.client, _WITHDRAWS[item.verb], item.text))
        elif item.id is not None:
            verb = "subscribe" if item.verb == "composite" else item.verb
            if (key := (item.client, verb, item.id)) in taken:
                kept = "" if verb == "publish" else ", and has not withdrawn it since"
                message = f"{item.client} has used the id {item.id!r} already{kept}"
                yield Problem(("workload", "operations", index, "id"), message)
            taken.add(key)


def _detections(scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    """A problem of the composite subscription with which the run makes too many detections."""
    items = [(item.at, index) for index, item in enumerate(scenario.workload.operations) if item.verb == "composite"]
    if not items:
        return
    total = 0.0
    for (_, index), expected in zip(sorted(items), generate(scenario, overlay).detections(), strict=True):
        total += expected
        if total > MOST_DETECTIONS:
            together = "" if total == expected else f", {total:,.0f} together with those before"
            yield Problem(
                ("workload", "operations", index, "composite"),
                f"makes about {expected:,.0f} detections{together}; there may be {MOST_DETECTIONS:,} in a run; give a "
                "shorter `within` or parts that match less",
            )
            return


def _faults(scenario: Scenario, overlay: Overlay, later: Sequence[LinkEnds]) -> Iterator[Problem]:
    timeline, roams = scenario.timeline.foreseen, scenario.clients is not None and scenario.clients.roaming is not None
    sites = planned_sites(scenario, overlay) if scenario.faults or roams else ()
    try:
        drawn_moves(scenario, overlay, sites)
    except TargetError as error:
        yield Problem(("clients", "roaming", error.field), str(error))
    try:
        plan(
            scenario.faults,
            overlay,
            join=timeline.join,
            run=timeline.run,
            seed=scenario.seed,
            later=later,
            sites=sites,
        )
    except FaultError as error:
        yield Problem(("faults", error.index, error.field), error.message)


def _generated_clients(scenario: Scenario, brokers: int) -> frozenset[str]:
    workload = scenario.workload
    if isinstance(workload, FileWorkload):
        return frozenset(contents_of(workload).homes)
    publishers, subscribers = workload.publishers_on(brokers), workload.subscribers_on(brokers)
    return frozenset(
        [*(f"P{number + 1}" for number in range(publishers)), *(f"S{number + 1}" for number in range(subscribers))]
    )
