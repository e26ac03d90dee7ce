"""A finding as a conformance case: the same operations and faults with the same times between them, for other versions
and other runtimes.

A case has no frames lost by links, no bounds of one's own, no sets of publications, no sites, and of the faults only
crashes and links that are down. A finding that needs anything else, or that does not fail as a case, has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from broker_service.routing import PROTOCOLS, read_options
from scenario.model import Scenario
from scenario.sections.brokers import Brokers
from scenario.sections.faults import FaultItem
from scenario.sections.units import DURATION
from studies.conformance import Case, CaseVerdict, SimulatedCaseRunner, run_case, write
from studies.conformance.protocols import rows_of
from topology.link_properties import LinkProperties

Timed = tuple[float, Mapping[str, Any]]
"""A step and its time in seconds."""

_OPERATIONS = {"advertise", "subscribe", "publish", "unadvertise", "unsubscribe"}


def failing_case(scenario: Scenario, name: str, rightful: Mapping[str, Sequence[str]]) -> str:
    """The text of a case that fails in the simulator; empty where the finding makes none.

    `rightful` are the publications that each client has a right to.
    """
    case = case_of(scenario, name, rightful)
    if case is None:
        return ""
    row = next(iter(rows_of(scenario.routing.protocol)))
    result = run_case(case, row, SimulatedCaseRunner())
    return write(case) + "\n" if result.verdict is CaseVerdict.FAILED else ""


def case_of(scenario: Scenario, name: str, rightful: Mapping[str, Sequence[str]]) -> Case | None:
    """The case; None where a case cannot state what the scenario does."""
    if scenario.clients is not None or scenario.brokers != Brokers():
        return None
    if any(item.verb not in _OPERATIONS for item in scenario.workload.operations):
        return None
    overlay = scenario.overlay()
    if any(link.properties_from(end).loss for link in overlay.links for end in (link.a, link.b)):
        return None
    faults = [list(_steps_of_fault(fault, scenario)) for fault in scenario.faults]
    if not all(faults):
        return None
    timed = sorted(
        [*_operations(scenario), *(step for of_fault in faults for step in of_fault)], key=lambda one: one[0]
    )
    steps = [dict(step) for _, step in timed]
    for step, ((time, _), (following, _)) in zip(steps, pairwise(timed), strict=False):
        step["wait"] = DURATION.format(float(f"{following - time:.9f}"))
    routing = scenario.routing
    is_built_in = routing.protocol in PROTOCOLS
    fields: dict[str, Any] = {
        "id": name,
        "brokers": [broker.id for broker in overlay.brokers],
        "links": [_link(link.a, link.b, link.properties_from(link.a)) for link in overlay.links],
        "attributes": {broker.id: dict(broker.attributes) for broker in overlay.brokers if broker.attributes},
        "seed": scenario.seed,
        "steps": steps,
        "expect": {client: list(ids) for client, ids in rightful.items() if ids},
    }
    if is_built_in:
        fields["protocols"] = [next(iter(rows_of(routing.protocol))).name]
        fields["options"] = msgspec.to_builtins(read_options(routing.protocol, routing.options))
    return Case.model_validate(fields)


def _operations(scenario: Scenario) -> Iterator[Timed]:
    published: dict[str, int] = {}
    for item in sorted(scenario.workload.operations, key=lambda one: one.at):
        step = {"op": item.verb, "client": item.client, "broker": item.broker}
        if item.verb == "publish":
            published[item.client] = number = published.get(item.client, 0) + 1
            yield item.at, {**step, "id": item.id or f"{item.client}:{number}", "text": item.text}
        elif item.id is not None:
            yield item.at, {**step, "id": item.id, "text": item.text}
        else:
            yield item.at, {**step, "id": item.text}


def _steps_of_fault(fault: FaultItem, scenario: Scenario) -> Iterator[Timed]:
    """The steps of a fault: nothing for one that a case cannot state."""
    if fault.at is None or fault.lasts is None:
        return
    begin = fault.at.seconds + (scenario.timeline.join if fault.at.phase == "run" else 0.0)
    end = min(begin + fault.lasts, scenario.timeline.join + scenario.timeline.run)
    for broker in fault.kill or ():
        yield begin, {"op": "kill", "broker": broker}
        yield end, {"op": "restart", "broker": broker}
    if any("->" in link for link in fault.link_down or ()):
        return
    for link in fault.link_down or ():
        yield begin, {"op": "link_down", "link": link.split("-")}
        yield end, {"op": "link_up", "link": link.split("-")}


def _link(one: str, other: str, properties: LinkProperties) -> Mapping[str, Any]:
    jitter = {"jitter": DURATION.format(properties.jitter)} if properties.jitter else {}
    return {"between": [one, other], "delay": DURATION.format(properties.delay), **jitter}
