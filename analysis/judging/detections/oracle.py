"""The oracle of detections: which sets of publications a client must, may and must not get for a composite
subscription, and what went wrong.

A publication that matches a part of a composite subscription has a right of its own, by the rules of
`analysis.judging.oracle`, as if the composite subscription were a plain one that it matches. A set of publications that
fulfils the pattern (`analysis.judging.detections.combinations`) is

1. **must** if all of its publications are, no outage may have struck one of them on its way, their stamps lie within
   the window, and no crash took stored matches with it: from the publishing of the first to the end of the flight of
   the last there is neither a time of `analysis.judging.detections.stored_matches` nor an outage of the client's
   session. Not to get it is *lost*, to get it twice is *duplicated*.
2. **may** if all of its publications are must or may, and their stamps may lie within the window. To get it twice is
   *duplicated*.
3. **none** otherwise, and so is every set that does not fulfil the pattern. To get it is *spurious*.

Stamps are those of the clients' logs, which are the very values that brokers judge by. Only between hosts do they have
an error, and with time dilation they are rounded. What a broker drops at a bound is a loss that nothing excuses; the
record of it is shown beside the loss.

One composite subscription is judged at a time, in one pass over its events in the order of stamps. A notification is
found among the events of the publication that it lists last. Sets stay open for a window, so that a notification that
lists them in another order is found as well, and memory holds the events of two windows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from analysis.judging.detections.combinations import Combinations
from analysis.judging.detections.events import CompositeEvent, PlacedDetection, PlacedLoss
from analysis.judging.evidence.risks import Risks
from analysis.judging.language import Pattern
from analysis.judging.rights.composite_rights import PartMatch
from analysis.reading.detections import NotifiedDetection
from analysis.reading.intervals import NONE, Intervals
from analysis.tables.deliveries import Right
from analysis.tables.detections import DetectionDefect

_CLOSINGS = 16
"""The number of times that sets are closed in a window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedLifetime:
    """One lifetime of a composite subscription, as far as its detections depend on it."""

    pattern: Pattern
    within: int
    """Nanoseconds."""
    matches: Sequence[int]
    """The number of publications that match each part."""
    outages: Intervals = NONE
    """The time in which matches that brokers had stored for it may have been lost."""
    risks: Risks | None = None
    """The time in which outages may have cost it publications, by the publisher's broker; None without any."""
    silent: Intervals = NONE
    """As `History.silent`."""
    error: int = 0
    """The largest possible error of the difference of two stamps, in nanoseconds."""
    disturbed: Intervals = NONE
    """The time from each fault of any kind until the overlay may have recovered."""
    calm: int = 0
    """Nanoseconds by which a flight ends earlier than `PartMatch.until` where nothing disturbed it."""

    def until(self, match: PartMatch) -> int:
        """The end of the flight of a publication that matches a part."""
        undisturbed = match.until - self.calm
        return match.until if self.disturbed.overlaps(match.stamp, undisturbed) else undisturbed


@dataclass(frozen=True, slots=True)
class JudgedDetection:
    """A set of publications of which a client must or may be notified."""

    members: tuple[DetectionMember, ...]
    """In the order of their stamps."""
    right: Right
    notified: Sequence[NotifiedDetection]
    """In order of time."""
    lifetimes: int
    """The number of lifetimes in which it is a detection: the client may get it in each."""

    @property
    def defect(self) -> DetectionDefect | None:
        if len(self.notified) > self.lifetimes:
            return DetectionDefect.DUPLICATED
        return DetectionDefect.LOST if self.right is Right.MUST and not self.notified else None

    @property
    def publications(self) -> list[str]:
        """In the order of their stamps."""
        return [member.publication for member in self.members]

    @property
    def spread(self) -> int:
        return self.members[-1].stamp - self.members[0].stamp

    @property
    def intended(self) -> int:
        """The latest time at which the workload wanted one of the publications."""
        return max(member.intended for member in self.members)

    @property
    def drops(self) -> list[str]:
        """The brokers that dropped detections with these publications, and their reasons."""
        return sorted({drop for member in self.members for drop in member.drops})


class DetectionMember(msgspec.Struct, gc=False):
    """A publication that matches parts of the composite subscription."""

    number: int
    publication: str
    stamp: int
    intended: int
    matches: dict[int, PartMatch] = {}
    """By lifetime."""
    drops: list[str] = []


@dataclass(slots=True)
class _OpenSet:
    """A set that fulfils the pattern, until all of its notifications are found."""

    members: tuple[DetectionMember, ...]
    lifetimes: list[int]
    notified: list[NotifiedDetection] = field(default_factory=list)


class DetectionSweep:
    """One pass over the events of a composite subscription."""

    def __init__(self, lifetimes: Mapping[int, ComposedLifetime]) -> None:
        """`lifetimes` are those of the composite subscription, by their numbers in the variant's history."""
        self.strays: list[PlacedDetection] = []
        """Notifications of sets that are no detection; complete after the pass."""
        self._lifetimes = lifetimes
        self._combinations = {
            number: Combinations(lifetime.pattern, lifetime.within + lifetime.error, lifetime.matches)
            for number, lifetime in lifetimes.items()
        }
        self._horizon = max((lifetime.within + lifetime.error for lifetime in lifetimes.values()), default=0)
        self._newest: DetectionMember | None = None
        """The last one that was added; all events of a publication follow one another."""
        self._recent: dict[int, DetectionMember] = {}
        """Those of which sets may still be found, by their numbers, which are consecutive."""
        self._oldest = 0
        """The least of these numbers."""
        self._open: dict[frozenset[str], _OpenSet] = {}
        """By their publications, in the order of the stamps of the last ones."""
        self._waiting: deque[PlacedDetection] = deque()
        """Notifications whose set is not found yet, in the order of stamps."""

    @property
    def held(self) -> int:
        """The number of publications and sets in memory."""
        return len(self._recent) + len(self._open)

    def judged(self, events: Iterable[CompositeEvent]) -> Iterator[JudgedDetection]:
        """The sets of which the client must or may be notified, in the order of their last publications."""
        now, closed = 0, -1
        step = self._horizon // _CLOSINGS
        for event in events:
            now = event.stamp
            if now > closed + step:
                closed = now
                yield from self._closed(now - self._horizon)
                self._forget(now - self._horizon)
            if type(event) is PartMatch:
                self._add(event)
            elif type(event) is PlacedDetection:
                self._waiting.append(event)
            elif type(event) is PlacedLoss:
                self._add_loss(event)
        yield from self._closed(now + 1)

    def _add(self, match: PartMatch) -> None:
        member = self._newest
        if member is None or member.publication != match.publication:
            number = 0 if member is None else member.number + 1
            intended = match.stamp if match.intended is None else match.intended
            member = self._newest = DetectionMember(number, match.publication, match.stamp, intended)
            self._recent[number] = member
        member.matches[match.lifetime] = match
        if match.right is Right.NONE:
            return
        combinations = self._combinations[match.lifetime]
        for numbers in combinations.add(match.stamp, member.number, match.leaves, match.values):
            members = tuple([self._recent[number] for number in numbers])
            publications = frozenset([member.publication for member in members])
            found = self._open.get(publications)
            if found is None:
                self._open[publications] = _OpenSet(members, [match.lifetime])
            else:
                found.lifetimes.append(match.lifetime)

    def _add_loss(self, placed: PlacedLoss) -> None:
        newest = self._newest
        if newest is not None and newest.publication == placed.publication:
            newest.drops.append(f"{placed.loss.broker}: {placed.loss.reason}")

    def _closed(self, before: int) -> Iterator[JudgedDetection]:
        """The sets whose last publication was made before this time, once their notifications are assigned to them."""
        while self._waiting and self._waiting[0].stamp < before:
            self._assign(self._waiting.popleft())
        closed = []
        for publications, found in self._open.items():
            if found.members[-1].stamp >= before:
                break
            closed.append(publications)
        for publications in closed:
            found = self._open.pop(publications)
            notified = sorted(found.notified, key=lambda detection: detection.time)
            yield JudgedDetection(found.members, self._right(found), notified, len(found.lifetimes))

    def _assign(self, placed: PlacedDetection) -> None:
        found = self._open.get(frozenset(placed.detection.publications))
        if found is None:
            self.strays.append(placed)
        else:
            found.notified.append(placed.detection)

    def _forget(self, before: int) -> None:
        """Removes the publications that were made before this time."""
        recent = self._recent
        while (member := recent.get(self._oldest)) is not None and member.stamp < before:
            del recent[self._oldest]
            self._oldest += 1

    def _right(self, found: _OpenSet) -> Right:
        must = any(self._must(found.members, lifetime) for lifetime in found.lifetimes)
        return Right.MUST if must else Right.MAY

    def _must(self, members: Sequence[DetectionMember], number: int) -> bool:
        lifetime = self._lifetimes[number]
        matches = [member.matches[number] for member in members]
        if any(match.right is not Right.MUST for match in matches):
            return False
        first, last = matches[0], matches[-1]
        if last.stamp - first.stamp > lifetime.within - lifetime.error:
            return False
        if lifetime.risks is not None and any(
            lifetime.risks.of(match.origin).overlaps(match.stamp, lifetime.until(match)) for match in matches
        ):
            return False
        until = max(map(lifetime.until, matches))
        return not lifetime.outages.overlaps(first.stamp, lifetime.silent.settled(first.stamp, until))
