"""Limits on figures: what is met, what is missed and by how much, and what is not judged because a host made it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from analysis.judging.limits import with_limits
from analysis.tables.limits import LimitOutcome, LimitVerdict
from analysis.tables.power import Power
from analysis.tables.summary import KindMessages, SampledLogs, VariantSummary
from record.fidelity import FidelityVerdict
from record.figures import Figure, FigureVerdict
from record.limits import Limit, LimitedFigure, RelativeLimit
from record.manifest import VariantRecord
from tests.analysis.report.empty_summaries import empty_variant
from tests.analysis.report.figures.test_faults import KILL, fault

MET, MISSED, NOT_JUDGED = LimitOutcome


def figure(
    value: float,
    contention: float | None = 0.0,
    verdict: FidelityVerdict | None = FidelityVerdict.VALID,
    of: Figure = Figure.MEAN,
) -> FigureVerdict:
    return FigureVerdict(
        figure=of, value_ms=value, contention_ms=contention, unexplained_ms=0.0, verdict=verdict, counts=True,
        reason="" if verdict is FidelityVerdict.VALID else "mostly this host's",
    )  # fmt: skip


def variant(name: str = "base", *figures: FigureVerdict, **changes: object) -> VariantSummary:
    """A variant whose deliveries are correct, of 40 messages between brokers and three excused notifications."""
    empty = empty_variant(name)
    power = Power(owed=100, excused={"in flight to B6": 3}, not_judged={}, implied=5)
    sent = KindMessages(kind="publish", from_clients=9, received=39, sent=40, sent_bytes=1)
    made = replace(
        empty,
        delivery=replace(empty.delivery, verdicts=["correct"], power=power),
        delay=replace(empty.delay, figures=list(figures)),
        messages=[sent],
    )
    return replace(made, **changes)


def judged(
    variants: list[VariantSummary], *limits: Limit | RelativeLimit, memory: Mapping[str, int] | None = None
) -> list[LimitVerdict]:
    """The verdicts on the limits of the last variant."""
    absolute = [limit for limit in limits if isinstance(limit, Limit)]
    relative = [limit for limit in limits if isinstance(limit, RelativeLimit)]
    records = [VariantRecord(name=each.name) for each in variants]
    records[-1].limits, records[-1].relative_limits = absolute or UNSET, relative or UNSET
    found = with_limits(variants, records, lambda: memory or {})
    assert all(each.limits is UNSET for each in found[:-1])
    return list(found[-1].limits or ())


def at_most(figure: LimitedFigure, most: float) -> Limit:
    return Limit(figure=figure, most=most)


@pytest.mark.parametrize(
    ("most", "outcome", "words"),
    [
        (25.0, MET, "mean delay 25 ms: met; at most 25 ms expected"),
        (20.0, MISSED, "mean delay 25 ms: missed by 5 ms (25%); at most 20 ms expected"),
        (0.0, MISSED, "mean delay 25 ms: missed by 25 ms; at most 0 ms expected"),
    ],
)
def test_a_missed_limit_says_by_how_much(most: float, outcome: LimitOutcome, words: str) -> None:
    (found,) = judged([variant("base", figure(25.0))], at_most(LimitedFigure.MEAN, most))
    assert (found.outcome, found.in_words()) == (outcome, words)
    assert found.name == "mean"


@pytest.mark.parametrize("verdict", [FidelityVerdict.DEGRADED, FidelityVerdict.INVALID, None])
def test_a_figure_that_the_host_made_decides_nothing(verdict: FidelityVerdict | None) -> None:
    (found,) = judged([variant("base", figure(25.0, None, verdict))], at_most(LimitedFigure.MEAN, 20.0))
    assert found.outcome is NOT_JUDGED
    assert found.in_words() == (
        f"mean delay: not judged, at most 20 ms expected: {verdict or 'UNKNOWN'}: mostly this host's"
    )


@pytest.mark.parametrize(("contention", "outcome"), [(4.9, MISSED), (5.0, NOT_JUDGED), (-1.0, MISSED), (-6.0, MISSED)])
def test_a_limit_that_contention_alone_makes_missed_is_not_judged(contention: float, outcome: LimitOutcome) -> None:
    (found,) = judged([variant("base", figure(25.0, contention))], at_most(LimitedFigure.MEAN, 20.0))
    assert found.outcome is outcome
    assert ("it is missed as measured and met without this host's contention" in found.reason) == (
        outcome is NOT_JUDGED
    )


def test_a_limit_that_contention_alone_makes_met_is_not_judged() -> None:
    (found,) = judged([variant("base", figure(19.0, -2.0))], at_most(LimitedFigure.MEAN, 20.0))
    assert found.reason == "it is met as measured and missed without this host's contention"


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [
        (at_most(LimitedFigure.MESSAGES, 40), MET),
        (at_most(LimitedFigure.MESSAGES, 39), MISSED),
        (at_most(LimitedFigure.EXCUSED, 3), MET),
        (at_most(LimitedFigure.EXCUSED, 2), MISSED),
        (at_most(LimitedFigure.MEMORY, 60e6), MISSED),
        (at_most(LimitedFigure.MEMORY, 62e6), MET),
        (at_most(LimitedFigure.RECOVERY, 1.0), MET),
    ],
)
def test_counts_memory_and_a_calm_run(limit: Limit, outcome: LimitOutcome) -> None:
    (found,) = judged([variant("base", figure(1.0))], limit, memory={"base": 61_000_000})
    assert found.outcome is outcome


def test_memory_that_nobody_read_is_not_judged() -> None:
    (found,) = judged([variant()], at_most(LimitedFigure.MEMORY, 60e6))
    assert found.in_words() == (
        "memory of the largest broker: not judged, at most 60 MB expected: no broker's memory was read"
    )


@pytest.mark.parametrize(
    ("recovered", "healed", "outcome"),
    [(2.0, 1, MET), (2.1, 1, MISSED), (None, 1, NOT_JUDGED), (None, None, NOT_JUDGED)],
)
def test_the_longest_recovery(recovered: float | None, healed: int | None, outcome: LimitOutcome) -> None:
    faults = [replace(KILL, recovered_s=0.5), fault(recovered_s=recovered, healed_ns=healed)]
    faults = faults if healed else faults[1:]
    (found,) = judged([variant("base", figure(1.0), faults=faults)], at_most(LimitedFigure.RECOVERY, 2.0))
    assert found.outcome is outcome


def test_without_faults_the_limit_on_recovery_is_met_and_says_why() -> None:
    (found,) = judged([variant("base", figure(1.0), faults=[])], at_most(LimitedFigure.RECOVERY, 2.0))
    reason = "met, because there was no fault to recover from"
    assert found.in_words() == f"longest recovery: {reason}; at most 2 s expected"


def test_a_recovery_on_a_host_that_made_the_delays_is_not_judged() -> None:
    slow = variant("base", figure(1.0, 0.9, FidelityVerdict.INVALID), faults=[KILL])
    (found,) = judged([slow], at_most(LimitedFigure.RECOVERY, 2.0))
    assert found.outcome is NOT_JUDGED


def test_estimated_messages_are_not_judged() -> None:
    sampled = variant("base", sampled_logs=SampledLogs(share=0.1, published=100, logged=10))
    (found,) = judged([sampled], at_most(LimitedFigure.MESSAGES, 40))
    assert found.outcome is NOT_JUDGED


@pytest.mark.parametrize(
    "changes",
    [
        {"interrupted": True},
        {"fidelity": "INVALID"},
        {"fidelity": "UNKNOWN"},
        {"delivery": replace(variant().delivery, verdicts=["unjudged"])},
        {"delivery": replace(variant().delivery, verdicts=["broker defect"])},
    ],
)
def test_a_run_that_was_not_judged_meets_and_misses_nothing(changes: dict[str, object]) -> None:
    limits = [at_most(figure, 0.0) for figure in LimitedFigure]
    found = judged([variant("base", figure(1.0), **changes)], *limits, memory={"base": 1})
    assert {limit.outcome for limit in found} == {NOT_JUDGED}
    assert len(found) == len(LimitedFigure)


@pytest.mark.parametrize(
    ("mean", "most", "words"),
    [
        (80.0, 0.8, "mean delay 20% less than fixed's: met; at least 20% less than fixed's expected"),
        (
            90.0,
            0.8,
            "mean delay 10% less than fixed's: missed by 10 percentage points; at least 20% less than fixed's expected",
        ),
        (105.0, 1.1, "mean delay 5% more than fixed's: met; at most 10% more than fixed's expected"),
        (100.0, 1.0, "mean delay as fixed's: met; at most fixed's expected"),
    ],
)
def test_a_limit_relative_to_another_variant(mean: float, most: float, words: str) -> None:
    limit = RelativeLimit(figure=LimitedFigure.MEAN, than="fixed", most=most)
    (found,) = judged([variant("fixed", figure(100.0)), variant("dynamic", figure(mean))], limit)
    assert (found.in_words(), found.name) == (words, "mean, against fixed")


@pytest.mark.parametrize(
    "other",
    [
        variant("another"),
        variant("fixed"),
        variant("fixed", figure(100.0, 60.0, FidelityVerdict.INVALID)),
        variant("fixed", figure(100.0, -9.0)),
        variant("fixed", figure(0.0)),
        variant("fixed", figure(100.0), interrupted=True),
    ],
)
def test_a_limit_relative_to_what_is_unknown_or_the_hosts_is_not_judged(other: VariantSummary) -> None:
    """Fourth case: contention alone makes that the limit of 95% is missed: 95.5 of 100, and of 109 without it."""
    limit = RelativeLimit(figure=LimitedFigure.MEAN, than="fixed", most=0.95)
    (found,) = judged([other, variant("dynamic", figure(95.5))], limit)
    assert found.outcome is NOT_JUDGED
    assert found.reason


def test_a_variant_without_limits_stays_as_it_is() -> None:
    assert judged([variant()]) == []
