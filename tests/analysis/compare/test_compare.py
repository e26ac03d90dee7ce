"""Comparisons of two made-up runs."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.compare import RunComparison, compare_runs, parse_limits, violations
from analysis.compare.counts import compare_messages
from analysis.compare.delays import _Sample, compare_delays, order, quantile_distance, verdict
from analysis.compare.model import DelayOrder, relative
from analysis.compare.runs import Delays
from analysis.run_files.blocks import BLOCK_SECONDS
from analysis.tables.estimates import SampleEstimate
from record.errors import RunDirectoryError
from tests.analysis.compare.made_up import make_run, messages, variant


def delays(values: list[float], *, blocks: int = 10, prefix: str = "P1") -> Delays:
    """Spread evenly over the blocks, one publication each."""
    pairs = [(f"{prefix}:{number}", "S1") for number in range(len(values))]
    return Delays(pairs, np.array(values), np.arange(len(values)) * blocks // max(1, len(values)))


def noise(mean: float, count: int = 1000, seed: int = 1) -> list[float]:
    source = random.Random(seed)
    return [source.gauss(mean, mean / 10) for _ in range(count)]


# Delays


def test_equal_samples_differ_by_nothing() -> None:
    found = compare_delays(delays(noise(10)), delays(noise(10)), 1)
    assert found is not None
    for statistic in found.statistics:
        assert statistic.first == statistic.second
        assert statistic.difference == SampleEstimate(0.0, (0.0, 0.0))
    assert (found.quantiles.mean, found.quantiles.greatest) == (0, 0)


def test_a_difference_of_a_tenth_is_found_in_every_statistic() -> None:
    values = noise(10)
    found = compare_delays(delays(values), delays([1.1 * value for value in values]), 1)
    assert found is not None
    for statistic in found.statistics:
        assert statistic.difference.value == pytest.approx(0.1)
        assert statistic.difference.interval == pytest.approx((0.1, 0.1))
    assert found.of("mean").first.value == pytest.approx(np.mean(values))
    assert found.of("p99").first.value == pytest.approx(np.quantile(values, 0.99))


def test_the_same_workload_narrows_the_interval_of_the_difference() -> None:
    """Blocks differ widely from each other, in the same way in both runs."""
    values = [10.0 + 20 * (number // 100) for number in range(1000)]
    same = compare_delays(delays(values), delays([value + 1 for value in values]), 1)
    other = compare_delays(delays(values), delays([value + 1 for value in values], prefix="P2"), 1)
    assert same is not None
    assert other is not None
    widths = []
    for found in (same, other):
        interval = found.of("mean").difference.interval
        assert interval is not None
        assert interval[0] <= found.of("mean").difference.value <= interval[1]
        widths.append(interval[1] - interval[0])
    assert widths[0] < widths[1] / 5


def test_intervals_hold_the_true_mean_about_as_often_as_they_say() -> None:
    """Twelve samples with a known mean: 95% intervals may miss it in few of them, and must miss the wrong mean."""
    held = wrong = 0
    for seed in range(12):
        found = compare_delays(delays(noise(10, 300, seed)), delays(noise(10, 300, seed + 100), prefix="P2"), seed)
        assert found is not None
        interval = found.of("mean").first.interval
        assert interval is not None
        held += interval[0] <= 10 <= interval[1]
        wrong += interval[0] <= 11 <= interval[1]
    assert held >= 9
    assert wrong == 0


def test_few_blocks_give_no_interval() -> None:
    found = compare_delays(delays(noise(10), blocks=4), delays(noise(10), blocks=4), 1)
    assert found is not None
    assert found.of("mean").difference == SampleEstimate(0.0, None)


def test_a_run_that_delivered_nothing_cannot_be_compared() -> None:
    assert compare_delays(delays([]), delays([1.0]), 1) is None


@given(st.lists(st.tuples(st.floats(0.1, 1000), st.integers(0, 5)), min_size=1, max_size=60), st.randoms())
def test_weighted_statistics_are_those_of_a_resample_written_out(
    rows: list[tuple[float, int]], source: random.Random
) -> None:
    """Naive oracle: copy each block's values as often as it was drawn."""
    sample = Delays(
        [("p", str(n)) for n in range(len(rows))],
        np.array([value for value, _ in rows]),
        np.array([block for _, block in rows]),
    )
    names = np.unique(sample.blocks)
    times = np.array([source.randint(0, 3) for _ in names])
    written_out = sorted(value for value, block in rows for _ in range(times[int(np.searchsorted(names, block))]))
    taken = _Sample(sample).resampler(names)(times)
    if not written_out:
        assert all(np.isnan(taken))
        return
    expected = [np.quantile(written_out, share, method="inverted_cdf") for share in (0.5, 0.95, 0.99)]
    assert taken[0] == pytest.approx(np.mean(written_out))
    assert taken[1:] == pytest.approx(expected)


def test_the_distance_of_quantiles() -> None:
    first = np.linspace(0, 100, 10_001)
    moved = quantile_distance(first, first + 3)
    assert moved.mean == pytest.approx(3)
    tail = quantile_distance(first, np.where(first > 97.5, first + 50, first))
    assert tail.greatest == pytest.approx(50)
    assert tail.at == pytest.approx(0.98, abs=0.011)


# Order


def test_a_clear_winner() -> None:
    values = noise(10)
    found = order({"fixed": delays([1.2 * value for value in values]), "dynamic": delays(values)}, 1)
    assert found.by_delay == ["dynamic", "fixed"]
    assert found.winner == "dynamic"
    assert found.lead.value == pytest.approx(0.2)


def test_no_winner_where_noise_explains_the_lead() -> None:
    found = order({"fixed": delays(noise(10, seed=2)), "dynamic": delays(noise(10, seed=3))}, 1)
    assert found.winner is None


def test_the_lead_over_several_others_has_a_wider_interval() -> None:
    """The fastest is chosen from them, as in the comparison of a run's variants (Bonferroni)."""
    two = {"fast": delays(noise(10)), "slow": delays(noise(12, seed=2))}
    alone, chosen = (order(found, 1).lead for found in (two, two | {"slowest": delays(noise(20))}))
    assert alone.interval is not None and chosen.interval is not None
    assert alone.value == chosen.value
    assert chosen.interval[0] < alone.interval[0] < alone.interval[1] < chosen.interval[1]


def test_only_pairs_that_both_delivered_count() -> None:
    fast, slow = delays([10.0] * 100), delays([10.0] * 100 + [1000.0] * 100)
    assert order({"a": fast, "b": slow}, 1).lead.value == pytest.approx(0)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a", "a", "same winner"),
        ("a", "b", "different winners"),
        (None, None, "no difference shown"),
        ("a", None, "shown in one run only"),
        (None, "b", "shown in one run only"),
    ],
)
def test_verdicts_on_the_order(first: str | None, second: str | None, expected: str) -> None:
    orders = [DelayOrder(by_delay=["a", "b"], lead=SampleEstimate(0.1), winner=winner) for winner in (first, second)]
    assert verdict(*orders) == expected


# Counts


def test_messages_by_kind_and_broker() -> None:
    first = [
        messages("B1", received=100, from_clients=20),
        messages("B2", received=50),
        messages("B2", "subscribe", received=8),
    ]
    second = [messages("B1", received=90, from_clients=20), messages("B2", received=66), messages("B3", received=6)]
    found = compare_messages(first, second)
    assert (found.total.first, found.total.second) == (178, 182)
    assert found.total.difference == pytest.approx(4 / 178)
    assert {kind.name: (kind.first, kind.second) for kind in found.kinds} == {
        "publish": (170, 182),
        "subscribe": (8, 0),
    }
    assert [(broker.name, broker.first, broker.second) for broker in found.worst_brokers] == [
        ("B1", 120, 110), ("B2", 58, 66), ("B3", 0, 6),
    ]  # fmt: skip
    assert found.worst_brokers[-1].difference is None
    assert found.misplaced == pytest.approx((10 + 16 + 8 + 6) / (178 + 182))


def test_relative_differences() -> None:
    assert relative(10, 11) == pytest.approx(0.1)
    assert relative(0, 0) == 0
    assert relative(0, 5) is None


# Whole runs


@pytest.fixture
def comparison(tmp_path: Path) -> RunComparison:
    values = noise(10, 200)
    first = make_run(
        tmp_path / "one",
        [
            variant("fixed", rows=[messages("B1", received=100)], operations=50, published=200, delivered=200),
            variant("dynamic", rows=[messages("B1", received=100)], operations=50),
            variant("third"),
        ],
        {"fixed": values, "dynamic": [0.8 * value for value in values], "third": values},
        "container",
    )
    second = make_run(
        tmp_path / "two",
        [
            variant("dynamic", rows=[messages("B1", received=103)], operations=50),
            variant("fixed", rows=[messages("B1", received=101)], operations=40, published=200, delivered=190, lost=10),
        ],
        {"fixed": [1.1 * value for value in values], "dynamic": values},
    )
    return compare_runs(first, second)


def test_variants_are_matched_by_name(comparison: RunComparison) -> None:
    assert [found.name for found in comparison.variants] == ["fixed", "dynamic"]
    assert (comparison.only_first, comparison.only_second) == (["third"], [])
    fixed, dynamic = comparison.variants
    assert fixed.delay is not None
    assert dynamic.delay is not None
    assert fixed.delay.notifications == (200, 200)
    assert fixed.delay.of("mean").difference.value == pytest.approx(0.1)
    assert dynamic.delay.of("mean").difference.value == pytest.approx(0.25)
    assert fixed.matching.difference == pytest.approx(-0.2)
    assert {
        count.name: (count.first, count.second) for count in fixed.delivery if count.name in ("delivered", "lost")
    } == {
        "delivered": (200, 190), "lost": (0, 10),
    }  # fmt: skip


def test_sides_name_scenario_seed_and_runtime(comparison: RunComparison) -> None:
    assert (comparison.first.runtime, comparison.second.runtime) == ("container, modelled", "simulated, modelled")
    assert (comparison.first.run_id, comparison.first.scenario, comparison.first.seed) == ("one", "trial", 3)


def test_both_runs_have_the_same_winner(comparison: RunComparison) -> None:
    assert comparison.order is not None
    assert comparison.order.verdict == "same winner"
    assert comparison.order.first.winner == "dynamic"


def test_limits_that_are_kept_and_limits_that_are_not(comparison: RunComparison) -> None:
    unmatched = "third: only one of the runs has this variant"
    assert violations(comparison, parse_limits("delay=30%,messages=5%, matching=0.2")) == [unmatched]
    assert violations(comparison, parse_limits("delay=15%,messages=2%,p50=50%")) == [
        "dynamic: delay differs by +25.0%, more than 15%",
        "dynamic: messages differs by +3.0%, more than 2%",
        unmatched,
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("delay", "'delay': write NAME=SHARE, as delay=15%, with one of delay, p50, p95, p99, messages, matching"),
        ("delay=15%,speed=2%", "'speed=2%': write NAME=SHARE"),
        ("delay=much", "'delay=much': 'much' is not a share; write delay=15% or delay=0.15"),
        ("delay=-5%", "makes no sense"),
        ("", "write NAME=SHARE"),
    ],
)
def test_malformed_limits_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse_limits(text)
    assert message in str(raised.value)


def test_different_winners_are_a_violation(tmp_path: Path) -> None:
    values = noise(10, 200)
    slow = [1.5 * value for value in values]
    runs = [
        make_run(tmp_path / "a", [variant("x"), variant("y")], {"x": values, "y": slow}),
        make_run(tmp_path / "b", [variant("x"), variant("y")], {"x": slow, "y": values}),
    ]
    assert violations(compare_runs(*runs), parse_limits("delay=90%")) == ["winner: x in the first run, y in the second"]


def test_the_comparison_is_the_same_each_time(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        make_run(tmp_path / name, [variant("x")], {"x": noise(10, 200, seed)})
    assert compare_runs(tmp_path / "a", tmp_path / "b") == compare_runs(tmp_path / "a", tmp_path / "b")
    assert 200 * 0.5 / BLOCK_SECONDS >= 5


def test_runs_that_cannot_be_compared(tmp_path: Path) -> None:
    good = make_run(tmp_path / "good", [variant("x")], {"x": [1.0]})
    with pytest.raises(RunDirectoryError, match=r"none: no such run directory; `brokerlab emulate` prints"):
        compare_runs(good, tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunDirectoryError, match=r"not a run directory, it has no manifest\.json"):
        compare_runs(tmp_path / "empty", good)
    other = make_run(tmp_path / "other", [variant("y")], {"y": [1.0]})
    with pytest.raises(RunDirectoryError, match="no variant in common: x here, y there"):
        compare_runs(good, other)
    (other / "results" / "notifications.parquet").unlink()
    with pytest.raises(RunDirectoryError, match=r"`brokerlab analyze .*other` makes it"):
        compare_runs(good, other)
    (other / "summary.json").unlink()
    with pytest.raises(RunDirectoryError, match=r"`brokerlab analyze .*other` makes it"):
        compare_runs(good, other)
    (other / "summary.json").write_text('{"format": 1}')
    with pytest.raises(RunDirectoryError, match=r"cannot be read.*`brokerlab analyze .*other` makes it anew"):
        compare_runs(good, other)
