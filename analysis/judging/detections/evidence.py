"""Evidence of missing detections: a set that is owed and did not come is excused by evidence of one of its own
publications or of its own detection, and by nothing else.

Publications are kept where a composite subscription is detected: at the client's broker, or at the join points of a
unit and of its parts. The evidence is a lossy outage (`analysis.judging.histories.losses`) of an element, and one of
these:

1. **a publication of it**: a copy was lost on its way to where the set is detected, by the evidence that excuses the
   loss of a notification (`analysis.judging.evidence.excuses`), or its publisher's or its client's session was down;
2. **kept**: the broker that detects it, or of a unit one on the path from the client's broker, failed before the last
   publication of the set had come, or so shortly afterwards that it may not have been compared, and took what was kept
   with it. That lasts until the composite subscription stands there again: until a set has come whose publications
   were all made since, and as long as the overlay may take to recover at most. A unit whose join point gives it up
   loses what is kept once more, when it is routed anew;
3. **on its way home**: a broker recorded the detection, and an element on the path to the client's broker failed, or
   was down or recovering, before it can have come there. It may wait for a link that is down.

A client that moves has its composite subscriptions begin anew at each broker. What the broker that it has left
detects counts for nothing. A set of which a publication was made before the composite subscription stood at the next
broker, and which was not complete when the client left the former one, is excused by that handover.

A set that a broker recorded as detected has lost none of its publications, so only the third kind excuses it, or a
break of the client's session. Nothing is excused by an outage that lies beside the ways of the set's publications and
its detection, or that began when the set must have come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from analysis.judging.doubt import Doubt
from analysis.judging.evidence.excuses import Evidence, Excuse, ended
from analysis.judging.evidence.recovery import Recoveries
from analysis.judging.evidence.ways import elements_of
from analysis.judging.evidence.weighing import UNDRAINED
from analysis.judging.histories.history import ServedTwice
from analysis.judging.histories.losses import LossyOutage
from analysis.judging.judged import JudgedPublication, PublicationOutcome
from analysis.judging.rights.composite_rights import PartMatch
from analysis.judging.trace import CopyTrace, StepKind
from analysis.reading.detections import MadeDetection
from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.placements import JoinPoint
from analysis.reading.stays import Stay
from record.time_units import SECOND
from topology.link_properties import BrokerId


class Weighed(NamedTuple):
    """The outcome for a set that is owed and did not come. It is lost unless there is an excuse, or a reason why it
    cannot be judged."""

    excuse: Excuse | None = None
    not_judged: str | None = None
    last_seen: str | None = None
    """The last record of the set on its way to the client."""

    @property
    def is_lost(self) -> bool:
        return self.excuse is None and self.not_judged is None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFacts:
    """The facts about one lifetime of a composite subscription, at one broker of its client, by which its missing sets
    are excused."""

    evidence: Evidence
    broker: BrokerId | None
    """The client's broker."""
    stay: Stay | None = None
    """The client's stay at the broker; None of a client that does not move."""
    served_twice: Sequence[ServedTwice] = ()
    """Soft handovers of the client during which it stood at both brokers."""
    points: Sequence[JoinPoint] = ()
    """The join points of a composite subscription that is routed as a unit, in the order in which they began."""
    sessions: Intervals = NONE
    """Outages of the client's session and broker, with the time of recovery."""
    struck: Intervals = NONE
    """The part of it that faults of the client itself, or its moves, cost."""
    silent: Intervals = NONE
    """Time in which publications may wait in a queue without a record in any log."""
    disturbed: Intervals = NONE
    """The time from each fault of any kind until the overlay may have recovered."""

    def over(self, begin: int, end: int) -> int:
        """The end of a flight that may last from one time to the other: less the allowance that no message needs, where
        nothing disturbed it."""
        calm = end - self.evidence.settling.calm
        return end if self.disturbed.overlaps(begin, calm) else calm

    def concerns(self, made: MadeDetection, first: int) -> bool:
        """True of a detection that was made for the client while it was at the broker. The first publication of its set
        was made at `first`: a join point that began later does not know it, and one that a former broker has asked for
        may stand beside it."""
        if self.stay is None:
            return True
        if not self.stay.begin <= made.time <= self.stay.end:
            return False
        if not self.points:
            return made.broker == self.broker
        return any(point.joined <= first for point in self.points_of(made))

    def points_of(self, made: MadeDetection) -> list[JoinPoint]:
        """The join points that may have made a detection, the last to begin last."""
        return [
            point
            for point in self.points
            if point.broker == made.broker and point.detecting.sub_unit == made.sub_unit and point.joined <= made.time
        ]


@dataclass(frozen=True, slots=True)
class _Keeper:
    """A broker that keeps publications of a set, and the brokers whose failure costs what it keeps."""

    broker: BrokerId
    costly: frozenset[BrokerId]
    completes: bool
    """True where the whole set is detected there."""
    until: int = FOREVER
    """The time until which it keeps any."""


@dataclass(slots=True)
class SetWeighing:
    """Weighs the missing sets of one lifetime of a composite subscription, in the order of their last publications."""

    facts: SetFacts
    _recoveries: Recoveries = field(default_factory=Recoveries)
    """Proofs of recovery by the broker that detects, and the number of the part."""
    _kept_again: dict[LossyOutage, int] = field(default_factory=dict)
    """The earliest time of a set that came and whose publications were all made after an outage's heal, by outage."""
    _homeward: dict[tuple[str, LossyOutage], int] = field(default_factory=dict)
    """The earliest time of a detection that came home over an outage's element since, by detecting broker and
    outage."""

    def prove(self, matches: Sequence[PartMatch], made: Sequence[MadeDetection]) -> None:
        """Adds the proofs of recovery by a set that came."""
        losses = self.facts.evidence.losses
        whole = next((found for found in made if not found.sub_unit), None)
        if not losses or whole is None:
            return
        first, detected = matches[0].stamp, whole.time
        homeward = self._home_elements(whole)
        for outage in losses:
            if outage.end <= first and self._made_anew(whole, outage):
                self._kept_again[outage] = min(first, self._kept_again.get(outage, FOREVER))
            if outage.end <= detected and outage.element in homeward:
                proof = whole.broker, outage
                self._homeward[proof] = min(detected, self._homeward.get(proof, FOREVER))
        for match in matches:
            passed = elements_of(CopyTrace(match.steps).way_to(whole.broker))
            for outage in losses:
                if match.tree is None or len(match.leaves) > 1:
                    continue
                if outage.end <= match.stamp and outage.element in passed:
                    self._recoveries.prove((whole.broker, match.leaves[0], match.tree, outage), match.stamp)

    def weigh(self, matches: Sequence[PartMatch], made: Sequence[MadeDetection]) -> Weighed:
        """The outcome for a set that did not come. `made` are the detections that brokers recorded of the set, and of
        parts of it that are detected by themselves."""
        whole = next((found for found in made if not found.sub_unit), None)
        if any(match.doubt is Doubt.CUT_SHORT for match in matches):
            reason = Doubt.CUT_SHORT.in_words(matches[-1].origin, self.facts.broker)
            return Weighed(not_judged=reason)
        excuse = self._session(matches, whole)
        if whole is not None:
            excuse = excuse or self._on_its_way_home([whole])
        else:
            excuse = excuse or self._undetected(matches, made)
        if excuse is not None:
            return Weighed(excuse)
        unknown = None if whole is not None else self._unknown(matches)
        if unknown is None and self._under_way(matches, whole):
            unknown = UNDRAINED
        return Weighed(not_judged=unknown, last_seen=self._last_seen(matches, whole))

    # The client's session, and doubts about publications

    def _session(self, matches: Sequence[PartMatch], whole: MadeDetection | None) -> Excuse | None:
        """The excuse by a break of the client's session, which costs what is kept, and what is on its way there."""
        facts, first = self.facts, matches[0].stamp
        begin = first if whole is None else whole.time
        if whole is None:
            end = max(facts.over(match.stamp, match.until) for match in matches)
        else:
            end = facts.over(begin, begin + facts.evidence.settling.within)
        crossed = next((over for over in facts.served_twice if first < over.stood and over.left < end), None)
        if crossed is not None:
            return Excuse(
                "kept at a broker that its client has left",
                f"begun at {first / SECOND:.3f} s, before the composite subscription stood at the next broker "
                f"({crossed.stood / SECOND:.3f} s), and under way when the client left ({crossed.left / SECOND:.3f} s)",
            )
        if not facts.sessions.overlaps(begin, facts.silent.settled(begin, end)):
            return None
        if self._stood_again(begin) and not facts.struck.overlaps(begin, end):
            return None
        return Excuse(
            Doubt.SUBSCRIBER.in_words(None, facts.broker),
            f"in flight from {begin / SECOND:.3f} s to {end / SECOND:.3f} s, for {facts.broker}",
        )

    def _stood_again(self, begin: int) -> bool:
        """True when the composite subscription certainly stood again after its own broker had failed."""
        own = [loss for loss in self.facts.evidence.losses if loss.element == self.facts.broker and loss.end <= begin]
        return bool(own) and self._kept_again.get(own[-1], FOREVER) < begin

    # Sets that no broker recorded as detected

    def _undetected(self, matches: Sequence[PartMatch], made: Sequence[MadeDetection]) -> Excuse | None:
        keepers = list(self._keepers(matches))
        found = self._kept(matches, keepers)
        found = found or next(filter(None, (self._publication(match, keepers) for match in matches)), None)
        return found or self._on_its_way_home(made)

    def _keepers(self, matches: Sequence[PartMatch]) -> Iterator[_Keeper]:
        """The brokers that may have kept publications of the set."""
        facts = self.facts
        if not facts.points:
            if facts.broker is not None:
                yield _Keeper(facts.broker, frozenset((facts.broker,)), True)
            return
        begin, end, within = matches[0].stamp, max(match.until for match in matches), facts.evidence.settling.within
        standing = [point for point in facts.points if point.joined <= end and begin <= point.left]
        whole = not any(point.detecting.sub_unit for point in standing)
        for point in standing or facts.points[-1:]:
            costly = {point.broker, *point.placement.path}
            if point.former is None:  # the client's broker learns the path only when the join point has begun
                known = facts.silent.settled(point.joined, point.joined + within)
                costly |= {
                    loss.element
                    for loss in facts.evidence.losses
                    if not loss.ends and point.joined - within <= loss.begin <= known
                }
            yield _Keeper(point.broker, frozenset(costly), whole, point.left)

    def _kept(self, matches: Sequence[PartMatch], keepers: Sequence[_Keeper]) -> Excuse | None:
        """The excuse by what a failed broker took with it that was kept."""
        facts, first = self.facts, matches[0].stamp
        for keeper in keepers:
            complete, came = self._complete(matches, keeper)
            for loss in facts.evidence.losses:
                if loss.element not in keeper.costly or loss.begin > keeper.until + facts.evidence.settling.within:
                    continue
                if not self._costs_what_is_kept(loss, first, complete):
                    continue
                waited = came and facts.evidence.may_have_held(keeper.broker, complete, loss.begin)
                if complete < loss.begin and not waited:
                    continue
                where = f"kept at {keeper.broker} when {loss.element} was {ended(loss)}"
                if first >= loss.end:
                    where = f"at {keeper.broker}, where it did not stand yet after {loss.element} had failed"
                last = f"complete at {complete / SECOND:.3f} s" if came else "never complete there"
                return Excuse(where, f"begun at {first / SECOND:.3f} s, {last}; {facts.evidence.stated(loss)}")
        return None

    def _costs_what_is_kept(self, loss: LossyOutage, first: int, complete: int) -> bool:
        """True when a set of these times may have lost a publication by the failure of a broker that is costly."""
        if first > loss.towards(self.facts.broker).recovered:
            return False
        return first <= self._kept_again.get(loss, FOREVER) or self._given_up(loss, first, complete)

    def _given_up(self, loss: LossyOutage, first: int, complete: int) -> bool:
        """True when a join point gave the unit up meanwhile, and it was routed anew, as the outage explains."""
        ends = (point.left for point in self.facts.points if self._is_routed_anew(point))
        return any(first <= left <= complete and loss.begin <= left <= loss.recovered for left in ends)

    def _is_routed_anew(self, point: JoinPoint) -> bool:
        unit, epoch = point.placement.unit, point.placement.epoch
        return any(other.placement.unit == unit and other.placement.epoch > epoch for other in self.facts.points)

    def _complete(self, matches: Sequence[PartMatch], keeper: _Keeper) -> tuple[int, bool]:
        """The time by which the last publication of the set must have come to the broker, and true when the records
        show that all of them did."""
        arrived = [CopyTrace(match.steps).arrivals(keeper.broker) for match in matches]
        if keeper.completes and all(arrived):
            return max(steps[0].time for steps in arrived), True
        return max(self.facts.over(match.stamp, match.until) for match in matches), False

    def _publication(self, match: PartMatch, keepers: Iterable[_Keeper]) -> Excuse | None:
        """The excuse by the loss of one publication of the set."""
        evidence = self.facts.evidence
        for keeper in keepers:
            judged, outcome = self._as_notification(match, keeper.broker)
            if match.doubt is not None and not evidence.outlived(judged, outcome, self._recoveries):
                words = match.doubt.in_words(match.origin, self.facts.broker)
                return Excuse(words, f"{match.publication}, published at {match.origin}, for {self.facts.broker}")
            found = evidence.excuse(judged, outcome, self._recoveries)
            if found is not None:
                return Excuse(found.kind, f"{match.publication}: {found.evidence}")
        return None

    def _as_notification(self, match: PartMatch, broker: BrokerId) -> tuple[JudgedPublication, PublicationOutcome]:
        """A publication of the set as one that was lost on its way to a broker."""
        steps = match.steps
        settling = self.facts.evidence.settling
        outcome = PublicationOutcome(
            broker, match.right, None, [], broker=broker, doubt=match.doubt,
            subscriptions=match.leaves if len(match.leaves) == 1 else [],
        )  # fmt: skip
        judged = JudgedPublication(
            variant=0,
            publication=match.publication,
            publisher=None,
            intended=match.intended,
            published=match.stamp,
            position=0,
            origin=match.origin,
            rejected=False,
            seen_last=match.until - settling.within,
            reached=tuple(step.broker for step in steps if step.kind is StepKind.ARRIVED),
            tree=match.tree,
            outcomes=[outcome],
            drops=[str(step) for step in CopyTrace(steps).drops()],
            paths=[],
            steps=steps,
            logged=match.logged,
        )
        return judged, outcome

    # Sets that a broker recorded as detected

    def _on_its_way_home(self, made: Iterable[MadeDetection]) -> Excuse | None:
        """The excuse by an element that failed between the broker that detected a set and the client's broker."""
        facts, settling = self.facts, self.facts.evidence.settling
        for found in made:
            elements = self._home_elements(found)
            until = facts.silent.settled(found.time, facts.over(found.time, found.time + settling.within))
            for loss in facts.evidence.losses:
                if loss.element not in elements or found.time > loss.recovered:
                    continue
                if self._homeward.get((found.broker, loss), FOREVER) < found.time:
                    continue
                left = loss.element == found.broker
                held = loss.begin <= found.time or facts.evidence.may_have_held(found.broker, found.time, loss.begin)
                if held if left else loss.begin <= until:
                    seen = f"detected at {found.broker} at {found.time / SECOND:.3f} s"
                    return Excuse(f"on its way home past {loss.element}", f"{seen}; {facts.evidence.stated(loss)}")
        return None

    def _home_elements(self, made: MadeDetection) -> frozenset[str]:
        """The brokers and directions of links that a detection passes, the detecting broker and the client's
        included."""
        paths = [(*point.placement.path, point.broker) for point in self.facts.points_of(made)]
        path = paths[-1] if paths else (made.broker,)
        home = tuple(dict.fromkeys(reversed(path)))
        return elements_of(home)

    def _made_anew(self, whole: MadeDetection, outage: LossyOutage) -> bool:
        """True when a set that came shows that the composite subscription stands again after an outage: of a unit, it
        was detected by a join point that began since."""
        points = [point for point in self.facts.points if point.broker == whole.broker and point.joined <= whole.time]
        return not self.facts.points or (bool(points) and points[-1].joined > outage.begin)

    # What the log cannot tell

    def _unknown(self, matches: Sequence[PartMatch]) -> str | None:
        for match in matches:
            if not match.logged:
                for keeper in self._keepers(matches):
                    if self.facts.evidence.may_have_struck(*self._as_notification(match, keeper.broker)):
                        return self.facts.evidence.unlogged
        return None

    def _under_way(self, matches: Sequence[PartMatch], whole: MadeDetection | None) -> bool:
        """True when the drain phase ended while the set may have been on its way."""
        evidence = self.facts.evidence
        if evidence.undrained is None:
            return False
        if whole is not None:
            return whole.time >= evidence.undrained - evidence.settling.crossing
        keepers = list(self._keepers(matches))
        return any(
            evidence.under_way(*self._as_notification(match, keeper.broker)) for match in matches for keeper in keepers
        )

    def _last_seen(self, matches: Sequence[PartMatch], whole: MadeDetection | None) -> str:
        if whole is not None:
            return f"detected at {whole.broker} at {whole.time / SECOND:.3f} s"
        keeper = next(self._keepers(matches), None)
        target = "" if keeper is None else keeper.broker
        seen = []
        for match in matches:
            judged, outcome = self._as_notification(match, target)
            seen.append(f"{match.publication} {self.facts.evidence.last_seen(judged, outcome)}")
        return "; ".join(seen)
