"""Benchmarks judge the right measurements: the best rate carried, the largest size, the slowest run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import analysis, matching, mesh, relay, reliable_throughput, routing, throughput
from benchmarks.support.memory import Peak
from benchmarks.targets import Judgement, Target
from topology.link_properties import LinkProperties


def values(judgements: list[Judgement]) -> dict[Target, float]:
    return {judgement.target: judgement.measured for judgement in judgements}


TRIAL = throughput.Trial(
    offered=1000, published=100, delivered=100, duplicates=0, dropped=0, overtime=0.1, delays=[1.0, 2.0, 3.0],
    cpu_per_hop=15, matching=2, cpu_in_all=60, busiest=throughput.Busiest("B1", 0.5), resident=40, start_times=(0.5,),
)  # fmt: skip
OVERLOADED = replace(TRIAL, offered=3000, overtime=2.0, cpu_per_hop=99, resident=99)


def test_throughput_is_the_highest_rate_carried() -> None:
    found = values(throughput.judge([TRIAL, replace(TRIAL, offered=2000, cpu_per_hop=16), OVERLOADED], [TRIAL]))
    assert found == {
        throughput.CARRIED: 2000,
        throughput.CPU_PER_HOP: 16,
        throughput.RESIDENT: 40,
        throughput.DELAY: 2.0,
    }


def test_throughput_is_zero_where_no_rate_is_carried() -> None:
    assert values(throughput.judge([OVERLOADED], [])) == {throughput.CARRIED: 0}


@pytest.mark.parametrize(
    "trial",
    [replace(TRIAL, delivered=99), replace(TRIAL, duplicates=1), replace(TRIAL, overtime=0.6)],
    ids=["lost", "duplicated", "late"],
)
def test_a_rate_is_not_carried_with_a_loss_a_duplicate_or_a_late_end(trial: throughput.Trial) -> None:
    assert TRIAL.carried
    assert not trial.carried


def test_a_mesh_is_judged_by_its_time_and_the_memory_of_two_sizes() -> None:
    one = mesh.Start(brokers=1000, links=499_500, planned=3.0, up=4.0, memory=200)
    twice = mesh.Start(brokers=2000, links=1_999_000, planned=8.0, up=9.0, memory=500)
    few = mesh.Start(brokers=20, links=190, planned=0.3, up=0.3, memory=100)
    judgements = mesh.judge([few, one, twice])
    assert [judgement.growth and judgement.growth.factor for judgement in judgements] == [
        pytest.approx(30), pytest.approx(5), None,
    ]  # fmt: skip
    assert values(judgements) == {mesh.UP: 4.0, mesh.MEMORY: 200, mesh.MEMORY_OF_TWICE: 500}


def test_the_analysis_is_judged_by_its_slowest_and_its_largest_run() -> None:
    small = analysis.Trial(records=1000, seconds=1, started=5, peak=Peak(driver=100, java=400))
    large = analysis.Trial(records=8000, seconds=10, started=6, peak=Peak(driver=200, java=500), events=0.2)
    assert values(analysis.judge([small, large])) == {
        analysis.RATE: 800,
        analysis.START: 6,
        analysis.MEMORY: 700,
        analysis.GROWTH: 1.25,
        analysis.EVENTS_SIZE: 0.2,
    }
    started = analysis.Trial(records=10, seconds=1, started=5, peak=Peak(driver=100, java=400))
    assert values(analysis.judge([started, small, large]))[analysis.GROWTH] == 1.25
    assert values(analysis.judge([small])) == {analysis.RATE: 1000, analysis.START: 5, analysis.MEMORY: 500}
    assert analysis.judge([]) == []


def _result(workload: matching.Workload, size: int, median: float) -> matching.Result:
    """Result with a median match in microseconds, and with other medians that follow from the size."""
    return matching.Result(
        workload, size, share=0.02, match_median=median, match_p99=9, copy_median=1, add_median=size / 1e4, add_mean=9,
        remove_median=size / 2e4, index_bytes=300, all_bytes=999,
    )  # fmt: skip


@pytest.mark.proof
def test_matching_is_judged_at_the_largest_size_and_its_growth_at_the_full_size_only() -> None:
    symbol, by_class = matching.WORKLOADS[:2]
    small = [_result(symbol, 1000, 4), _result(by_class, 1000, 40)]
    found = values(matching.judge([*small, _result(symbol, 200_000, 10), _result(by_class, 200_000, 400)]))
    assert found == {
        symbol.median: 0.010,
        by_class.median: 0.400,
        matching.GROWTH: 2.5,
        matching.ADD: 20,
        matching.REMOVE: 10,
        matching.BYTES: 300,
    }
    assert matching.GROWTH not in values(matching.judge(small))
    assert all(judgement.growth is None for judgement in matching.judge(small))


def test_a_match_grows_with_the_medians_of_its_own_workload() -> None:
    symbol, by_class = matching.WORKLOADS[:2]
    results = [_result(symbol, 1000, 4), _result(symbol, 100_000, 10)]
    results += [_result(by_class, 1000, 40), _result(by_class, 100_000, 80)]
    growth = {judgement.target: judgement.growth for judgement in matching.judge(results)}
    of_symbol, of_class = growth[symbol.median], growth[by_class.median]
    assert of_symbol is not None
    assert of_class is not None
    assert (of_symbol.factor, of_class.factor) == (pytest.approx(2.5), pytest.approx(2))
    assert "2,000 keys, whose copy alone takes 1.0 us" in of_symbol.bound


def test_the_relay_is_judged_by_the_median_cost_of_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = iter([(1000.0, 5.0), (900.0, 7.0), (950.0, 5.5)])
    monkeypatch.setattr(relay, "saturate", lambda properties, seconds: next(runs))
    conditions = relay.Conditions.named("delay alone", LinkProperties(delay=0.005))
    assert values(relay.cost(conditions, 1.0, 3).judgements) == {conditions.cost: 5.5}


def test_the_cost_of_timing_is_a_share_of_a_publications_cost_at_a_broker() -> None:
    times = [100.0, 150.0, 200.0, 900.0, 100.0]
    judgement = routing.judge_timing({1: [300.0, 300.0], routing.FRAME: times, 100: [75.0, 75.0]}, hop=15)
    assert judgement.growth is not None
    assert judgement.growth.factor == pytest.approx(0.25)
    assert judgement.target is routing.TIMING
    assert judgement.measured == pytest.approx(1.0)


def test_the_cost_of_order_and_of_paths_is_the_median_ratio_of_the_runs_of_a_turn() -> None:
    def turn(ordered: float, unordered: float, many: float) -> reliable_throughput.Turn:
        rates = {
            reliable_throughput.ORDERED: ordered,
            reliable_throughput.UNORDERED: unordered,
            reliable_throughput.MANY_PATHS: many,
            reliable_throughput.ONE_PATH: 100.0,
        }
        return {case: replace(TRIAL, offered=rates.get(case, 50.0), overtime=0.0) for case in reliable_throughput.CASES}

    found = values(reliable_throughput.judge([turn(90, 100, 80), turn(10, 100, 60), turn(160, 200, 90)]))
    assert found[reliable_throughput.ORDER] == pytest.approx(20)
    assert found[reliable_throughput.PATHS] == pytest.approx(20)
    assert found[reliable_throughput.LINE_CARRIED] == pytest.approx(90)
    assert found[reliable_throughput.NODE_CARRIED] == pytest.approx(100)
