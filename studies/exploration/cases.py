"""A finding as a conformance case: the same operations and faults with the same times between them, for other versions
and other runtimes.

A case has no frames lost by links, no bounds of one's own, no sets of publications, and of the faults crashes of
brokers, links that are down, and what befalls clients on sites: crashes, pauses, access links that are cut, and moves.
A finding that needs anything else has none, and neither has one whose defect the case does not show.

Brokers notice failures sooner in cases than in scenarios, so that other notifications than those of the defect may come
in the one and not in the other. They are expected as they come in the case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import msgspec

from analysis.tables.deliveries import Expectation, Right
from broker_service.routing import PROTOCOLS, read_options
from scenario.model import Scenario
from scenario.sections.brokers import Brokers
from scenario.sections.faults import OVERLAP, FaultItem
from scenario.sections.units import DURATION
from scenario.sections.workload import OperationItem
from studies.conformance import Case, SimulatedCaseRunner, problems, run_case, write
from studies.conformance.protocols import rows_of
from studies.exploration.site_steps import NoStepError, SiteSteps, Step
from topology.link_properties import LinkProperties

Timed = tuple[float, Step]
"""A step and its time in seconds."""
Pair = tuple[str, str]
"""A client and a publication."""

_OPERATIONS = {"advertise", "subscribe", "publish", "unadvertise", "unsubscribe"}


def failing_case(scenario: Scenario, name: str, defect: str, rows: Iterable[Expectation]) -> str:
    """The text of a case that shows a defect in the simulator; empty where the finding makes none.

    `rows` are what the judge says of publications and clients.
    """
    case = case_of(scenario, name)
    if case is None:
        return ""
    row = next(iter(rows_of(scenario.routing.protocol)))
    result = run_case(case, row, SimulatedCaseRunner())
    got = Counter((found.client, id) for found in result.differences for id in found.got if isinstance(id, str))
    right = {(row.client, row.publication): int(row.right != Right.NONE) for row in rows if row.defect == defect}
    if result.problem or all(got[pair] == number for pair, number in right.items()):
        return ""
    expected = {**dict.fromkeys(got, 1), **right}
    return write(case.model_copy(update={"expect": _by_client(expected, case.published)})) + "\n"


def _by_client(expected: Mapping[Pair, int], published: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """The publications that each client is to get once, in the order in which they are made."""
    found: dict[str, tuple[str, ...]] = {}
    for client, id in sorted(expected, key=lambda pair: (pair[0], published.index(pair[1]))):
        if expected[client, id]:
            found[client] = (*found.get(client, ()), id)
    return found


def case_of(scenario: Scenario, name: str) -> Case | None:
    """The case, in which nobody is to get anything; None where a case cannot state what the scenario does."""
    if scenario.brokers != Brokers() or any(item.verb not in _OPERATIONS for item in scenario.workload.operations):
        return None
    overlay = scenario.overlay()
    if any(link.properties_from(end).loss for link in overlay.links for end in (link.a, link.b)):
        return None
    try:
        sites = SiteSteps(scenario)
        steps = _with_waits(list(_timed(scenario, sites)))
    except NoStepError:
        return None
    routing = scenario.routing
    fields: dict[str, Any] = {
        "id": name,
        "brokers": [broker.id for broker in overlay.brokers],
        "links": [_link(link.a, link.b, link.properties_from(link.a)) for link in overlay.links],
        "attributes": {broker.id: dict(broker.attributes) for broker in overlay.brokers if broker.attributes},
        "access": {client: sites.access[client] for client in sites.access if _acts(client, scenario)},
        "seed": scenario.seed,
        "steps": steps,
        "expect": {},
    }
    if routing.protocol in PROTOCOLS:
        fields["protocols"] = [next(iter(rows_of(routing.protocol))).name]
        fields["options"] = msgspec.to_builtins(read_options(routing.protocol, routing.options))
    case = Case.model_validate(fields)
    return None if any(problems(case)) else case


def _with_waits(timed: Sequence[Timed]) -> Sequence[Step]:
    steps = [dict(step) for _, step in timed]
    for step, ((time, _), (following, _)) in zip(steps, pairwise(timed), strict=False):
        step["wait"] = DURATION.format(float(f"{following - time:.9f}"))
    return steps


def _acts(client: str, scenario: Scenario) -> bool:
    return any(item.client == client for item in scenario.workload.operations)


def _timed(scenario: Scenario, sites: SiteSteps) -> Iterator[Timed]:
    """The steps of operations and faults in order of time. Raises `NoStepError`."""
    events: list[tuple[float, Callable[[], Iterable[Step]]]] = []
    published: Counter[str] = Counter()
    for item in sorted(scenario.workload.operations, key=lambda one: one.at):
        published[item.client] += item.verb == "publish"
        events.append((item.at, partial(_of_operation, item, published[item.client], sites)))
    for fault in scenario.faults:
        begin, end = _times(fault, scenario)
        if sites.concerns(fault):
            events += (begin, partial(sites.begin, fault)), (end, partial(sites.end, fault))
        else:
            first, last = zip(*_of_brokers(fault), strict=True)
            events += (begin, partial(iter, first)), (end, partial(iter, last))
    for time, steps in sorted(events, key=lambda one: one[0]):
        yield from ((time, step) for step in steps())


def _times(fault: FaultItem, scenario: Scenario) -> tuple[float, float]:
    """The begin and the end of a fault. Raises `NoStepError`."""
    lasts = fault.lasts
    if fault.move is not None and fault.handover is not None and fault.handover.is_soft:
        lasts = OVERLAP if fault.overlap is None else fault.overlap
    elif fault.move is not None:
        lasts = fault.away or 0.0
    if fault.at is None or lasts is None:
        raise NoStepError
    timeline = scenario.timeline
    begin = fault.at.seconds + (timeline.join if fault.at.phase == "run" else 0.0)
    return begin, min(begin + lasts, timeline.join + timeline.run)


def _of_operation(item: OperationItem, number: int, sites: SiteSteps) -> Iterator[Step]:
    """The step of an operation; `number` counts the client's publications. A client that does not run publishes
    nothing."""
    step = {"op": item.verb, "client": item.client, "broker": sites.broker(item.client, item.broker)}
    if item.verb != "publish":
        yield {**step, "id": item.id or item.text, **({} if item.id is None else {"text": item.text})}
    elif sites.runs(item.client):
        yield {**step, "id": item.id or f"{item.client}:{number}", "text": item.text}


def _of_brokers(fault: FaultItem) -> Iterator[tuple[Step, Step]]:
    """The steps with which a fault of brokers and links between them begins and ends. Raises `NoStepError`."""
    links = fault.link_down or ()
    if not (fault.kill or links) or any("->" in link for link in links):
        raise NoStepError
    for broker in fault.kill or ():
        yield {"op": "kill", "broker": broker}, {"op": "restart", "broker": broker}
    for link in links:
        yield {"op": "link_down", "link": link.split("-")}, {"op": "link_up", "link": link.split("-")}


def _link(one: str, other: str, properties: LinkProperties) -> Mapping[str, Any]:
    jitter = {"jitter": DURATION.format(properties.jitter)} if properties.jitter else {}
    return {"between": [one, other], "delay": DURATION.format(properties.delay), **jitter}
