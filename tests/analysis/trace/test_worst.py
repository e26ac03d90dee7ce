"""The files of the worst journeys beside a report."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.query import open_tables
from analysis.report import build_joint_report, build_report
from analysis.run_files.run_directory import open_run
from analysis.tables.summary import read_summary
from analysis.trace import ASKED, choose_worst, draw_worst, read_records
from record.files import REPORT
from tests.analysis.history import across, write_run
from tests.analysis.trace.handmade import whole_journey
from tests.analysis.trace.viewed import view


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Publications P:2 to P:5 came after 0.2 to 0.5 s; P:1 came after 0.05 s."""
    slow = whole_journey("slow")
    for number in (4, 2, 5, 3):
        slow.publish(f"P:{number}", 110 + number).notify(f"P:{number}", at=110 + 1.1 * number)
    directory = write_run(tmp_path / "run", [slow, across("idle").publish("P:1", 110)])
    analyze(directory, PlainEngine())
    return directory


def shown(content: bytes) -> set[str]:
    return {seen.name.partition(" notified of ")[2] for seen in view(content).notifications}


def test_a_report_links_the_worst_journeys_of_each_variant_that_has_any(run: Path, tmp_path: Path) -> None:
    page = build_report(run)
    assert [file.name for file in sorted(page.parent.iterdir())] == ["index.html", "worst-slow.pftrace"]
    assert '<a href="worst-slow.pftrace" download>worst-slow.pftrace</a>' in page.read_text()
    assert "the 5 publications that took longest" in page.read_text()
    assert shown((page.parent / "worst-slow.pftrace").read_bytes()) == {f"P:{number}" for number in range(1, 6)}
    joint = tmp_path / "joint.html"
    build_joint_report([run, run], joint)
    assert joint.read_text().count('<a href="run/report/worst-slow.pftrace" download>') == 2


def test_a_report_is_the_same_however_many_processes_make_it(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [whole_journey("one"), whole_journey("two")])
    analyze(run, PlainEngine())

    def made(processes: int) -> dict[str, bytes]:
        page = build_report(run, processes)
        return {file.name: file.read_bytes() for file in page.parent.iterdir()}

    alone = made(1)
    assert sorted(alone) == ["index.html", "worst-one.pftrace", "worst-two.pftrace"]
    assert made(2) == alone


def test_a_page_links_no_file_that_is_not_there(run: Path, tmp_path: Path) -> None:
    joint = tmp_path / "joint.html"
    build_joint_report([run, run], joint)
    assert "worst-slow" not in joint.read_text()
    assert not (run / REPORT).exists()


def test_the_worst_come_first_where_not_all_may_be_chosen(run: Path) -> None:
    opened = open_run(run)
    brokers = len(opened.brokers)
    with open_tables([run], ASKED) as tables:
        assert choose_worst(opened, tables, "slow", 3, 1_000).publications == ["P:5", "P:4", "P:3"]
        assert choose_worst(opened, tables, "slow", 200, 2 * (brokers + 1)).publications == ["P:5", "P:4"]
        assert choose_worst(opened, tables, "idle", 200, 1_000).publications == []


def test_a_file_has_as_many_of_the_worst_as_a_viewer_opens_at_once(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open_run(run)
    with open_tables([run], ASKED) as tables:
        chosen = choose_worst(opened, tables, "slow", 200, 1_000)
    read = read_records(opened, {"slow": chosen.publications})["slow"]
    whole = draw_worst(opened, chosen, read, read_summary(run))
    monkeypatch.setattr("analysis.trace.worst.LARGEST", len(whole.content) - 1)
    cut = draw_worst(opened, chosen, read, read_summary(run))
    assert len(cut.content) < len(whole.content)
    assert (whole.publications, cut.publications) == (5, 4)
    assert shown(cut.content) == {"P:5", "P:4", "P:3", "P:2"}
