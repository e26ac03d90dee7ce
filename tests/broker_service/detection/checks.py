"""Properties of a detector, each as a function of a drawn situation that raises `AssertionError` where it is broken."""

from __future__ import annotations

from dataclasses import dataclass, field

from broker_service.detection import DetectionLimits, Detector, LossReason
from broker_service.language.composite import Composite
from tests.broker_service.detection.naive import NaiveDetector, Published, detections
from tests.broker_service.detection.trial import Trial

LATENESS = 5


@dataclass
class Situation:
    """A pattern in two arrangements, and publications in two orders."""

    pattern: Composite
    rearranged: Composite
    within: int
    publications: list[Published]
    arrivals: list[Published]
    """Publications in another order."""
    delays: list[int]
    """Time that passes before each arrival."""
    bound: int
    """Number of partial matches that may be kept, where the property is about a bound."""
    expected: set[frozenset[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.expected = detections(self.pattern, self.publications, self.within)


def every_combination_once(situation: Situation, detector: type[Detector]) -> None:
    """Detections do not depend on the order of arrival, nor on the arrangement of the pattern."""
    for pattern in (situation.pattern, situation.rearranged):
        for arrivals in (situation.publications, situation.arrivals):
            trial = Trial(detector=detector)
            trial.add("c", pattern, situation.within)
            completed = trial.arrive_all(arrivals)
            assert len(completed) == len(set(completed))
            assert {members for _, members in completed} == situation.expected
            for _, publications in trial.detected:
                assert list(publications) == sorted(publications, key=lambda arrival: arrival.key)


def repeats_complete_nothing(situation: Situation, detector: type[Detector]) -> None:
    """A publication that arrives for one part after another, and again for all, completes each set once."""
    trial = Trial(detector=detector)
    trial.add("c", situation.pattern, situation.within)
    single = [
        (published, part) for published in situation.arrivals for part in reversed(trial.parts(published).get("c", []))
    ]
    completed = [found for published, part in single for found in trial.arrive(published, {"c": [part]})]
    completed += trial.arrive_all(situation.arrivals)
    assert len(completed) == len(set(completed))
    assert {members for _, members in completed} == situation.expected


def arrivals_may_be_late(situation: Situation, detector: type[Detector]) -> None:
    """Windows are of stamps; arrivals may be further apart, up to the window and `lateness`."""
    trial = Trial(DetectionLimits(lateness=LATENESS), detector)
    naive = NaiveDetector(trial.clock, LATENESS)
    trial.add("c", situation.pattern, situation.within)
    naive.add("c", situation.pattern, situation.within)
    for published, delay in zip(situation.arrivals, situation.delays, strict=True):
        trial.clock.now += delay
        completed = trial.arrive(published)
        assert len(completed) == len(set(completed))
        assert set(completed) == naive.arrive(published)


def another_life_begins_anew(situation: Situation, detector: type[Detector]) -> None:
    """A pattern under an identifier that was in use has nothing of what came before."""
    trial = Trial(detector=detector)
    half = len(situation.arrivals) // 2
    trial.add("c", situation.rearranged, situation.within)
    trial.arrive_all(situation.arrivals[:half])
    trial.add("c", situation.pattern, situation.within)
    completed = trial.arrive_all(situation.arrivals[half:])
    assert {members for _, members in completed} == detections(
        situation.pattern, situation.arrivals[half:], situation.within
    )
    trial.remove("c")
    _nothing_remains(trial)


def losses_are_what_is_reported(situation: Situation, detector: type[Detector]) -> None:
    """Bounds hold after each arrival, and every set that is lost has a member that was reported before it was complete.

    Publications without such a report are detected as if there were no bound.
    """
    trial = Trial(DetectionLimits(partial_matches=situation.bound), detector)
    trial.add("c", situation.pattern, situation.within)
    lost: set[frozenset[str]] = set()
    arrived: list[Published] = []
    for published in situation.arrivals:
        dropped = {loss.publication for loss in trial.losses}
        before = detections(situation.pattern, arrived, situation.within)
        arrived.append(published)
        complete = detections(situation.pattern, arrived, situation.within) - before
        completed = {members for _, members in trial.arrive(published)}
        assert completed <= complete
        lost |= complete - completed
        assert all(members & dropped for members in complete - completed)
        assert trial.detector.matches <= situation.bound
    assert all(loss.reason is LossReason.MATCHES and loss.lost > 0 for loss in trial.losses)


def others_do_not_matter(situation: Situation, detector: type[Detector]) -> None:
    """Each of several composite subscriptions has its own detections; contents are kept once."""
    trial = Trial(detector=detector)
    trial.add("c", situation.pattern, situation.within)
    trial.add("d", situation.rearranged, situation.within)
    completed = trial.arrive_all(situation.arrivals)
    assert len(completed) == len(set(completed))
    assert set(completed) == {(id, members) for id in "cd" for members in situation.expected}
    once = trial.detector.content_bytes
    trial.remove("d")
    assert trial.detector.content_bytes == once
    trial.remove("c")
    _nothing_remains(trial)


def time_leaves_nothing(situation: Situation, detector: type[Detector]) -> None:
    """After the window and `lateness` nothing is kept."""
    trial = Trial(DetectionLimits(lateness=LATENESS), detector)
    trial.add("c", situation.pattern, situation.within)
    trial.arrive_all(situation.arrivals)
    kept = trial.detector.matches
    trial.clock.now += situation.within + LATENESS
    trial.detector.expire()
    assert trial.detector.matches == kept
    trial.clock.now += 1
    trial.detector.expire()
    _nothing_remains(trial)


def _nothing_remains(trial: Trial) -> None:
    assert (trial.detector.matches, trial.detector.content_bytes) == (0, 0)
