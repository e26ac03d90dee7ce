"""The oracle of detections against histories with a known verdict: one variant each, all judged in one analysis."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec import UnsetType

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.detections import Detection, DetectionDelays, DetectionFigures, ExpectedDetection
from analysis.tables.results import read_table, table_file
from analysis.tables.summary import Example, Summary
from tests.analysis.history import joined, write_run
from tests.analysis.judging.judged import delivery, verdicts_of
from tests.analysis.oracle_cases_of_detections import RIGHT, WRONG, DetectionCase, pair
from tests.analysis.oracle_cases_of_starts import ANNOUNCED_COMPOSITES

CASES = [*RIGHT, *WRONG, *ANNOUNCED_COMPOSITES]
BY_NAME = {case.history.variant: case for case in CASES}
COUNTS = ("expected", "delivered", "optional", "forgone", "excused", "lost", "dropped", "duplicate", "spurious")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("histories") / "run", [case.history for case in CASES])


@pytest.fixture(scope="module")
def judged(run: Path) -> Summary:
    return analyze(run, PlainEngine())


def figures(judged: Summary, case: DetectionCase) -> DetectionFigures | UnsetType:
    return delivery(judged, case.history.variant).detections


@pytest.mark.parametrize("name", BY_NAME)
def test_a_history_is_judged_as_it_should_be(judged: Summary, name: str) -> None:
    case = BY_NAME[name]
    found = figures(judged, case)
    assert verdicts_of(delivery(judged, name)) == case.verdicts
    if isinstance(found, UnsetType):
        assert case.numbers.get("composites") == 0
        return
    wanted = dict.fromkeys(COUNTS, 0) | {"composites": 1, "spurious_causes": {}} | case.numbers
    counted = msgspec.structs.asdict(found) | {"excused": sum(found.excused.values())}
    assert {key: counted[key] for key in wanted} == wanted
    missing = found.lost + sum(found.excused.values()) + sum(found.not_judged.values())
    assert found.delivered == found.expected - missing + found.optional + found.duplicate + found.spurious


def test_the_run_is_the_sum_of_its_variants(judged: Summary) -> None:
    assert judged.delivery == ["detection lost", "detection duplicated", "detection spurious", "rejected"]
    assert not judged.correct


def example(judged: Summary, name: str) -> Example:
    (found,) = delivery(judged, name).examples
    return found


def test_each_defect_has_an_example(judged: Summary) -> None:
    lost = example(judged, "lost")
    assert (lost.defect, lost.client, lost.composite, lost.publications) == (
        "detection lost", "S", "c1", ["P:1", "P:2"],
    )  # fmt: skip
    assert (lost.publication, lost.published_ns) == ("P:2", 112_000_000_000)
    nowhere = "P:1 no broker received it; P:2 no broker received it"
    assert lost.detail == f"published within 2000.000 ms of each other; no broker recorded a drop; {nowhere}"
    assert "; detections dropped at B3: partial matches full; " in example(judged, "lost at a bound").detail
    assert example(judged, "doubled").detail == "notified 2 times"
    assert example(judged, "apart").detail == "outside the window"
    assert example(judged, "unknown").published_ns is None


def test_tables_of_detections(run: Path, judged: Summary) -> None:
    """Delays count from the last publication to the first notification."""
    assert len(judged.variants) == len(CASES)
    detections = [row for row in read_table(run / "results", Detection) if row.variant == "doubled"]
    assert [(row.repeat, row.publications, row.delay_ms, row.spread_ms, row.second) for row in detections] == [
        (0, ["P:1", "P:2"], pytest.approx(100), 2000, 12),
        (1, ["P:2", "P:1"], pytest.approx(200), 2000, 12),
    ]
    expected = {row.variant: row for row in read_table(run / "results", ExpectedDetection)}
    assert (expected["doubled"].right, expected["doubled"].notifications) == ("must", 2)
    assert expected["lost at a bound"].drops == ["B3: partial matches full"]
    assert (expected["apart"].right, expected["apart"].cause) == ("none", "outside the window")
    found = delivery(judged, "doubled").detections
    assert isinstance(found, DetectionFigures)
    assert (found.mean_ms, found.max_ms) == (pytest.approx(100), pytest.approx(100))
    (delays,) = [row for row in read_table(run / "results", DetectionDelays) if row.variant == "doubled"]
    assert delays.lower_ms <= 100 <= delays.upper_ms
    assert delays.notifications == 1


def test_a_run_without_composite_subscriptions_has_no_such_tables(tmp_path: Path) -> None:
    """Tables of an earlier analysis are removed."""
    run = write_run(tmp_path / "run", [pair("base")])
    analyze(run, PlainEngine())
    tables = [run / "results" / table_file(row) for row in (Detection, ExpectedDetection, DetectionDelays)]
    assert [table.exists() for table in tables] == [True, True, True]
    plain = write_run(tmp_path / "plain", [joined("base").publish().notify()])
    for log in (run / "logs").iterdir():
        log.unlink()
    for log in (plain / "logs").iterdir():
        log.rename(run / "logs" / log.name)
    summary = analyze(run, PlainEngine())
    assert [table.exists() for table in tables] == [False, False, False]
    assert b"detections" not in (run / "summary.json").read_bytes()
    assert summary.correct
