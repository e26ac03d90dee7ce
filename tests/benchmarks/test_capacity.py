"""The capacity of a host is searched by `brokerlab search`, and its table says what breaks beyond."""

from __future__ import annotations

from benchmarks.capacity import SCENARIO, SEARCH, row_of
from scenario.loading import load_text
from studies.saturation.bisection import LoadOutcome
from studies.saturation.capacity import Capacity, LoadPoint, SeedPoint


def point(load: float, outcome: LoadOutcome, *reasons: str) -> LoadPoint:
    held = outcome is LoadOutcome.HOLDS
    seed = SeedPoint(
        seed=1, outcome=outcome, reasons=list(reasons), mean_ms=7.25, p95_ms=None, queue=0, messages=3
    )  # fmt: skip
    return LoadPoint(load=load, outcome=outcome, held=int(held), seeds=[seed])


def test_the_scenario_says_what_is_raised() -> None:
    scenario = load_text(SCENARIO.format(brokers=6, publishers=4, rate=2) + SEARCH, "capacity")
    assert scenario.search is not None
    assert scenario.search.loads.unit == "/s"
    assert scenario.search.seeds == 1


def test_a_row_has_the_highest_rate_and_why_the_next_one_is_not_carried() -> None:
    points = [point(100, LoadOutcome.HOLDS), point(110, LoadOutcome.NOT_JUDGED, "mean delay: contention")]
    carried = Capacity(variant="base", highest=100, least_failing=110, holding_beyond=[], points=points)
    assert row_of(30, carried) == ("30", "100.0", "2,000", "7.2", "110.0", "mean delay: contention")
    nothing = Capacity(variant="base", highest=None, least_failing=2, holding_beyond=[], points=[])
    assert row_of(30, nothing) == ("30", "0.0", "0", "", "", "")
