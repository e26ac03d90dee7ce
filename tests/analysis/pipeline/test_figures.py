"""Each figure of a variant's delays has a verdict, with the reason and the remedy."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec import UNSET, UnsetType

from analysis.pipeline.figures import JudgedDelays
from analysis.tables.budget import Budget, DelayParts
from analysis.tables.summary import Delay
from record.fidelity import FidelityVerdict, ProcessorUse
from record.figures import Figure, FigureVerdict
from record.manifest import VariantRecord
from tests.analysis.delays import delay, parts, replayed

VALID, DEGRADED, INVALID = FidelityVerdict
IDLE = ProcessorUse(busy=0.3, own=0.25)
SATURATED = ProcessorUse(busy=0.98, own=0.97)


def judged(
    found: Delay,
    *,
    variant: VariantRecord | None = None,
    by_delay: Sequence[Budget] = (),
    simulated: bool = False,
    processors: ProcessorUse | None = IDLE,
    host: str | UnsetType = UNSET,
) -> dict[Figure, FigureVerdict]:
    delays = JudgedDelays(
        variant=variant or VariantRecord(name="base"), delay=found, by_delay=by_delay, simulated=simulated,
        processors=processors, host=host,
    )  # fmt: skip
    return {figure.figure: figure for figure in delays.figures()}


def verdicts(figures: dict[Figure, FigureVerdict]) -> list[FidelityVerdict | None]:
    return [figures[figure].verdict for figure in Figure]


def test_figures_that_are_the_overlays_are_valid() -> None:
    found = judged(delay(parts(), replayed(mean=19.5, p95=35.0, p99=70.0)))
    assert verdicts(found) == [VALID] * 4
    assert [found[figure].contention_ms for figure in Figure] == [pytest.approx(0.5), 0.0, 5.0, 10.0]
    assert {figure.reason + figure.remedy for figure in found.values()} == {""}


def test_contention_is_named_whatever_part_of_the_budget_it_is_booked_as() -> None:
    """A budget that books it as links has the same replay, so the figure less the replay still shows it."""
    found = judged(delay(parts(contention=0.0, unexplained=0.0), replayed(mean=15.0, p99=19.0)), processors=SATURATED)
    assert verdicts(found) == [DEGRADED, VALID, VALID, INVALID]
    assert found[Figure.P99].contention_ms == pytest.approx(61.0)
    assert found[Figure.P99].reason == "61.0 of 80.0 ms are this host's"
    assert found[Figure.MEAN].reason == "5.0 of 20.0 ms are this host's, most of it at B4"
    assert found[Figure.P99].remedy == found[Figure.MEAN].remedy == "`--set time_dilation=2`"


def test_contention_is_a_share_of_a_mean_over_more_notifications_than_were_replayed() -> None:
    """Notifications whose ways are in the log took 21 ms in the mean, next to all of it contention, and all 20 ms."""
    found = judged(delay(parts(delay=21.0), replayed(mean=0.21, notifications=960), known=960))[Figure.MEAN]
    assert found.verdict is INVALID
    assert found.reason == "19.8 of 20.0 ms are this host's, most of it at B4"


def test_nothing_explained_is_named_with_its_node() -> None:
    near = Budget(variant="base", lower_ms=70.0, upper_ms=90.0, notifications=9, parts=parts(unexplained=-50.0))
    far = Budget(variant="base", lower_ms=1.0, upper_ms=70.0, notifications=9, parts=parts(unexplained=0.1))
    found = judged(delay(parts(unexplained=-3.0), replayed()), by_delay=[far, near])
    assert verdicts(found) == [DEGRADED, VALID, VALID, INVALID]
    assert found[Figure.MEAN].reason == "nothing explains 3.0 of 20.0 ms, most of it at B2"
    assert found[Figure.P99].reason == "nothing explains 50.0 of 80.0 ms, most of it at B2"
    assert found[Figure.MEAN].remedy == ""


@pytest.mark.parametrize(
    ("made_of", "remedy"),
    [
        (parts(contention=0.1, unexplained=12.0), "see what stops or slows the processes of the run: "),
        (parts(contention=0.1, unexplained=4.0, waiting=8.0), "`--set time_dilation="),
        (parts(contention=None, unexplained=12.0), "`--set time_dilation="),
    ],
)
def test_a_time_dilation_is_no_remedy_for_processes_that_wait_for_no_processor(
    made_of: DelayParts, remedy: str
) -> None:
    assert judged(delay(made_of, replayed(mean=8.0)))[Figure.MEAN].remedy.startswith(remedy)


def test_a_replay_that_takes_longer_does_not_describe_the_run() -> None:
    found = judged(delay(parts(), replayed(p50=20.0)))[Figure.P50]
    assert (found.verdict, found.remedy) == (DEGRADED, "")
    assert found.reason == "it would take 4.0 ms longer without contention, so the replay does not describe this run"


def test_a_simulated_run_is_valid_by_construction() -> None:
    found = judged(delay(parts(contention=0.0, unexplained=15.0), replayed()), simulated=True, processors=None)
    assert verdicts(found) == [VALID] * 4
    assert {figure.contention_ms for figure in found.values()} == {0.0}
    assert verdicts(judged(delay(None), simulated=True)) == [VALID] * 4


@pytest.mark.parametrize(
    ("found", "mean", "reason"),
    [
        (delay(None), None, "because the log does not hold the ways of enough notifications"),
        (delay(parts(contention=None, unexplained=1.9)), VALID, ""),
        (delay(parts(contention=None, unexplained=1.5, waiting=1.0)), None, "nobody counted how long processes waited"),
        (delay(parts(contention=1.0, waiting=0.9)), VALID, ""),
        (delay(parts(contention=3.0)), DEGRADED, "at least 3.0 of 20.0 ms are this host's, and no more is known"),
        (delay(parts(contention=12.0, waiting=5.0)), INVALID, "at least 12.0 of 20.0 ms"),
        (delay(parts(), replayed(), known=899), None, "because the log does not hold the ways"),
    ],
)
def test_without_a_replay_the_mean_is_judged_by_its_bounds(
    found: Delay, mean: FidelityVerdict | None, reason: str
) -> None:
    figures = judged(found)
    assert figures[Figure.MEAN].verdict is mean
    assert reason in figures[Figure.MEAN].reason
    assert verdicts(figures)[1:] == [None] * 3
    assert figures[Figure.MEAN].check.verdict is (DEGRADED if mean is None else mean)


def test_hosts_on_which_nobody_counted_are_named() -> None:
    delays = JudgedDelays(
        variant=VariantRecord(name="base"), delay=delay(parts(contention=None)), by_delay=(), simulated=False,
        processors=IDLE, unsampled=["h2", "h3"],
    )  # fmt: skip
    assert delays.figures()[-1].reason.endswith("nobody counted how long processes waited for a processor on h2, h3")


@pytest.mark.parametrize(("known", "unknown"), [(1000, 0), (999, 0), (998, 1), (994, 2), (949, 3)])
def test_a_percentile_needs_the_ways_of_nearly_all_that_took_longer(known: int, unknown: int) -> None:
    found = judged(delay(parts(), replayed(notifications=known), known=known))
    assert verdicts(found) == [VALID] * (4 - unknown) + [None] * unknown


def test_the_run_rests_on_the_mean_and_on_what_is_expected() -> None:
    found = judged(delay(parts(), replayed()), variant=VariantRecord(name="base", expected_valid=[Figure.P99]))
    assert [figure for figure in Figure if found[figure].counts] == [Figure.MEAN, Figure.P99]


def test_routers_that_decide_by_load_are_named() -> None:
    found = judged(delay(parts(), replayed(mean=15.0)), variant=VariantRecord(name="base", follows_load=True))
    assert "routing decides by load, so without this it might have decided otherwise" in found[Figure.MEAN].reason


@pytest.mark.parametrize(
    ("processors", "remedy"),
    [
        (SATURATED, "`--set time_dilation=4`"),  # 97% at 2 are 60% at 3.2, rounded up
        (ProcessorUse(busy=1.0, own=0.05), "end the other programs on this host, which took 95% of its processors"),
        (IDLE, "`--set time_dilation=6`"),  # 5 ms of 20 shrink to a tenth of what is left at 3 times the dilation
        (None, "`--set time_dilation=6`"),
    ],
)
def test_the_remedy_follows_from_the_use_of_the_processors(processors: ProcessorUse | None, remedy: str) -> None:
    slowed = VariantRecord(name="base", time_dilation=2.0)
    found = judged(delay(parts(), replayed(mean=15.0)), variant=slowed, processors=processors)
    assert found[Figure.MEAN].remedy == remedy
    assert found[Figure.MEAN].check.detail.endswith(f": {remedy}")


def test_on_several_hosts_contention_is_theirs_and_the_one_with_most_of_it_is_named() -> None:
    others = ProcessorUse(busy=1.0, own=0.05)
    found = judged(delay(parts(), replayed(mean=15.0)), processors=others, host="h2")[Figure.MEAN]
    assert found.reason == "5.0 of 20.0 ms are the hosts', mostly h2's, most of it at B4"
    assert found.remedy == "end the other programs on the hosts, which took 95% of their processors"
    unknown = judged(delay(None), host="")[Figure.MEAN]
    assert unknown.reason.startswith("it is not known what the hosts did to it, because ")


def test_no_notifications_no_figures() -> None:
    nothing = Delay(
        notifications=0, mean_ms=None, p50_ms=None, p95_ms=None, p99_ms=None, max_ms=None, queueing_share=None,
        ways_known=0,
    )  # fmt: skip
    assert judged(nothing) == {}
