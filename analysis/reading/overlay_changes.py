"""Changes of a variant's overlay, by the emulator's log: lifetimes of links, connectivity and degrees over time.

Whether brokers are connected is a question of links that are there, not of faults: a link that a fault cuts is there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import floor
from typing import NamedTuple

from analysis.reading.log_events import LogPosition
from analysis.reading.outages import link_ends
from analysis.tables.motion import Connectivity, DegreeOverTime, LinkLifetime
from record.manifest import PhaseName, VariantRecord
from record.time_units import MILLISECOND, SECOND
from topology.evolutions.evolution import Appears, Change, Evolution, Vanishes
from topology.link_properties import BrokerId, Link
from topology.model import Overlay


class LinkChange(NamedTuple):
    """A link appeared or vanished."""

    at: LogPosition
    variant: int
    link: str
    """`A-B`, as logged."""
    appeared: bool
    intended: int
    """Time at which it was due, in nanoseconds."""


@dataclass(slots=True)
class _Second:
    """Sums over one second, of time in seconds."""

    time: float = 0.0
    connected: float = 0.0
    pairs: float = 0.0
    appeared: int = 0
    vanished: int = 0


class OverlayChanges:
    """The changes of one variant's overlay, from the begin of its join phase until clients left."""

    def __init__(self, variant: VariantRecord, start: Overlay, changes: Iterable[LinkChange]) -> None:
        """`changes` are those of the variant, in any order."""
        self._name = variant.name
        join = variant.phase(PhaseName.JOIN)
        self._end = variant.end or 0
        self._begin = self._end if join is None else join.start
        self._run_start = self._begin if variant.run_start is None else variant.run_start
        within = (change for change in sorted(changes) if self._begin <= change.at.time < self._end)
        brokers = {broker.id for broker in start.brokers}
        named = ((change, *ends) for change in within if (ends := link_ends(change.link, brokers)) is not None)
        self._changes = list(_possible(named, start))
        overlay = Overlay(start.name, start.brokers, tuple(start.links), may_be_partitioned=True)
        self._evolution = Evolution(overlay, tuple(self._change(*change) for change in self._changes))

    def vanished(self) -> Iterator[LinkChange]:
        """The changes by which links vanished, in order of time."""
        return (change for change, _, _ in self._changes if not change.appeared)

    def links_out(self) -> Iterator[tuple[BrokerId, BrokerId, int, int | None]]:
        """The times in which brokers that are linked at another time are not: from and until when, in nanoseconds.

        The first begins at 0; the end is None for a link that does not come back.
        """
        since = {frozenset(pair): 0 for pair in self._evolution.later_pairs()}
        for change, a, b in self._changes:
            pair = frozenset((a, b))
            if change.appeared:
                yield a, b, since.pop(pair), change.at.time
            else:
                since[pair] = change.at.time
        for pair, time in since.items():
            a, b = sorted(pair)
            yield a, b, time, None

    @property
    def linked_ever(self) -> Overlay:
        """The overlay with all links that it has at some time."""
        return self._evolution.linked_ever

    def lifetimes(self) -> Iterator[LinkLifetime]:
        """Rows of the table `lifetimes`: links of the start first, then in order of appearance."""
        numbers: Counter[frozenset[BrokerId]] = Counter()
        for lifetime in self._evolution.lifetimes():
            pair = frozenset((lifetime.link.a, lifetime.link.b))
            numbers[pair] += 1
            yield self._lifetime(
                lifetime.link, numbers[pair], self._logged(lifetime.appearance), self._logged(lifetime.disappearance)
            )

    def connectivity(self) -> Iterator[Connectivity]:
        """Rows of the table `connectivity`."""
        seconds: defaultdict[int, _Second] = defaultdict(_Second)
        for moment in self._evolution.moments((self._end - self._begin) / SECOND):
            for second, time in self._split(moment.begin, moment.end):
                sums = seconds[second]
                sums.time += time
                sums.connected += time * (moment.parts == 1)
                sums.pairs += time * moment.pairs
        for change, _, _ in self._changes:
            sums = seconds[self._second(change.at.time)]
            sums.appeared += change.appeared
            sums.vanished += not change.appeared
        degrees = dict(self._degrees(sorted(seconds)))
        for second, sums in sorted(seconds.items()):
            yield Connectivity(
                variant=self._name,
                second=second,
                connected=sums.connected / sums.time,
                pairs=sums.pairs / sums.time,
                links=sum(degree * brokers for degree, brokers in degrees[second].items()) // 2,
                appeared=sums.appeared,
                vanished=sums.vanished,
            )

    def degrees(self) -> Iterator[DegreeOverTime]:
        """Rows of the table `degrees`."""
        last = self._second(max(self._begin, self._end - 1))
        for second, brokers_of in self._degrees(range(self._second(self._begin), last + 1)):
            for degree, brokers in sorted(brokers_of.items()):
                yield DegreeOverTime(variant=self._name, second=second, degree=degree, brokers=brokers)

    def _change(self, change: LinkChange, a: BrokerId, b: BrokerId) -> Change:
        at = (change.at.time - self._begin) / SECOND
        return Appears(at, Link(a, b)) if change.appeared else Vanishes(at, a, b)

    def _logged(self, position: int | None) -> LinkChange | None:
        """The change at this position of the evolution."""
        return None if position is None else self._changes[position][0]

    def _lifetime(
        self, link: Link, number: int, appeared: LinkChange | None, vanished: LinkChange | None
    ) -> LinkLifetime:
        return LinkLifetime(
            variant=self._name,
            a=link.a,
            b=link.b,
            number=number,
            appeared_ns=None if appeared is None else appeared.at.time,
            vanished_ns=None if vanished is None else vanished.at.time,
            appeared_s=None if appeared is None else (appeared.at.time - self._run_start) / SECOND,
            vanished_s=None if vanished is None else (vanished.at.time - self._run_start) / SECOND,
            late_ms=None if appeared is None else (appeared.at.time - appeared.intended) / MILLISECOND,
        )

    def _degrees(self, seconds: Sequence[int]) -> Iterator[tuple[int, Counter[int]]]:
        """The number of brokers of each degree at the begin of each of these seconds, which are in order."""
        start = self._evolution.start
        degree = {broker.id: len(start.neighbours(broker.id)) for broker in start.brokers}
        brokers_of = Counter(degree.values())
        changes = iter(self._changes)
        following = next(changes, None)
        for second in seconds:
            while following is not None and following[0].at.time <= self._run_start + second * SECOND:
                change, *ends = following
                for broker in ends:
                    brokers_of[degree[broker]] -= 1
                    degree[broker] += 1 if change.appeared else -1
                    brokers_of[degree[broker]] += 1
                following = next(changes, None)
            yield second, +brokers_of

    def _second(self, time: int) -> int:
        return floor((time - self._run_start) / SECOND)

    def _split(self, begin: float, end: float) -> Iterator[tuple[int, float]]:
        """The parts of a time, in seconds since the begin of the join phase, that belong to each second."""
        offset = (self._begin - self._run_start) / SECOND
        begin, end = begin + offset, end + offset
        while begin < end:
            second = floor(begin)
            part = min(end, second + 1.0)
            yield second, part - begin
            begin = part


def _possible(
    changes: Iterable[tuple[LinkChange, BrokerId, BrokerId]], start: Overlay
) -> Iterator[tuple[LinkChange, BrokerId, BrokerId]]:
    """The changes without those of links that are as they say already, which only a damaged log has."""
    present = {frozenset((link.a, link.b)) for link in start.links}
    for change, a, b in changes:
        pair = frozenset((a, b))
        if a != b and (pair in present) is not change.appeared:
            present ^= {pair}
            yield change, a, b


def changes_of(
    variants: Sequence[VariantRecord], overlays: Collection[Overlay], changes: Iterable[LinkChange]
) -> list[OverlayChanges | None]:
    """The changes of each variant's overlay; None where it stayed as it was. `overlays` are in the variants' order."""
    by_variant: defaultdict[int, list[LinkChange]] = defaultdict(list)
    for change in changes:
        by_variant[change.variant].append(change)
    return [
        OverlayChanges(variant, overlay, by_variant[number]) if number in by_variant else None
        for number, (variant, overlay) in enumerate(zip(variants, overlays, strict=True))
    ]
