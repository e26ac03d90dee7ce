"""The delivery oracle against histories with a known verdict: one variant each, all judged in one analysis."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import Summary
from record.time_units import SECOND
from tests.analysis.history import RECOVERY, joined, write_run
from tests.analysis.judging.judged import assert_judged, delivery
from tests.analysis.oracle_cases import ORDER, RIGHT, WRONG
from tests.analysis.oracle_cases_of_failures import BROKEN, SLOW
from tests.analysis.oracle_cases_of_numbers import NUMBERED, UNPROCESSED
from tests.analysis.oracle_cases_of_slow_starts import SLOW_STARTS
from tests.analysis.oracle_cases_of_withdrawals import REFUSED, RIGHTLY_REFUSED

CASES = [*RIGHT, *WRONG, *BROKEN, *SLOW, *SLOW_STARTS, *ORDER, *REFUSED, *RIGHTLY_REFUSED, *NUMBERED]
BY_NAME = {case.history.variant: case for case in CASES}
COUNTS = ("lost", "duplicate", "spurious", "optional", "rejected", "reordered", "overtaken", "unconfirmed")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    directory = write_run(tmp_path_factory.mktemp("histories") / "run", [case.history for case in CASES])
    return analyze(directory, PlainEngine())


@pytest.mark.parametrize("name", BY_NAME)
def test_a_history_is_judged_as_it_should_be(judged: Summary, name: str) -> None:
    assert_judged(judged, BY_NAME[name], COUNTS)


def test_what_does_not_come_and_is_not_lost_is_counted(judged: Summary) -> None:
    for name in ("during a fault", "in flight when it broke", "its session down, as its broker was frozen"):
        assert (delivery(judged, name).excused, delivery(judged, name).not_judged) == (1, 0), name
    for name in ("during a fault, delivered", "does not match", "dropped", "unsubscribing, not delivered"):
        assert (delivery(judged, name).excused, delivery(judged, name).not_judged) == (0, 0), name
    assert (delivery(judged, "cut short").excused, delivery(judged, "cut short").not_judged) == (0, 1)


def test_the_run_is_the_sum_of_its_variants(judged: Summary) -> None:
    assert judged.delivery == [
        "lost", "duplicated", "spurious", "reordered", "session broken", "not confirmed", "rejected",
        "not renewed", "misnumbered",
    ]  # fmt: skip
    assert not judged.correct
    assert [variant.name for variant in judged.variants] == list(BY_NAME)


def test_each_defect_has_an_example(judged: Summary) -> None:
    found = {example.defect: example for example in delivery(judged, "all at once").examples}
    assert set(found) == {"lost", "duplicated", "spurious"}
    assert (found["lost"].publication, found["lost"].client, found["lost"].publisher) == ("P:1", "S", "P")
    assert found["lost"].published_ns == 110_000_000_000
    assert found["lost"].detail == "no broker received the publication"
    assert found["duplicated"].detail == "notified 2 times"
    assert found["spurious"].detail == "no subscription matches"
    (misnumbered,) = delivery(judged, "misnumbered").examples
    assert misnumbered.detail == "B3 sent P:1 to S as notification 9, where 7 was due"
    assert delivery(judged, "came and was not acknowledged").power.not_judged == {UNPROCESSED: 1}
    assert "refused" in delivery(judged, "rejected without a reason").examples[0].detail
    overtaken = delivery(judged, "overtaken").examples
    assert [(example.defect, example.publication) for example in overtaken] == [("overtaken", "P:1")]


def test_ten_examples_of_a_defect_are_enough(tmp_path: Path) -> None:
    history = joined("base")
    for number in range(25):
        history.publish(f"P:{number:02}", 105 + number)
    summary = analyze(write_run(tmp_path / "run", [history], fidelity=None), PlainEngine())
    assert summary.variants[0].delivery.lost == 25
    assert [e.publication for e in summary.variants[0].delivery.examples] == [f"P:{number:02}" for number in range(10)]
    assert summary.fidelity == summary.variants[0].fidelity == "UNKNOWN"


def test_slow_starts_are_named_with_the_time_that_they_took(judged: Summary) -> None:
    variants = {variant.name: variant for variant in judged.variants}
    (slow,) = variants["it started slowly"].slow_starts or []
    assert (slow.broker, slow.restarted_ns) == ("B1", 110 * SECOND)
    assert slow.in_words() == f"B1 took {RECOVERY + 8.9:.1f} s from its restart until it listened for clients"
    for name in ("it was back late, and nobody looked", "it listened, and was back late"):
        assert not variants[name].slow_starts
