"""Runs one case: its steps one after another, then the comparison of actual with expected notifications."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from broker_service.messages import BrokerId, ClientId
from emulation.live_overlay import LiveBrokers, Tables, UnsettledError
from record.errors import BrokerDefectError
from record.log import TraceRecord
from record.promises import Loss
from record.wording import count_of
from studies.conformance.case_runner import CaseRun, CaseRunner, settle
from studies.conformance.clients import CaseClients
from studies.conformance.losses import losses_in_words
from studies.conformance.meshes import on_full_mesh
from studies.conformance.model import (
    Arriving,
    BrokerFault,
    Case,
    ClientFault,
    ClientStep,
    Declaration,
    Leaving,
    LinkChange,
    LinkFault,
    Notification,
    SessionFault,
    Step,
)
from studies.conformance.protocols import ConformanceProtocol
from studies.conformance.result import CaseVerdict, Difference, Result, TablesOnTheWay, differences
from studies.conformance.terms import expected_by_terms
from topology.link_properties import LinkDirection
from topology.model import Overlay

_PUBLICATIONS_SHOWN = 3
"""Publications of a failure for which tables are kept."""


def obstacle(case: Case, protocol: ConformanceProtocol) -> str:
    """Reason why a case cannot run under a protocol, which one of them lacks; empty when it can."""
    needed = set(protocol.attributes_needed)
    if needed and any(needed - broker.attributes.keys() for broker in case.overlay().brokers):
        return f"{protocol.name} needs an overlay whose brokers have {', '.join(sorted(needed))}"
    if case.changing and not protocol.neighbours_change:
        return f"neighbours of brokers that route by {protocol.name} do not change"
    promises = protocol.promises
    for kind in case.survives:
        if promises.loss(kind) is not Loss.NOTHING:
            return f"{protocol.name} may lose publications by {kind}"
    return ""


def run_case(case: Case, protocol: ConformanceProtocol, runner: CaseRunner) -> Result:
    """Runs a case without `problems`. One with an `obstacle` is skipped, with a note."""
    protocol = protocol.with_options(case.options)
    if note := obstacle(case, protocol) or runner.obstacle(case):
        return Result(
            case=case.id, protocol=protocol.name, runtime=runner.runtime, verdict=CaseVerdict.SKIPPED, note=note
        )
    if protocol.full_mesh:
        case = on_full_mesh(case)
    begin = time.monotonic()
    course = _Course(case)
    problem = fault = ""
    found: tuple[Difference, ...] = ()
    try:
        with runner.run(case, protocol) as run:
            course.follow(run)
            expected = expected_by_terms(case, protocol, course.got)
            found = differences(_comparable(case, expected), _comparable(case, course.got), ordered=case.ordered)
            if found or course.crossings:
                course.losses = run.losses()
    except UnsettledError as error:
        problem = f"{course.where}: {error}"
    except BrokerDefectError as defect:
        problem, fault = "\n".join([f"{course.where}: {defect}", *defect.shown_trace.splitlines()]), str(defect)
    return Result(
        case=case.id,
        protocol=protocol.name,
        selected_by=protocol.selected_by,
        runtime=runner.runtime,
        verdict=CaseVerdict.FAILED if found or problem or course.crossings else CaseVerdict.PASSED,
        differences=found,
        crossings=tuple(course.crossings),
        problem=problem,
        defect=fault,
        refused=tuple(course.refused),
        losses=tuple(losses_in_words(course.losses)),
        on_the_way=tuple(course.tables_on_the_way(found)),
        seconds=time.monotonic() - begin,
    )


@dataclass(frozen=True, slots=True)
class _Published:
    """A publication that a client made, and the overlay when it had settled after that."""

    publisher: BrokerId
    places: Mapping[ClientId, BrokerId]
    tables: Tables


class _Course:
    """The course of one case."""

    def __init__(self, case: Case) -> None:
        self.where = "before the first step"
        self.got: Mapping[ClientId, list[str | tuple[str, ...]]] = {}
        self.refused: list[str] = []
        self.losses: Sequence[TraceRecord] = ()
        """Records of what brokers dropped and refused; empty unless the case failed."""
        self.crossings: list[str] = []
        """Sentences on the links that publications crossed and should not have, or the other way round."""
        self._case = case
        self._published: dict[str, _Published] = {}

    def follow(self, run: CaseRun) -> None:
        """Carries out all steps. Raises `UnsettledError`."""
        try:
            self._carry_out(run)
        except UnsettledError:
            self.losses = run.losses()
            raise

    def _carry_out(self, run: CaseRun) -> None:
        case = self._case
        apart, steps = case.apart, [step for step in case.steps if isinstance(step, ClientStep)]
        clients = CaseClients(
            run,
            {step.broker for step in steps if step.client not in apart},
            {step.client: step.broker for step in reversed(steps) if step.client in apart},
            case.access,
        )
        self.got, self.refused = clients.got, clients.refused
        for number, step in enumerate(case.steps):
            self.where = f"steps[{number}] ({step.op})"
            crossed = (
                _crossed(run.overlay.brokers)
                if isinstance(step, Declaration) and step.crosses is not None
                else Counter()
            )
            _perform(step, case, run, clients)
            if step.wait is not None:
                run.pass_time(step.wait)
            else:
                settle(run)
            if isinstance(step, Declaration) and step.op == "publish":
                published = _Published(step.broker, dict(clients.places), run.overlay.brokers.tables())
                self._published.update(dict.fromkeys(step.ids, published))
                if step.crosses is not None:
                    self.crossings += _crossings(self.where, step, _crossed(run.overlay.brokers) - crossed)
        settle(run)

    def tables_on_the_way(self, found: tuple[Difference, ...]) -> Iterator[TablesOnTheWay]:
        """Routing tables of the brokers on the way of the first publications that went wrong."""
        overlay = self._case.overlay() if found else None
        wrong = [
            (difference.client, id)
            for difference in found
            for notification in difference.concerns
            for id in _ids(notification)
        ]
        for client, id in wrong[:_PUBLICATIONS_SHOWN]:
            published = self._published.get(id)
            if overlay is None or published is None or client not in published.places:
                continue
            subscriber = published.places[client]
            between = brokers_between(overlay, published.publisher, subscriber)
            tables = {broker: rows for broker, rows in published.tables.items() if broker in between}
            yield TablesOnTheWay((id,), published.publisher, subscriber, tables)


def brokers_between(overlay: Overlay, start: BrokerId, end: BrokerId) -> frozenset[BrokerId]:
    """The brokers on any way between two that passes no broker twice.

    With a link between the two, all those ways and that link lie on cycles: in one biconnected part of the graph.
    """
    if start == end:
        return frozenset((start,))
    graph = overlay.to_networkx()
    graph.add_edge(start, end)
    parts: Iterator[set[BrokerId]] = nx.biconnected_components(graph)  # type: ignore[assignment]
    return frozenset(next(part for part in parts if {start, end} <= part))


def _perform(step: Step, case: Case, run: CaseRun, clients: CaseClients) -> None:
    overlay = run.overlay
    match step:
        case BrokerFault(op="kill"):
            overlay.brokers.kill(step.broker)
        case BrokerFault():
            overlay.brokers.restart(step.broker)
        case SessionFault():
            run.break_session(step.broker)
        case Leaving():
            clients.leave(step)
        case Arriving():
            clients.arrive(step)
        case ClientFault():
            clients.strike(step)
        case LinkFault(op="link_down"):
            _each_direction(overlay.links.cut, step.link)
        case LinkFault():
            _each_direction(overlay.links.restore, step.link)
        case LinkChange(op="link_new"):
            overlay.links.add(next(link for link in case.network().links if {link.a, link.b} == set(step.link)))
        case LinkChange():
            overlay.links.remove(*step.link)
        case _:
            clients.perform(step)


def _crossed(brokers: LiveBrokers) -> Counter[tuple[BrokerId, BrokerId]]:
    """Publications that have crossed each link so far, by sender and receiver."""
    statuses = brokers.status().items()
    return Counter(
        {(broker, link.neighbour): link.publications for broker, status in statuses for link in status.links}
    )


def _crossings(where: str, step: Declaration, crossed: Counter[tuple[BrokerId, BrokerId]]) -> Iterator[str]:
    """Sentences on each link that publications crossed after a step, and should not have, or the other way round."""
    wanted = set(step.crosses or ())
    for source, target in sorted(wanted ^ crossed.keys()):
        count = crossed[source, target]
        found = count_of(count, "publication") if count else "no publication"
        yield f"{where}: {found} crossed the link from {source} to {target}, and {'none' if count else 'one'} should"


def _each_direction(act: Callable[[LinkDirection], None], link: tuple[BrokerId, BrokerId]) -> None:
    direction = LinkDirection(*link)
    act(direction)
    act(direction.reverse)


def _comparable(
    case: Case, notifications: Mapping[ClientId, Sequence[Notification]]
) -> Mapping[ClientId, tuple[Notification, ...]]:
    """Notifications of each client in which equal sets of publications are equal tuples."""
    return {client: tuple(map(case.comparable, received)) for client, received in notifications.items()}


def _ids(notification: str | tuple[str, ...]) -> tuple[str, ...]:
    return (notification,) if isinstance(notification, str) else notification
