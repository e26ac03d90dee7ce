"""Best effort: its verdicts on histories with a known one, the delivery ratio, its interval and its course."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.claims.estimates import estimate
from analysis.engines import PlainEngine
from analysis.judging.deliveries.delivery_ratio import BATCHES, DuePairs, DueTally
from analysis.judging.judged import PublicationOutcome, Receipt
from analysis.pipeline import analyze
from analysis.tables.deliveries import DeliveryOverTime, Right
from analysis.tables.results import read_table
from analysis.tables.summary import BestEffort, Delivery, Summary, violated
from tests.analysis.history import joined, write_run
from tests.analysis.judging.judged import verdicts_of
from tests.analysis.oracle_cases_of_best_effort import EXPECTED, TRIED, many, tried
from tests.analysis.rows import judged as judged_publication

TRIED_BY_NAME = {case.history.variant: (case, due, missed) for case, due, missed in TRIED}
EXPECTED_BY_NAME = {history.variant: (verdicts, interval) for history, verdicts, interval in EXPECTED}
COUNTS = ("lost", "duplicate", "spurious", "optional", "reordered", "overtaken")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    histories = [*(case.history for case, _, _ in TRIED), *(history for history, _, _ in EXPECTED)]
    return analyze(write_run(tmp_path_factory.mktemp("histories") / "run", histories), PlainEngine())


def delivery(judged: Summary, name: str) -> tuple[Delivery, BestEffort]:
    found = next(variant.delivery for variant in judged.variants if variant.name == name)
    assert found.best_effort is not msgspec.UNSET
    return found, found.best_effort


@pytest.mark.parametrize("name", TRIED_BY_NAME)
def test_a_history_is_judged_as_it_should_be(judged: Summary, name: str) -> None:
    case, due, missed = TRIED_BY_NAME[name]
    found, best_effort = delivery(judged, name)
    wanted = dict.fromkeys(COUNTS, 0) | {"expected": case.expected}
    wanted |= {"delivered": case.delivered, **case.numbers}
    assert verdicts_of(found) == case.verdicts
    assert {key: getattr(found, key) for key in wanted} == wanted
    assert (best_effort.due, best_effort.missed) == (due, missed)
    assert found.delivered == due - missed + found.optional + found.duplicate + found.spurious


@pytest.mark.parametrize("name", EXPECTED_BY_NAME)
def test_an_expectation_is_held_against_the_interval(judged: Summary, name: str) -> None:
    verdicts, (ratio, low, high) = EXPECTED_BY_NAME[name]
    found, best_effort = delivery(judged, name)
    assert found.verdicts == verdicts
    assert violated(verdicts, "VALID") == (verdicts != ["correct"])
    assert best_effort.ratio == ratio
    assert (best_effort.low, best_effort.high) == (
        None if low is None else pytest.approx(low, abs=1e-4),
        None if high is None else pytest.approx(high, abs=1e-4),
    )


def test_only_best_effort_has_a_ratio(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [joined("every").publish(), tried("best effort").publish()])
    every, best_effort = analyze(run, PlainEngine()).variants
    assert every.delivery.best_effort is msgspec.UNSET
    assert every.delivery.verdicts == ["lost"]
    assert best_effort.delivery.best_effort is not msgspec.UNSET
    assert [row.variant for row in read_table(run / "results", DeliveryOverTime)] == ["best effort"]


def test_the_ratio_of_every_second_is_in_a_table(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [many("base", None, "x-x").publish("P:9", 102.5)])
    analyze(run, PlainEngine())
    rows = sorted(
        (row.second, row.due, row.notified, row.ratio) for row in read_table(run / "results", DeliveryOverTime)
    )
    assert rows == [(1, 1, 1, 1.0), (2, 2, 0, 0.0), (3, 1, 1, 1.0)]


def tally(pairs: list[tuple[int, int]]) -> DueTally:
    """Publications in order of time, each with its due pairs and those of them that were notified."""
    due = DueTally()
    got = [Receipt("B1", 1, 0, 1, None, None)]
    for published, (wanted, notified) in enumerate(pairs, 1):
        outcomes = [PublicationOutcome(f"S{n}", Right.DUE, None, got if n < notified else []) for n in range(wanted)]
        outcomes.append(PublicationOutcome("T", Right.MAY, None, []))
        due.add(judged_publication(published=published, outcomes=outcomes))
    return due


@given(st.lists(st.integers(0, 3), min_size=BATCHES, max_size=4 * BATCHES))
def test_batches_of_equally_many_pairs_have_the_interval_of_their_mean(received: list[int]) -> None:
    received = received[: len(received) // BATCHES * BATCHES]
    size = len(received) // BATCHES
    naive = estimate(sum(received[n : n + size]) / (3 * size) for n in range(0, len(received), size))
    found = tally([(3, notified) for notified in received]).ratio(0)
    assert naive is not None
    assert naive.low is not None
    assert naive.high is not None
    assert found is not None
    assert found.ratio == pytest.approx(naive.mean)
    assert found.low == pytest.approx(max(naive.low, 0.0), abs=1e-9)
    assert found.high == pytest.approx(min(naive.high, 1.0), abs=1e-9)


@given(st.permutations(range(45)), st.integers(0, 45))
def test_the_ratio_does_not_depend_on_the_order_in_which_workers_finish(order: list[int], split: int) -> None:
    rows_in_order = [(number // 4, 1 + number % 3, number % 2) for number in range(45)]
    whole, parts = DueTally(), DueTally()
    for published, due, notified in rows_in_order:
        whole.pairs.add(DuePairs(0, [published], [due], [notified]))
    for numbers in (order[:split], order[split:]):
        part = DueTally()
        for published, due, notified in (rows_in_order[number] for number in numbers):
            part.pairs.add(DuePairs(0, [published], [due], [notified]))
        parts.merge(part.table())
    assert parts.ratio(0) == whole.ratio(0)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12))
def test_the_ratio_by_receivers_groups_publications(pairs: list[tuple[int, int]]) -> None:
    pairs = [(wanted, min(notified, wanted)) for wanted, notified in pairs]
    rows = list(tally(pairs).by_receivers(["base"]))
    assert [row.receivers for row in rows] == sorted({wanted for wanted, _ in pairs if wanted})
    for row in rows:
        received = [notified for wanted, notified in pairs if wanted == row.receivers]
        assert (row.publications, row.notified) == (len(received), sum(received))
        assert row.due == row.receivers * row.publications
        assert row.ratio == row.notified / row.due


def test_nothing_due_has_no_ratio() -> None:
    assert DueTally().ratio(0) is None
    assert tally([(0, 0)]).ratio(0) is None
