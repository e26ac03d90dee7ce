"""Announced starts of subscriptions of either kind: their latencies, and those that never came.

Under a protocol that announces starts, a subscription has to be announced by the time at which it has settled
(`analysis.judging.rights.standing`). The crash of another broker, which such a protocol survives, excuses no delay.
These do:

1. its session or its own broker was down in between;
2. its broker was cut off from all others: it is announced when the cut has ended, the overlay has recovered, and what
   waited for that has crossed the overlay;
3. it was withdrawn before, or the run ended before;
4. its client, the client's site or its access link had failed: the announcement is there when the fault has been healed
   and the session had the time to come back, even if it did not break, because a frozen client reads nothing;
5. a fault that crashes no broker was meanwhile: what waited for its end, or was lost, crosses the overlay after that;
6. a slow reader has not read yet what had come to its session before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from analysis.judging.histories.history import History
from analysis.judging.rights.standing import Standing, standing_of
from analysis.reading.intervals import FOREVER, NONE
from analysis.reading.lifetimes import DeclarationLifetime
from analysis.run_files.time_units import second_of
from analysis.tables.starts import Start, StartFigures
from record.log import Event
from record.manifest import VariantRecord
from record.time_units import MILLISECOND
from topology.model import Overlay


def starts_of(variant: VariantRecord, history: History, overlay: Overlay) -> list[Start]:
    """The starts in a variant, in the order in which the subscriptions were made; none where none are announced."""
    if not history.promises.announces_starts:
        return []
    ends = (variant.end, history.cut_short)
    end = min((time for time in ends if time is not None), default=FOREVER)
    distances = _Distances(overlay)
    return [
        _start(
            variant, lifetime, _due(lifetime, standing_of(number, lifetime, history), history, overlay, end), distances
        )
        for number, lifetime in enumerate(history.lifetimes)
        if lifetime.made is not Event.ADVERTISE
    ]


def start_figures(starts: Sequence[Start]) -> StartFigures:
    """The figures of one variant's starts."""
    latencies = sorted(start.latency_ms for start in starts if start.latency_ms is not None)
    return StartFigures(
        announced=len(latencies),
        missing=sum(start.missing for start in starts),
        mean_ms=fmean(latencies) if latencies else None,
        p50_ms=_percentile(latencies, 50),
        p95_ms=_percentile(latencies, 95),
        max_ms=latencies[-1] if latencies else None,
    )


def _due(lifetime: DeclarationLifetime, made: Standing, history: History, overlay: Overlay, end: int) -> int | None:
    """The time by which a start has to be announced; None where it need not be."""
    others = [broker.id for broker in overlay.brokers if broker.id != made.broker]
    cuts = (history.cuts.between(made.broker, other) for other in others)
    settled = min((cut.settled(made.issued, made.settled) for cut in cuts), default=made.settled)
    struck = history.own_clients is not None and history.own_clients.unsettled.overlaps(made.issued, made.settled)
    if struck or settled > made.settled:
        settled += history.settling.spread
    due = _received(lifetime, history, settled)
    is_excused = due >= min(made.withdrawn, end) or made.outages.overlaps(made.issued, due)
    return None if is_excused else due


def _received(lifetime: DeclarationLifetime, history: History, settled: int) -> int:
    """The time by which the client has an announcement that its broker made when the subscription had settled."""
    struck = history.client_struck.get((lifetime.node, lifetime.broker), NONE)
    return history.answered_by(lifetime.client, struck.settled(lifetime.issued, settled))


def _start(variant: VariantRecord, made: DeclarationLifetime, due: int | None, distances: _Distances) -> Start:
    announced = next(iter(made.announced), None)
    return Start(
        variant=variant.name,
        client=made.client,
        subscription=made.name,
        broker=made.broker,
        farthest=None if made.broker is None else distances.farthest(made.broker),
        issued_ns=made.issued,
        confirmed_ns=made.confirmed,
        announced_ns=announced,
        due_ns=due,
        latency_ms=None if announced is None else (announced - made.issued) / MILLISECOND,
        second=second_of(made.issued, variant.run_start),
    )


class _Distances:
    """Distances in one overlay as it was at first, in links."""

    def __init__(self, overlay: Overlay) -> None:
        self._overlay = overlay
        self._farthest: dict[str, int] = {}

    def farthest(self, broker: str) -> int:
        found = self._farthest.get(broker)
        if found is None:
            found = self._farthest[broker] = sum(1 for _ in _rings(self._overlay, broker)) - 1
        return found


def _rings(overlay: Overlay, broker: str) -> Iterator[set[str]]:
    """The brokers at distance 0, 1, and so on from one."""
    ring, seen = {broker}, {broker}
    while ring:
        yield ring
        ring = {near for each in ring for near in overlay.neighbours(each)} - seen
        seen |= ring


def _percentile(ascending: Sequence[float], percent: int) -> float | None:
    """The least value with at least so many percent of the values at or below it; None without values."""
    return ascending[max(0, -(-len(ascending) * percent // 100) - 1)] if ascending else None
