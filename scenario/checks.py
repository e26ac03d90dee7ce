"""Checks that need the overlay: sections that are valid on their own and contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

import msgspec

from broker_service.language import ContentError
from broker_service.routing import PROTOCOLS, read_options
from scenario.faults import FaultError, plan
from scenario.model import Scenario
from scenario.sections.messages import Problem
from scenario.sections.section import suggestion
from scenario.sections.workload import MOST_PUBLICATIONS, OperationItem, Placement
from scenario.yaml_files.fields import FieldPath
from topology import Overlay, OverlayError
from topology.structures import structure_with


def problems(scenario: Scenario) -> Iterator[Problem]:
    """Every contradiction in a scenario whose fields are valid, in the order of the fields."""
    try:
        overlay = scenario.overlay()
    except OverlayError as error:
        yield Problem(("topology",), str(error))
        return
    yield from _routing(scenario, overlay)
    yield from _placements(scenario, overlay)
    yield from _publications(scenario)
    yield from _individual_times(scenario)
    yield from _operations(scenario, overlay)
    yield from _faults(scenario, overlay)


def _publications(scenario: Scenario) -> Iterator[Problem]:
    publications = scenario.workload.publications
    if publications is None:
        return
    seconds = scenario.timeline.run
    made = round(publications.publishers * publications.rate.high * seconds)
    if made > MOST_PUBLICATIONS:
        message = f"makes up to {made:,} publications in a run of {seconds:g} s; there may be {MOST_PUBLICATIONS:,}"
        yield Problem(("workload", "publications", "rate"), message)


def _routing(scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    name, options = scenario.routing.protocol, scenario.routing.options
    protocol = PROTOCOLS.get(name)
    if protocol is None:
        yield Problem(("routing", "protocol"), f"unknown routing protocol {name!r}{suggestion(name, PROTOCOLS)}")
        return
    yield from _structure(name, protocol.options.attributes, overlay)
    problems = list(_each_option(name, protocol.options, options))
    yield from problems
    if not problems:
        try:
            read_options(name, options)
        except ValueError as error:
            yield Problem(("routing",), str(error))


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


def _placements(scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    known = {broker.id for broker in overlay.brokers}
    publications, subscriptions = scenario.workload.publications, scenario.workload.subscriptions
    if publications is not None:
        section: FieldPath = ("workload", "publications")
        yield from _placement((*section, "placement"), publications.placement, known)
        for name, publisher in publications.individually.items():
            if publisher.broker is not None and publisher.broker not in known:
                path = (*section, "individually", name, "broker")
                yield Problem(path, _no_such_broker(publisher.broker, known))
    if subscriptions is not None:
        section = ("workload", "subscriptions")
        yield from _placement((*section, "placement"), subscriptions.placement, known)
        for index, group in enumerate(subscriptions.followers):
            yield from _placement((*section, "followers", index, "placement"), group.placement, known)


def _placement(path: FieldPath, placement: Placement, known: set[str]) -> Iterator[Problem]:
    if isinstance(placement, str):
        return
    if not placement:
        yield Problem(path, "lists no broker; leave it out to place clients at random")
    for index, broker in enumerate(placement):
        if broker not in known:
            yield Problem((*path, index), _no_such_broker(broker, known))


def _individual_times(scenario: Scenario) -> Iterator[Problem]:
    publications, run = scenario.workload.publications, scenario.timeline.run
    for name, publisher in (publications.individually if publications else {}).items():
        for field in ("joins", "stops", "leaves"):
            time = getattr(publisher, field)
            if time is not None and time >= run:
                path: FieldPath = ("workload", "publications", "individually", name, field)
                yield Problem(path, f"after the run phase, which lasts {run:g} s")
        for index, burst in enumerate(publisher.bursts):
            if (ends := burst.at + burst.publications / burst.rate.low) > run:
                path = ("workload", "publications", "individually", name, "bursts", index)
                yield Problem(path, f"lasts until {ends:g} s, beyond the run phase of {run:g} s: start it sooner")


def _operations(scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    known = {broker.id for broker in overlay.brokers}
    last = scenario.timeline.join + scenario.timeline.run
    generated = _generated_clients(scenario)
    first_operations: dict[str, OperationItem] = {}
    taken: set[tuple[str, str, str]] = set()
    for index, item in enumerate(scenario.workload.operations):
        path: FieldPath = ("workload", "operations", index)
        if item.broker not in known:
            yield Problem((*path, "broker"), _no_such_broker(item.broker, known))
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
        if item.id is not None:
            if (key := (item.client, item.verb, item.id)) in taken:
                yield Problem((*path, "id"), f"{item.client} has used the id {item.id!r} already")
            taken.add(key)


def _faults(scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    timeline = scenario.timeline
    try:
        plan(scenario.faults, overlay, join=timeline.join, run=timeline.run, seed=scenario.seed)
    except FaultError as error:
        yield Problem(("faults", error.index, error.field), error.message)


def _generated_clients(scenario: Scenario) -> frozenset[str]:
    publications, subscriptions = scenario.workload.publications, scenario.workload.subscriptions
    publishers = range(1, 1 + (publications.publishers if publications else 0))
    subscribers = range(1, 1 + (subscriptions.subscribers if subscriptions else 0))
    return frozenset([*(f"P{number}" for number in publishers), *(f"S{number}" for number in subscribers)])


def _no_such_broker(broker: str, known: set[str]) -> str:
    if len(known) > 20:
        return f"the overlay has no broker {broker!r}; its {len(known)} brokers are {min(known)}, ..., {max(known)}"
    return f"the overlay has no broker {broker!r}{suggestion(broker, known)}"
