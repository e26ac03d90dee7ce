"""The budget of simulated runs: no contention, nothing unexplained, and every part what the run was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import UNSET

from analysis.auditing.request import asked_of
from analysis.budget.request import budgeted
from analysis.budget.tally import BudgetTally, Grouping, Sums
from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.run_files.run_directory import RunDirectory, open_run
from analysis.tables.budget import Budget, BudgetAtNode, BudgetOverTime
from analysis.tables.results import read_table
from emulation.planning.calibration import Calibration
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.fidelity import FidelityVerdict
from record.files import LOGS
from record.time_units import MILLISECOND, SECOND
from scenario.loading import load_text
from studies.calibration.latency import read_logs
from tests.analysis.budget.made import budget_of, read, total

SCENARIO = """
name: budgeted
topology: {{kind: line, brokers: 4, link: {link}}}
routing: {{protocol: tid}}
workload:
  publications: {{source: stocks, publishers: 3, rate: {rate}}}
  subscriptions: {{subscribers: 6, selectivity: 40%}}
timeline: {{join: 4s, run: {run}, drain: 6s}}
brokers: {{service_time: {service}}}
seed: 3
"""


def simulated(
    directory: Path, link: str, service: str = "0s", rate: str = "20/s", more: str = "", run: str = "10s"
) -> RunDirectory:
    scenario = load_text(SCENARIO.format(link=link, service=service, rate=rate, run=run) + more, "budgeted")
    return open_run(simulate(make_plan(scenario), directory).directory)


def budgeted_run(run: RunDirectory, buckets: int = 2) -> BudgetTally:
    names = [variant.name for variant in run.manifest.variants]
    reader = read(read_logs(run.path / LOGS), names, run.brokers, buckets)
    logs = reader.tally()
    variants = [budgeted(run.manifest, number, asked_of(run, number, logs)) for number in range(len(names))]
    return budget_of(reader, variants, run.brokers, buckets)


def mean_ms(sums: Sums, part: str) -> float:
    return float(getattr(sums, part)) / sums.notifications / MILLISECOND


FAST = "400/s"
"""A rate at which publications wait for brokers that do nothing but route, and two seconds are enough to see it."""
QUEUES = [
    ("{delay: 20ms}", "0s", "20/s"),
    ("{delay: 20ms, jitter: 3ms}", "0s", "20/s"),
    ("{delay: 5ms, jitter: 3ms, distribution: pareto}", "0s", "20/s"),
    ("{delay: 5ms, bandwidth: 200kbit}", "0s", "20/s"),
    ("{delay: 5ms, loss: 2%}", "0s", "20/s"),
    ("{delay: 5ms, send_time: 4ms}", "0s", "40/s"),
    ("{delay: 5ms, send_time: {mean: 4ms, distribution: exponential}}", "0s", "40/s"),
    ("{delay: 5ms}", "4ms", "40/s"),
    ("{delay: 5ms}", "{mean: 4ms, distribution: exponential}", "40/s"),
    ("{delay: 5ms}", "0s", FAST),
]
"""Links, service times and rates, of which each makes messages wait otherwise."""


@pytest.mark.proof
@pytest.mark.parametrize(("link", "service", "rate"), QUEUES)
def test_nothing_of_a_simulated_run_is_contention_or_unexplained(
    tmp_path: Path, link: str, service: str, rate: str
) -> None:
    tally = budgeted_run(simulated(tmp_path, link, service, rate, run="2s" if rate == FAST else "10s"))
    sums = total(tally)
    assert sums.notifications > 100
    assert not list(tally.unknown), "every way is known"
    assert sums.contention == 0
    assert all(of_node.contention == 0 for of_node in tally.nodes)
    assert abs(mean_ms(sums, "unexplained")) < 0.03


def test_the_parts_are_what_was_asked_for(tmp_path: Path) -> None:
    sums = total(budgeted_run(simulated(tmp_path, "{delay: 20ms, send_time: 4ms}", "2ms")))
    links = mean_ms(sums, "links") / 20
    assert links == pytest.approx(round(links * sums.notifications) / sums.notifications), "20 ms for each link"
    assert mean_ms(sums, "waiting_for_links") == pytest.approx(4 * links, rel=0.2)
    assert mean_ms(sums, "waiting_at_brokers") == pytest.approx(2 * (links + 1), rel=0.2)
    assert mean_ms(sums, "work") == pytest.approx(0.0107 * (links + 1), rel=0.01), "the calibration's for a publication"


def test_sums_of_classes_and_seconds_are_the_sum_of_all_however_publications_are_divided(tmp_path: Path) -> None:
    run = simulated(tmp_path, "{delay: 20ms}")
    tally = budgeted_run(run)
    for grouping in (Grouping.DELAY, Grouping.SECOND):
        groups = [sums for sums in tally.sums if sums.grouping is grouping]
        assert len(groups) > 5
        assert [sum(parts) for parts in zip(*(sums.parts for sums in groups), strict=True)] == total(tally).parts
    assert list(budgeted_run(run, 5).sums) == list(tally.sums)
    assert list(budgeted_run(run, 5).nodes) == list(tally.nodes)
    assert sum(sums.unexplained for sums in tally.nodes) == total(tally).unexplained


def test_a_fault_that_holds_messages_up_is_waiting(tmp_path: Path) -> None:
    paused = "faults: [{at: run+4s, pause: B2, for: 2s}]\n"
    calm, struck = (
        total(budgeted_run(simulated(tmp_path / name, "{delay: 5ms}", more=more)))
        for name, more in (("calm", ""), ("struck", paused))
    )
    held_up = struck.delay - calm.delay
    assert held_up > SECOND
    assert struck.waiting_at_brokers - calm.waiting_at_brokers == pytest.approx(held_up, rel=0.1)
    assert abs(struck.unexplained) < 0.01 * held_up


def test_an_analysed_run_has_its_budget_in_the_summary_and_in_tables(tmp_path: Path) -> None:
    run = simulated(tmp_path, "{delay: 20ms}")
    (variant,) = analyze(run.path, PlainEngine()).variants
    budget = variant.delay.budget
    assert budget is not UNSET
    assert budget.notifications == variant.delay.notifications
    assert budget.parts.delay_ms == pytest.approx(variant.delay.mean_ms)
    assert budget.parts.contention_ms == 0
    assert budget.contention_at is None
    for rows in (read_table(run.results, Budget), read_table(run.results, BudgetOverTime)):
        assert sum(row.notifications for row in rows) == budget.notifications
        links = sum(row.notifications * row.parts.links_ms for row in rows)
        assert links == pytest.approx(budget.notifications * budget.parts.links_ms)
    nodes = read_table(run.results, BudgetAtNode)
    assert sum(node.unexplained_ms for node in nodes) == pytest.approx(budget.parts.unexplained_ms)


def test_a_run_that_logs_a_sample_of_publications_has_no_budget(tmp_path: Path) -> None:
    run = simulated(tmp_path, "{delay: 20ms}", more="logs: {publications: 50%}\n")
    (variant,) = analyze(run.path, PlainEngine()).variants
    assert variant.delay.budget is UNSET
    assert read_table(run.results, Budget) == []


MOVING = """
name: moving
topology: {kind: unit-disk, brokers: 40, area: 900m, range: 250m, link: {delay: 1ms}}
motion: {kind: random-direction, speed: 20m/s, partitions: allowed}
routing: {protocol: semi-probabilistic, threshold: 0.5, horizon: 2}
workload: {kind: patterns, publications: {rate: 1/s, receivers: 30%}}
timeline: {join: 2s, run: 5s, drain: 1s}
seed: 1
"""


@pytest.mark.proof
def test_copies_that_come_from_two_neighbours_at_one_time_are_told_apart(tmp_path: Path) -> None:
    """Without costs, copies over as many links of 1 ms arrive together, some over links that came later."""
    outcome = simulate(make_plan(load_text(MOVING, "moving")), tmp_path, calibration=Calibration.free())
    (variant,) = analyze(outcome.directory, PlainEngine()).variants
    assert [finding.detail for finding in variant.audit if finding.verdict is not FidelityVerdict.VALID] == []
    assert variant.delay.budget is not UNSET
    assert 0 < variant.delay.budget.notifications < variant.delay.notifications, "of later links nothing was asked"
