"""Promises that hold through the crash of other brokers: histories with a known verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.deliveries import Expectation
from analysis.tables.results import read_table
from analysis.tables.summary import Summary
from tests.analysis.diamond import DIAMOND
from tests.analysis.history import write_run
from tests.analysis.judging.judged import assert_judged, delivery
from tests.analysis.oracle_cases_of_crashes import CRASHES, REFUSALS, TAILS, UNORDERED_CASES
from tests.analysis.oracle_cases_of_gaps import GAPS, IN_ORDER, LOST_RANGES, NEVER_TWICE, STARTS
from tests.analysis.oracle_cases_of_starts import ANNOUNCEMENTS

CASES = [
    *NEVER_TWICE,
    *IN_ORDER,
    *GAPS,
    *LOST_RANGES,
    *TAILS,
    *STARTS,
    *ANNOUNCEMENTS,
    *CRASHES,
    *REFUSALS,
    *UNORDERED_CASES,
]
BY_NAME = {case.history.variant: case for case in CASES}
COUNTS = ("lost", "duplicate", "spurious", "optional", "excused", "rejected", "reordered", "overtaken")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    histories = [case.history for case in CASES]
    return write_run(tmp_path_factory.mktemp("histories") / "run", histories, overlay=DIAMOND)


@pytest.fixture(scope="module")
def judged(run: Path) -> Summary:
    return analyze(run, PlainEngine())


@pytest.mark.parametrize("name", BY_NAME)
def test_a_history_is_judged_as_it_should_be(judged: Summary, name: str) -> None:
    assert_judged(judged, BY_NAME[name], COUNTS)


def test_refusals_are_counted_with_their_reason(run: Path, judged: Summary) -> None:
    drops = next(variant.drops for variant in judged.variants if variant.name == "G9: refused")
    assert [(drop.node, drop.event, drop.kind, drop.reason, drop.count) for drop in drops] == [
        ("driver", "refused", "publish", "its log is full", 1)
    ]


@pytest.mark.parametrize(
    ("name", "cause", "detail"),
    [
        ("G3: gap", "gap", "a later publication of its publisher came, and its subscription had started; "),
        ("G4: nothing came later", "started", "its subscription had started; "),
        ("G4: another broker's crash", None, ""),
    ],
)
def test_a_loss_names_its_cause(run: Path, judged: Summary, name: str, cause: str | None, detail: str) -> None:
    rows = [row for row in read_table(run / "results", Expectation) if row.variant == name and row.defect == "lost"]
    assert [(row.right, row.cause) for row in rows] == [("must", cause)]
    (example,) = delivery(judged, name).examples
    assert example.detail == f"{detail}no broker received the publication"
