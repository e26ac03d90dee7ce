"""The oracle of detections: which sets of publications a client must, may and must not get for a composite
subscription, and what went wrong.

A publication that matches a part of a composite subscription has a right of its own, by the rules of
`analysis.judging.oracle`, as if the composite subscription were a plain one that it matches. A set of publications that
fulfils the pattern (`analysis.judging.detections.combinations`) is

1. **must** if the client is owed all of its publications, whatever fails, and their stamps (times of publishing) lie
   within the window. Not to get the set is *lost*, unless evidence that names it excuses the loss
   (`analysis.judging.detections.evidence`), or nobody can tell. To get it twice is *duplicated*.
2. **may** if all of its publications are must or may, and their stamps may lie within the window. To get the set twice
   is *duplicated*.
3. **none** otherwise, and so is every set that does not fulfil the pattern. To get such a set is *spurious*.

Stamps are those of the clients' logs, the very values by which brokers detect. They have an error only between hosts,
and with time dilation they are rounded. If a broker drops something at one of its bounds, nothing excuses the loss; the
record of the drop is shown beside it.

One composite subscription is judged at a time, in one pass over its events in the order of stamps. A notification is
found among the events of the publication that it lists last. Sets stay open for a window, so that a notification that
lists them in another order is found as well, and memory holds the events of two windows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from analysis.judging.deliveries.doubles import ClientMoves
from analysis.judging.detections.combinations import Combinations
from analysis.judging.detections.events import CompositeEvent, PlacedDetection, PlacedLoss, PlacedMade
from analysis.judging.detections.evidence import SetFacts, SetWeighing, Weighed
from analysis.judging.language import Pattern
from analysis.judging.rights.composite_rights import PartMatch
from analysis.reading.detections import MadeDetection, NotifiedDetection
from analysis.tables.deliveries import Right
from analysis.tables.detections import DetectionDefect

_CLOSINGS = 16
"""The number of times that sets are closed in a window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedLifetime:
    """One lifetime of a composite subscription, as far as its detections depend on it."""

    pattern: Pattern
    within: int
    """The window: nanoseconds from the first to the last publication of a set, at most."""
    matches: Sequence[int]
    """The number of publications that match each part."""
    facts: Sequence[SetFacts]
    """Facts by which the loss of a set is excused, at each broker of the client, in the order of its stays."""
    moves: ClientMoves = field(default_factory=ClientMoves)
    """The moves of the client."""
    error: int = 0
    """The largest possible error of the difference of two stamps, in nanoseconds."""


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
    weighed: Weighed | None = None
    """Evidence on a set that is owed and did not come; None for other sets."""
    doubled: bool = False
    """True when moves of the client explain all notifications beyond the first."""

    @property
    def is_lost(self) -> bool:
        """True when the client is owed it, did not get it, and nothing excuses that."""
        return self.weighed is not None and self.weighed.is_lost

    @property
    def defect(self) -> DetectionDefect | None:
        if len(self.notified) > self.lifetimes and not self.doubled:
            return DetectionDefect.DUPLICATED
        return DetectionDefect.LOST if self.is_lost else None

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
    """Matches by the number of the lifetime."""
    drops: list[str] = []
    made: list[MadeDetection] = []
    """The detections that brokers made and of which it is the last publication."""


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
        self._weighing = {
            number: [SetWeighing(facts) for facts in lifetime.facts] for number, lifetime in lifetimes.items()
        }
        self._horizon = max((lifetime.within + lifetime.error for lifetime in lifetimes.values()), default=0)
        self._newest: DetectionMember | None = None
        """The last one that was added; all events of a publication follow one another."""
        self._recent: dict[int, DetectionMember] = {}
        """Publications that may still complete a set, by their numbers, which are consecutive."""
        self._oldest = 0
        """The least of these numbers."""
        self._open: dict[frozenset[str], _OpenSet] = {}
        """Sets that fulfil the pattern and are not judged yet, by their publications, in the order of the stamps of the
        last ones."""
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
            elif type(event) is PlacedMade:
                self._add_made(event)
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

    def _add_made(self, placed: PlacedMade) -> None:
        newest = self._newest
        if newest is not None and newest.publication == placed.publication:
            newest.made.append(placed.made)

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
            owing = [number for number in found.lifetimes if self._must(found.members, number)]
            weighed = self._weighed(found, owing) if owing else None
            right = Right.MUST if owing else Right.MAY
            got = [(detection.broker, detection.time) for detection in notified]
            doubled = len(got) > 1 and self._lifetimes[found.lifetimes[-1]].moves.may_double(got)
            yield JudgedDetection(found.members, right, notified, len(found.lifetimes), weighed, doubled)

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

    def _must(self, members: Sequence[DetectionMember], number: int) -> bool:
        """True when the client is owed a set in one lifetime, whatever fails."""
        lifetime = self._lifetimes[number]
        matches = [member.matches[number] for member in members]
        if any(match.right is not Right.MUST and match.doubt is None for match in matches):
            return False
        return matches[-1].stamp - matches[0].stamp <= lifetime.within - lifetime.error

    def _weighed(self, found: _OpenSet, owing: Sequence[int]) -> Weighed | None:
        """The outcome for a set that is owed in some lifetimes; None where it came. It is lost if it is in one of
        them."""
        if found.notified and not any(self._lifetimes[number].facts[0].evidence.losses for number in owing):
            return None
        ids = {member.publication for member in found.members}
        made = [
            detection
            for member in found.members
            for detection in member.made
            if ids.issuperset(detection.publications)
            and (detection.sub_unit or len(detection.publications) == len(ids))
        ]
        weighed: Weighed | None = None
        for number in owing:
            matches = [member.matches[number] for member in found.members]
            weighing = self._weighing_at(number, matches[-1].stamp)
            of_client = [detection for detection in made if weighing.facts.concerns(detection, matches[0].stamp)]
            if found.notified:
                weighing.prove(matches, of_client)
            elif weighed is None or not weighed.is_lost:
                weighed = weighing.weigh(matches, of_client)
        return weighed

    def _weighing_at(self, number: int, time: int) -> SetWeighing:
        """The weighing of a set whose last publication was made at this time, at the broker that the client had not
        left yet."""
        found = self._weighing[number]
        return next((one for one in found if one.facts.stay is None or time < one.facts.stay.end), found[-1])
