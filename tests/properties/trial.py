"""A case run in the simulator just as `brokerlab conformance` runs it, and what can be seen of that."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple
from unittest import mock

from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import BrokerId
from emulation.live_overlay import UnsettledError
from emulation.simulation import SimulatedOverlay
from record.log import Event, TraceRecord
from studies.conformance.model import Case
from studies.conformance.protocols import PROTOCOLS, ConformanceProtocol
from studies.conformance.result import Result
from studies.conformance.running import run_case
from studies.conformance.simulated import SimulatedCaseRun, SimulatedCaseRunner
from studies.conformance.writing import write
from tests.properties.oracle import violations

MOST_MESSAGES = 5_000
"""Messages to one broker after which they are taken to move for ever; the cases generated here take some hundreds."""


class Arrival(NamedTuple):
    """A publication that came over a link."""

    publication: str
    hops: int
    """Links travelled."""
    sender: BrokerId
    size: int
    """Bytes of header and body."""


class Arrivals:
    """A broker's log, of which only the publications that came over links are kept.

    It ends a case in which messages move for ever: without delays, they do so within no virtual time.
    """

    variant = "base"

    def __init__(self, node: str) -> None:
        self.node = node
        self.publications: Counter[str] = Counter()
        self.journeys: list[Arrival] = []
        self.hops = 0
        self.messages = 0

    @property
    def written(self) -> int:
        return self.messages

    def write(self, record: TraceRecord) -> None:
        if record.event is not Event.RECEIVED or record.peer is None:
            return
        self.messages += 1
        if self.messages > MOST_MESSAGES:
            raise UnsettledError(f"{self.node} has received {self.messages} messages, and still they move")
        if record.kind == "publish":
            self.publications[record.id or ""] += 1
            self.journeys.append(Arrival(record.id or "", record.hops or 0, record.peer, record.bytes or 0))
            self.hops = max(self.hops, record.hops or 0)


class _CaseRunner(SimulatedCaseRunner):
    """Keeps the overlay of the last case, to be looked at when all is over."""

    overlay: SimulatedOverlay

    def __init__(self) -> None:
        self.arrivals: dict[str, Arrivals] = {}
        super().__init__(lambda broker: self.arrivals.setdefault(broker, Arrivals(broker)))

    @contextmanager
    def run(self, case: Case, protocol: ConformanceProtocol) -> Iterator[SimulatedCaseRun]:
        with super().run(case, protocol) as running:
            self.overlay = running.overlay
            yield running


@dataclass(frozen=True)
class Outcome:
    """Outcome of a case."""

    case: Case
    got: Mapping[str, Sequence[str]]
    """Notifications by client, in the order of their arrival."""
    detected: Mapping[str, Sequence[frozenset[str]]]
    """Detections of composite subscriptions by client, as sets of publications."""
    problem: str
    """Why the case could not be brought to its end; empty when it could."""
    arrivals: Mapping[str, Arrivals]
    overlay: SimulatedOverlay

    @property
    def pasteable(self) -> str:
        """The case with what should have come (and, of what may come, what came): it fails for its violations alone."""
        right = {client: list(ids) for client, ids in self.got.items()}
        for violation in violations(self.case, self.got):
            ids = right.setdefault(violation.client, [])
            while ids.count(violation.publication) > violation.right:
                ids.remove(violation.publication)
            ids += [violation.publication] * (violation.right - ids.count(violation.publication))
        expect = {client: tuple(ids) for client, ids in sorted(right.items()) if ids}
        return write(self.case.model_copy(update={"expect": expect}))


def run(case: Case, protocol: str) -> Outcome:
    runner = _CaseRunner()
    expecting_nothing = case.model_copy(update={"expect": {}})  # so that all that came is a difference
    result: Result = run_case(expecting_nothing, PROTOCOLS[protocol], runner)
    got: dict[str, list[str]] = defaultdict(list)
    detected: dict[str, list[frozenset[str]]] = defaultdict(list)
    for difference in result.differences:
        for notification in difference.got:
            if isinstance(notification, str):
                got[difference.client].append(notification)
            else:
                detected[difference.client].append(frozenset(notification))
    return Outcome(case, got, detected, result.problem, runner.arrivals, runner.overlay)


@contextmanager
def forced_tid_changes(seed: int) -> Iterator[None]:
    """Every look at a link's utilisation sees another one, so that dynamic routing changes trees where it can."""
    draws = random.Random(seed)

    def utilisation(link: OverlayLink) -> float:
        return draws.choice((1.0, 2.0, 8.0)) if link.up else float("inf")

    with mock.patch.object(OverlayLink, "utilisation", property(utilisation)):
        yield
