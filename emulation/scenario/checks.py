"""What can only be checked with the overlay at hand: sections that are right each for itself, and wrong together."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from broker_service.language import ContentError
from broker_service.routing import PROTOCOLS
from emulation.faults import FaultError, plan
from emulation.scenario.fields import FieldPath
from emulation.scenario.messages import Problem
from emulation.scenario.model import Scenario
from emulation.scenario.section import suggestion
from emulation.scenario.workload import OperationItem
from topology import Overlay, OverlayError


def problems(scenario: Scenario) -> Iterator[Problem]:
    """All of them, in the order of the fields."""
    try:
        overlay = scenario.overlay()
    except OverlayError as error:
        yield Problem(("topology",), str(error))
        return
    yield from _routing(scenario)
    yield from _placements(scenario, overlay)
    yield from _individual_times(scenario)
    yield from _operations(scenario, overlay)
    yield from _faults(scenario, overlay)


def _routing(scenario: Scenario) -> Iterator[Problem]:
    name, options = scenario.routing.protocol, scenario.routing.options
    protocol = PROTOCOLS.get(name)
    if protocol is None:
        yield Problem(("routing", "protocol"), f"unknown routing protocol {name!r}{suggestion(name, PROTOCOLS)}")
        return
    known = {field.encode_name: field.type for field in msgspec.structs.fields(protocol.options)}
    for option, value in options.items():
        path: FieldPath = ("routing", option)
        if option not in known:
            yield Problem(path, f"the protocol {name} has no option {option!r}{suggestion(option, known)}")
            continue
        try:
            msgspec.convert(value, known[option])
        except msgspec.ValidationError as error:
            yield Problem(path, f"{str(error)[:1].lower()}{str(error)[1:]}")


def _placements(scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    known = {broker.id for broker in overlay.brokers}
    for name in ("publications", "subscriptions"):
        part = getattr(scenario.workload, name)
        if part is not None and not isinstance(part.placement, str):
            path: FieldPath = ("workload", name, "placement")
            if not part.placement:
                yield Problem(path, "names no broker; leave it out to place clients at random")
            for index, broker in enumerate(part.placement):
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


def _operations(scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    known = {broker.id for broker in overlay.brokers}
    last = scenario.timeline.join + scenario.timeline.run
    generated = _generated_clients(scenario)
    homes: dict[str, OperationItem] = {}
    taken: set[tuple[str, str, str]] = set()
    for index, item in enumerate(scenario.workload.operations):
        path: FieldPath = ("workload", "operations", index)
        if item.broker not in known:
            yield Problem((*path, "broker"), _no_such_broker(item.broker, known))
        if item.client in generated:
            yield Problem((*path, "client"), f"{item.client} is a generated client; call this one otherwise")
        home = homes.setdefault(item.client, item)
        if home.broker != item.broker:
            yield Problem(
                (*path, "broker"), f"{item.client} is already a client of {home.broker}; a client has one broker"
            )
        if item.at >= last:
            yield Problem((*path, "at"), f"after the run phase, which ends {last:g} s from the begin")
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
