"""Verdicts of little power, and a share that the scenario expects to be judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.judging.deliveries.counts import DeliveryCounts
from analysis.judging.detections.counts import DetectionCounts
from analysis.pipeline import analyze
from analysis.pipeline.delivery import overall
from analysis.pipeline.power import below_wanted, power_of, proves_nothing
from analysis.tables.power import Power
from analysis.tables.reasons import Reason
from analysis.tables.summary import FORMAT, Delivery, read_summary
from command_line.commands.verdicts import exit_code
from record.exit_codes import ExitCode
from record.manifest import VariantRecord
from tests.analysis.history import History, joined, write_run


def judged(directory: Path, history: History) -> tuple[Delivery, ExitCode]:
    summary = analyze(write_run(directory / "run", [history]), PlainEngine())
    assert read_summary(directory / "run") == summary
    assert summary.format == FORMAT == 4
    return summary.variants[0].delivery, exit_code(summary)


def test_a_delivered_publication_is_judged(tmp_path: Path) -> None:
    found, code = judged(tmp_path, joined("one").publish().notify())
    assert (found.verdicts, code) == (["correct"], ExitCode.CORRECT)
    assert found.power == Power(owed=1, excused={}, not_judged={}, implied=0)


def test_a_run_that_owes_nothing_proves_nothing(tmp_path: Path) -> None:
    found, code = judged(tmp_path, joined("cheap").publish(price=50))
    assert (found.verdicts, found.published, code) == (["unjudged"], 1, ExitCode.VIOLATED)
    assert found.power_in_words() == "nothing was owed to any client, so nothing was judged"


def test_a_defect_is_one_though_nothing_was_owed(tmp_path: Path) -> None:
    found, code = judged(tmp_path, joined("cheap").publish(price=50).notify())
    assert (found.verdicts, found.power.owed, code) == (["spurious"], 0, ExitCode.VIOLATED)


def test_excused_pairs_are_owed(tmp_path: Path) -> None:
    found, _ = judged(
        tmp_path, joined("killed").fault(109).publish().heal(111).publish("P:2", 140).notify("P:2", at=141)
    )
    assert (found.expected, found.power.owed) == (2, 2)
    assert sum(found.power.excused.values()) == found.excused
    assert sum(found.power.not_judged.values()) == found.not_judged


LITTLE = Power(owed=100, excused={}, not_judged={"outside of the sample": 51}, implied=0)
HALF = Power(owed=100, excused={}, not_judged={"outside of the sample": 50}, implied=0)


@pytest.mark.parametrize(
    ("power", "detections", "nothing"),
    [
        (Power.total([]), DetectionCounts(0), True),
        (Power.total([]), DetectionCounts(0, expected=3), False),
        (Power.total([]), DetectionCounts(0, forgone=3), False),
        (Power.total([]), DetectionCounts(0, expected=4, not_judged=[Reason("unknown", 3)]), True),
        (Power.total([]), DetectionCounts(0, expected=4, not_judged=[Reason("unknown", 2)]), False),
        (LITTLE, DetectionCounts(0, expected=3), True),
        (HALF, DetectionCounts(0), False),
    ],
)
def test_less_than_half_proves_nothing(power: Power, detections: DetectionCounts, nothing: bool) -> None:
    assert proves_nothing(power, detections) is nothing


@pytest.mark.parametrize(("wanted", "below"), [(0.49, False), (0.5, True)])
def test_the_scenario_may_expect_a_share(wanted: float, below: bool) -> None:
    assert below_wanted(LITTLE, VariantRecord(name="base", expected_judged=wanted)) is below
    assert not below_wanted(LITTLE, VariantRecord(name="base"))
    assert not below_wanted(Power.total([]), VariantRecord(name="base", expected_judged=wanted))


def test_a_share_below_expectation_is_a_verdict_on_the_run() -> None:
    assert overall([["correct"], ["power below expectation"], ["unjudged"]]) == ["power below expectation"]
    assert overall([["lost"], ["power below expectation"]]) == ["lost", "power below expectation"]


def test_best_effort_owes_what_is_due() -> None:
    assert power_of(DeliveryCounts(0, expected=2, due=5, optional=3)).owed == 7
