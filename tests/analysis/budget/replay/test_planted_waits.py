"""A replay of a log with planted waits for a processor is the log without them, whatever queues the waits filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from analysis.auditing.hops.asked import AskedVariant
from analysis.budget.replay.stage import ReplayedDelays
from analysis.budget.variant import AtRest, BudgetedVariant, Latency
from analysis.run_files.processor_times import ProcessorTimes
from record.log import Event, TraceRecord
from record.service_time import ServiceTime
from record.time_units import MILLISECOND, SECOND
from tests.analysis.budget.made import COUNT, DELAY, EVERY, PUBLISHERS, SUBSCRIBERS, budget_of, read, replay_of, total
from topology.link_properties import LinkProperties

BYTES = 905
"""Bytes of a message that takes 1,000 on the wire."""
RATE = 8e6
"""Bits a second: a message a millisecond."""
HANDLING = MILLISECOND // 100
AT_REST = AtRest(
    submit=Latency((0, 2 * HANDLING)),
    link=Latency((0, 2 * HANDLING)),
    notify=Latency((0, 2 * HANDLING)),
    work={"publish": HANDLING},
)
EVEN = [SECOND + number * MILLISECOND for number in range(COUNT)]
BURSTS = [SECOND + number // 20 * EVERY + number % 20 * HANDLING for number in range(COUNT)]
"""The times at which publications are due: one by one, and twenty at a time."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A client of A, a link to B, and a client of B. Times in nanoseconds."""

    due: Sequence[int] = field(default_factory=lambda: EVEN)
    waits: tuple[int, int] = (0, 0)
    """The time for which A waits for a processor."""
    stops: tuple[int, int] = (0, 0)
    """The time for which B does."""
    sends: tuple[int, int] = (0, 0)
    """The time for which A does after its turns, before messages leave."""
    send_time: int = 0
    serialised: int = 0
    """Time for which the link's rate serves a message; 0 or a millisecond."""
    service: int = 0
    """The service time of both."""

    def records(self) -> list[TraceRecord]:
        records: list[TraceRecord] = []
        turn = written = served = handled = 0
        for number, due in enumerate(self.due):
            turn = HANDLING + self.service + max(turn, self.waits[1] if self.waits[0] <= due < self.waits[1] else due)
            left = max(self.sends[1] if self.sends[0] <= turn < self.sends[1] else turn, written)
            written = left + self.send_time
            served = max(written, served) + self.serialised
            came = served + DELAY
            arrived = self.stops[1] if self.stops[0] <= came < self.stops[1] else came
            handled = max(arrived, handled) + self.service + HANDLING
            name = f"P:{number}"

            def record(time: int, node: str, event: Event, name: str = name, **more: object) -> TraceRecord:
                return TraceRecord(time, node, "base", event, "publish", name, **more)  # type: ignore[arg-type]

            records += [
                record(due, PUBLISHERS, Event.PUBLISH, client="P", peer="A", intended=due, numbers={}),
                record(turn, "A", Event.RECEIVED, client="P", hops=0),
                record(
                    left, "A", Event.SENT, peer="B", hops=0, duration=left - turn, bytes=BYTES - len(name),
                    written=written,
                ),
                record(handled, "B", Event.RECEIVED, peer="A", hops=1, arrived=arrived),
                record(handled, SUBSCRIBERS, Event.NOTIFIED, peer="B", client="S", hops=1),
            ]  # fmt: skip
        return records

    def variant(self) -> BudgetedVariant:
        link = LinkProperties(
            delay=DELAY / SECOND,
            rate=RATE if self.serialised else None,
            send_time=ServiceTime(mean=self.send_time / SECOND),
        )
        processors = {"A": waited(*max(self.waits, self.sends)), "B": waited(*self.stops)}
        asked = AskedVariant(links={("A", "B"): link, ("B", "A"): link}, processors=processors)
        return BudgetedVariant(asked=asked, rest=AT_REST, service=ServiceTime(mean=self.service / SECOND))

    def replayed(self) -> ReplayedDelays:
        found = replay_of(read(self.records(), ["base"], ("A", "B")), [self.variant()], ("A", "B")).of(0)
        assert found is not None
        return found

    def measured(self) -> list[float]:
        """Mean and percentiles of delays, in milliseconds."""
        notified = [record.time for record in self.records() if record.event is Event.NOTIFIED]
        delays = (np.array(notified) - np.array(self.due)) / MILLISECOND
        return [float(delays.mean()), *np.percentile(delays, [50, 95, 99]).tolist()]


def waited(begin: int, end: int) -> ProcessorTimes:
    """One wait."""
    return ProcessorTimes.of(*(np.array([number], dtype=np.int64) for number in (begin, end, end - begin)))


def figures(found: ReplayedDelays) -> list[float]:
    return [found.mean_ms, found.p50_ms, found.p95_ms, found.p99_ms]


QUEUES = [
    Line(),
    Line(due=BURSTS, send_time=MILLISECOND),
    Line(due=BURSTS, serialised=MILLISECOND),
    Line(due=BURSTS, service=MILLISECOND),
    Line(service=8 * MILLISECOND // 10),
    Line(send_time=8 * MILLISECOND // 10, service=8 * MILLISECOND // 10),
]
WAIT = (SECOND - 5 * MILLISECOND, SECOND + 35 * MILLISECOND)


@pytest.mark.parametrize("line", QUEUES)
def test_a_log_without_waits_is_replayed_as_it_is(line: Line) -> None:
    assert figures(line.replayed()) == pytest.approx(line.measured(), abs=0.02)


@pytest.mark.parametrize("line", QUEUES)
@pytest.mark.parametrize("where", ["waits", "stops", "sends"])
def test_the_backlog_that_waits_caused_goes_with_them(line: Line, where: str) -> None:
    held_up = replace(line, **{where: WAIT})
    assert held_up.measured()[0] > line.measured()[0] + 1, "the waits matter"
    assert figures(held_up.replayed()) == pytest.approx(line.measured(), rel=0.02)


def test_contention_alone_leaves_the_backlog() -> None:
    """The queue that the wait filled is waiting in the budget, and not in the replay."""
    calm = Line(service=8 * MILLISECOND // 10)
    held_up = replace(calm, waits=WAIT)
    sums = total(budget_of(read(held_up.records(), ["base"], ("A", "B")), [held_up.variant()], ("A", "B")))
    rest = (sums.delay - sums.contention) / sums.notifications / MILLISECOND
    assert rest > held_up.replayed().mean_ms + 1
