"""The oracle's pass over events, against the naive definition of a detection, which shares no code with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from analysis.judging.detections.events import CompositeEvent, PlacedDetection, PlacedLoss
from analysis.judging.detections.evidence import SetFacts
from analysis.judging.detections.oracle import ComposedLifetime, DetectionSweep
from analysis.judging.detections.spurious import cause_of, matches_of
from analysis.judging.evidence.backlog import Backlogs
from analysis.judging.evidence.departures import Departures
from analysis.judging.evidence.excuses import Evidence
from analysis.judging.evidence.ways import Ways
from analysis.judging.histories.settling import Settling
from analysis.judging.rights.composite_rights import PartMatch
from analysis.reading.detections import DetectionLoss, NotifiedDetection
from analysis.reading.intervals import Intervals
from analysis.tables.deliveries import Cause, Right
from analysis.tables.detections import DetectionDefect
from broker_service.language.composite import And, Atomic, Composite, Or
from broker_service.language.composite_subscription import parts_of, relaxed
from broker_service.language.notation import parse_composite
from record.promises import Promises
from record.time_units import SECOND
from tests.analysis.history import OVERLAY
from tests.analysis.judging.detections.test_combinations import matching
from tests.analysis.judging.language.translation import pattern_of
from tests.broker_service.detection import naive
from tests.broker_service.detection.naive import Published
from tests.broker_service.detection.strategies import patterns, publications, windows

PAIR = parse_composite("{[class,eq,'A']}&{[class,eq,'B']}")

rights = st.sampled_from([Right.MUST, Right.MUST, Right.MUST, Right.MAY, Right.NONE])


def match_of(pattern: Composite, made: Published, right: Right) -> PartMatch | None:
    leaves, values = matching(pattern, made)
    cause = Cause.WITHDRAWN if right is Right.NONE else None
    return PartMatch(made.stamp, made.id, None, 7, right, cause, made.stamp, "B1", leaves, values) if leaves else None


def lifetime_of(pattern: Composite, within: int) -> ComposedLifetime:
    matches = [1] * len(parts_of(pattern))
    return ComposedLifetime(pattern=pattern_of(pattern), within=within, matches=matches, facts=[calm()])


def calm() -> SetFacts:
    """The facts of a run without faults."""
    evidence = Evidence((), Ways(OVERLAY), Backlogs(), Departures(), Settling(), Promises())
    return SetFacts(evidence=evidence, broker="B1")


def placed(ids: Sequence[str], stamps: dict[str, int], time: int) -> PlacedDetection:
    return PlacedDetection(stamps[ids[-1]], ids[-1], NotifiedDetection(0, "S", "c1", tuple(ids), "B1", time))


def in_order(events: Sequence[CompositeEvent]) -> list[CompositeEvent]:
    ranks = {PartMatch: 0, PlacedLoss: 1, PlacedDetection: 2}
    return sorted(events, key=lambda event: (event.stamp, event.publication, ranks[type(event)]))


@given(patterns, publications(), windows, st.data())
def test_sets_are_judged_by_the_definition(
    pattern: Composite, published: list[Published], within: int, data: st.DataObject
) -> None:
    """Every set of the definition is owed as its publications are; whatever else was notified is spurious."""
    right_of = {made.id: data.draw(rights) for made in published}
    stamps = {made.id: made.stamp for made in published}
    ids = st.lists(st.sampled_from(sorted(stamps)), min_size=1, max_size=3, unique=True)
    notified = [placed(listed, stamps, time) for time, listed in enumerate(data.draw(st.lists(ids, max_size=6)))]
    wanted = naive.detections(pattern, [made for made in published if right_of[made.id] is not Right.NONE], within)
    for members in data.draw(st.permutations(sorted(map(sorted, wanted)))):
        if data.draw(st.booleans()):
            notified.append(placed(data.draw(st.permutations(members)), stamps, 100))
    matches = [found for made in published if (found := match_of(pattern, made, right_of[made.id])) is not None]
    times = Counter(frozenset(made.detection.publications) for made in notified)

    sweep = DetectionSweep({7: lifetime_of(pattern, within)})
    judged = {frozenset(found.publications): found for found in sweep.judged(in_order([*matches, *notified]))}

    assert set(judged) == wanted
    for members, found in judged.items():
        must = all(right_of[id] is Right.MUST for id in members)
        assert found.right is (Right.MUST if must else Right.MAY)
        assert len(found.notified) == times[members]
        defects = {0: DetectionDefect.LOST if must else None, 1: None}
        assert found.defect is defects.get(times[members], DetectionDefect.DUPLICATED)
    strays = Counter(frozenset(made.detection.publications) for made in sweep.strays)
    assert strays == Counter({members: count for members, count in times.items() if members not in wanted})
    found_matches = matches_of(sweep.strays, matches)
    for stray in sweep.strays:
        cause = cause_of(stray, found_matches, {7: lifetime_of(pattern, within)})
        assert cause is _naive_cause(pattern, published, within, right_of, stray.detection.publications)


def _naive_cause(
    pattern: Composite, published: Sequence[Published], within: int, right_of: dict[str, Right], ids: Sequence[str]
) -> Cause:
    made = [found for found in published if found.id in ids]
    if any(match_of(pattern, found, Right.MUST) is None for found in made):
        return Cause.NO_PART
    if any(right_of[found.id] is Right.NONE for found in made):
        return Cause.WITHDRAWN
    if max(found.stamp for found in made) - min(found.stamp for found in made) > within:
        return Cause.OUTSIDE_WINDOW
    free = without_variables(pattern)
    return Cause.VARIABLES_DIFFER if frozenset(ids) in naive.detections(free, made, within) else Cause.NO_COMBINATION


def without_variables(pattern: Composite) -> Composite:
    match pattern:
        case Atomic():
            return Atomic(relaxed(pattern).predicates)
        case And(operands) | Or(operands):
            return type(pattern)(tuple(map(without_variables, operands)))


def test_an_error_of_stamps_makes_what_is_close_to_the_end_of_the_window_optional() -> None:
    """A set is owed if it lies in the window for certain, and allowed if it may."""
    verdicts = {}
    for spread in (7, 8, 12, 13):
        made = [Published("p1", 100, {"class": "A"}), Published("p2", 100 + spread, {"class": "B"})]
        matches = [found for one in made if (found := match_of(PAIR, one, Right.MUST)) is not None]
        lifetime = ComposedLifetime(pattern=pattern_of(PAIR), within=10, matches=[1, 1], facts=[calm()], error=2)
        verdicts[spread] = [found.right for found in DetectionSweep({7: lifetime}).judged(in_order(matches))]
    assert verdicts == {7: [Right.MUST], 8: [Right.MUST], 12: [Right.MAY], 13: []}


def test_a_drop_is_shown_with_each_set_of_its_publication() -> None:
    made = [Published("p1", 1, {"class": "A"}), Published("p2", 2, {"class": "B"}), Published("p3", 3, {"class": "A"})]
    matches = [found for one in made if (found := match_of(PAIR, one, Right.MUST)) is not None]
    loss = PlacedLoss(1, "p1", DetectionLoss(0, "S", "c1", "p1", "B1", "partial matches full"))
    judged = DetectionSweep({7: lifetime_of(PAIR, 10)}).judged(in_order([*matches, loss]))
    assert {tuple(found.publications): found.drops for found in judged} == {
        ("p1", "p2"): ["B1: partial matches full"],
        ("p2", "p3"): [],
    }


def test_memory_holds_the_events_of_two_windows() -> None:
    sweep = DetectionSweep({7: lifetime_of(PAIR, 10)})
    made = (Published(f"p{stamp}", stamp, {"class": "AB"[stamp // 5 % 2]}) for stamp in range(0, 5_000, 5))
    matches = filter(None, (match_of(PAIR, published, Right.MUST) for published in made))
    held = [sweep.held for _ in sweep.judged(matches)]
    assert len(held) == 999
    assert max(held) < 20


def test_an_undisturbed_flight_ends_earlier() -> None:
    """A flight may last from 0 to 4 s, less the part of the allowance that nothing needs without a fault."""
    facts = replace(calm(), evidence=replace(calm().evidence, settling=Settling(spread=SECOND)))
    earlier = 4 * SECOND - facts.evidence.settling.calm
    assert facts.over(0, 4 * SECOND) == earlier
    assert replace(facts, disturbed=Intervals.of([(earlier + 1, 9 * SECOND)])).over(0, 4 * SECOND) == earlier
    assert replace(facts, disturbed=Intervals.of([(earlier, 9 * SECOND)])).over(0, 4 * SECOND) == 4 * SECOND
    assert replace(facts, disturbed=Intervals.of([(-SECOND, 0)])).over(0, 4 * SECOND) == 4 * SECOND
