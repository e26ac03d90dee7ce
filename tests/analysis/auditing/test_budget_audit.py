"""The audit of the budget names sums that are not those of the delays, and parts that are more than the ways allow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace as with_fields

import numpy as np
import pytest
from msgspec import UNSET
from msgspec.structs import replace

from analysis.auditing.budget_audit import budget_audit
from analysis.auditing.evidence import BudgetRows, Evidence
from analysis.auditing.processor_counts import processor_counts
from analysis.auditing.unsampled_hosts import unsampled_hosts
from analysis.engines import PlainEngine
from analysis.pipeline import analyze, summarise
from analysis.reading.gauges import LoadedBroker
from analysis.run_files.processor_times import ProcessorTimes
from analysis.tables.budget import DelayParts
from record.fidelity import Check, FidelityVerdict
from record.manifest import PhaseName
from record.time_units import MILLISECOND, SECOND
from tests.analysis.auditing.edited import CALM, run_of

Change = Callable[[BudgetRows], BudgetRows]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """The evidence on a calm simulated run."""
    seen: list[Evidence] = []

    def audited(evidence: Evidence) -> list[Check]:
        seen.append(evidence)
        return []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summarise, "audit", audited)
        analyze(run_of(CALM, tmp_path_factory.mktemp("honest")), PlainEngine())
    return seen[0]


def found(checks: Iterable[Check]) -> str:
    """The sentence of the one check; empty where nothing is wrong."""
    (check,) = checks
    assert check.value is not None
    return check.detail if check.verdict is FidelityVerdict.INVALID else ""


def of_all(change: Callable[[DelayParts], DelayParts]) -> Change:
    """Changes the parts of all delays together."""

    def changed(rows: BudgetRows) -> BudgetRows:
        budget = rows.delay.budget
        assert budget is not UNSET
        return with_fields(rows, delay=replace(rows.delay, budget=replace(budget, parts=change(budget.parts))))

    return changed


def moved(source: str, target: str, share: float) -> Change:
    """Books some of one part as another one, so that the sum stays."""

    def change(parts: DelayParts) -> DelayParts:
        amount = share * getattr(parts, source)
        return replace(parts, **{source: getattr(parts, source) - amount, target: getattr(parts, target) + amount})

    return of_all(change)


def test_an_honest_budget_adds_up(honest: Evidence) -> None:
    rows = honest.budget
    assert rows is not None
    assert rows.delay.budget is not UNSET
    assert rows.ways.notifications == rows.delay.budget.notifications > 100
    assert found(budget_audit(honest)) == ""


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (of_all(lambda parts: replace(parts, work_ms=0.0)), "parts add up to"),
        (of_all(lambda parts: replace(parts, links_ms=1.001 * parts.links_ms)), "parts add up to"),
        (moved("platform_ms", "links_ms", 0.5), "at most"),
        (moved("links_ms", "platform_ms", 0.1), "at least"),
        (moved("work_ms", "contention_ms", 0.1), "nodes waited 0.000 ms at most"),
        (lambda rows: with_fields(rows, by_delay=rows.by_delay[1:]), "classes of delay have"),
        (lambda rows: with_fields(rows, distribution=rows.distribution[2:]), "other ones than were measured"),
        (lambda rows: with_fields(rows, over_time=rows.over_time[1:]), "seconds have"),
        (lambda rows: with_fields(rows, at_nodes=rows.at_nodes[1:]), "nodes have"),
        (
            lambda rows: with_fields(
                rows,
                by_delay=[replace(row, lower_ms=2 * row.lower_ms, upper_ms=2 * row.upper_ms) for row in rows.by_delay],
            ),
            "have parts of",
        ),
        (lambda rows: with_fields(rows, delay=replace(rows.delay, mean_ms=1.0)), "delays were measured as 1.000 ms"),
    ],
)
def test_a_budget_that_does_not_add_up_is_named(honest: Evidence, change: Change, sentence: str) -> None:
    assert honest.budget is not None
    assert sentence in found(budget_audit(with_fields(honest, budget=change(honest.budget))))


def with_contention(rows: BudgetRows, replayed: float) -> BudgetRows:
    """Rows of which half of the links' time is contention, with this part of the mean delay in the replay."""
    rows = moved("links_ms", "contention_ms", 0.5)(rows)
    without = rows.delay.without_contention
    assert without is not UNSET
    assert rows.delay.mean_ms is not None
    return with_fields(
        rows, delay=replace(rows.delay, without_contention=replace(without, mean_ms=replayed * rows.delay.mean_ms))
    )


@pytest.mark.parametrize(("replayed", "named"), [(1.0, True), (0.95, True), (0.5, False)])
def test_a_replay_that_is_not_quicker_by_the_contention_is_named(
    honest: Evidence, replayed: float, named: bool
) -> None:
    assert honest.budget is not None
    sentence = found(budget_audit(with_fields(honest, budget=with_contention(honest.budget, replayed))))
    assert ("ms quicker than the run" in sentence) is named


@pytest.mark.parametrize(
    ("backlog", "too_much", "named"),
    [(0.0, 0.0, False), (0.1, 0.0, False), (0.25, 0.0, True), (0.25, 0.1, False), (0.5, 0.1, True)],
)
def test_a_replay_that_keeps_the_backlog_of_contention_is_named(
    honest: Evidence, backlog: float, too_much: float, named: bool
) -> None:
    """The replay is quicker by contention and a tenth of the delay, which is not half of a backlog of a quarter."""
    assert honest.budget is not None
    rows = with_contention(honest.budget, 1.0)
    rows = of_all(lambda parts: replace(parts, unexplained_ms=-too_much * parts.delay_ms))(rows)
    budget, without = rows.delay.budget, rows.delay.without_contention
    assert budget is not UNSET
    assert without is not UNSET
    delay, contention = budget.parts.delay_ms, budget.parts.contention_ms or 0.0
    kept = replace(without, mean_ms=delay - contention - delay / 10)
    rows = with_fields(
        rows,
        delay=replace(rows.delay, without_contention=kept),
        backlog=round(backlog * delay * budget.notifications * MILLISECOND),
    )
    assert ("made a backlog of" in found(budget_audit(with_fields(honest, budget=rows)))) is named


def sampled(evidence: Evidence, factor: float, late: int = 0) -> Evidence:
    """The evidence on a run whose sampler has that much of what B2 counts itself, which is 3 s in 6 s, by a clock that
    is `late`."""
    run = evidence.variant.phase(PhaseName.RUN)
    assert run is not None
    gauges = [number for second in range(7) for number in (1, run.start + second * SECOND, second * SECOND // 2, 0)]
    logs = evidence.logs
    logs.traffic.loads.by_key.clear()
    logs.traffic.loads.of(LoadedBroker(evidence.number, "B2")).extend(gauges)
    ends = run.start + late + np.arange(1, 601, dtype=np.int64) * SECOND // 100
    ran = np.full_like(ends, round(factor * SECOND / 200))
    times = ProcessorTimes.of(ends - SECOND // 100, ends, np.zeros_like(ends), ran)
    return with_fields(evidence, logs=logs, processors={"B2": times})


@pytest.mark.parametrize(("factor", "named"), [(0.5, True), (0.9, False), (1.0, False), (1.05, False), (1.3, True)])
def test_processor_time_that_a_broker_does_not_count_is_named(honest: Evidence, factor: float, named: bool) -> None:
    sentence = found(processor_counts(sampled(honest, factor)))
    assert sentence.startswith(f"B2: {3 * factor:.2f} s by the sampler, 3.00 s by its own count") is named


@pytest.mark.parametrize(("late", "seen"), [(-1000, 0.0), (3, 1.5), (1000, 0.0)])
def test_a_host_whose_clock_is_not_corrected_is_named_by_its_brokers(honest: Evidence, late: int, seen: float) -> None:
    """Its waits would be booked where nothing waited, and nowhere where messages did."""
    sentence = found(processor_counts(sampled(honest, 1.0, late * SECOND)))
    assert sentence.startswith(f"B2: {seen:.2f} s by the sampler, 3.00 s by its own count")


def test_a_host_whose_file_is_missing_is_named_and_one_that_cannot_count_is_not_judged(honest: Evidence) -> None:
    (check,) = unsampled_hosts(with_fields(honest, hosts=["h1", "h2"]))
    assert (check.value, check.detail) == (0, "all 2 hosts were sampled")
    for unsampled in ({"h2": ""}, {"h1": "no schedstat", "h2": ""}):
        assert found(unsampled_hosts(with_fields(honest, hosts=["h1", "h2"], unsampled=unsampled))).startswith("h2: ")
    (check,) = unsampled_hosts(with_fields(honest, hosts=["h1", "h2"], unsampled={"h2": "no schedstat"}))
    assert (check.value, check.detail) == (None, "not measured: h2: no schedstat")
    assert list(unsampled_hosts(honest)) == [], "one host had all of the run"


def test_a_run_that_was_not_sampled_is_not_judged(honest: Evidence) -> None:
    (check,) = processor_counts(honest)
    assert check.value is None
