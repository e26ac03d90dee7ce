"""The replay in the report: the state of the page of `brokerlab replay`, with the judge's sentences."""

from __future__ import annotations

import base64
import gzip
import re
from pathlib import Path

import msgspec
import pytest

from analysis.engines import PlainEngine
from analysis.live.frames import State, Strike
from analysis.pipeline import analyze
from analysis.report import data as report_data
from analysis.report import replayed
from analysis.report.data import ReportData, read_report_data
from analysis.report.page import render, render_several
from analysis.report.replayed import replay_of
from record.log import Event
from tests.analysis.history import SECOND, History, joined, write_run


def moved(variant: str) -> History:
    """B1 - B2 - B3 loses its second link 10 s after the run began and gets B1 - B3 2.5 s later."""
    history = joined(variant).publish().receive().receive(at=110.04, broker="B3").notify()
    for at, event, link in ((110, Event.VANISHED, "B2-B3"), (112.5, Event.APPEARED, "B1-B3")):
        history.add("emulator", event, at, peer=link, duration=0, intended=round(at * SECOND))
    return history


def analysed(directory: Path, *histories: History) -> Path:
    run = write_run(directory, list(histories))
    analyze(run, PlainEngine())
    return run


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    return read_report_data(analysed(tmp_path_factory.mktemp("runs") / "run", moved("one"), moved("two")))


def held(page: str) -> State:
    """The state in a page."""
    (text,) = re.findall(r'<script type="application/gzip" class="state">([^<]*)</script>', page)
    return msgspec.json.decode(gzip.decompress(base64.b64decode(text)), type=State)


def test_the_report_holds_the_page_of_the_replay(data: ReportData) -> None:
    state = held(render(data))
    assert [variant.name for variant in state.variants] == ["one", "two"]
    for variant in state.variants:
        strikes = [strike for frame in variant.frames for strike in frame.strikes]
        assert strikes == [Strike("vanished", "B2-B3", True, 110.0), Strike("appeared", "B1-B3", False, 112.5)]
        ((name, visits),) = [(followed.name, followed.visits) for followed in variant.followed]
        assert name == "P:1"
        assert [visit.broker for visit in visits] == [0, 2]
        assert variant.verdict.startswith("Every subscriber received exactly what it should")
    assert state.variants == replay_of(data.directory).variants


def test_variants_of_several_runs_have_the_names_of_the_page(data: ReportData, tmp_path: Path) -> None:
    other = read_report_data(analysed(tmp_path / "other", moved("one")))
    page = render_several([data, other], tmp_path / "both.html")
    assert len({variant.name for variant in held(page).variants}) == 3


def test_a_replay_that_is_too_large_is_left_to_its_own_page(data: ReportData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replayed, "LARGEST", 100)
    page = render(data)
    assert 'class="state"' not in page
    assert f"<code>brokerlab replay {data.directory.name}</code> shows it" in page


def test_large_logs_are_not_read_again(data: ReportData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_data, "MOST_REPLAYED", 100)
    assert read_report_data(data.directory).replayed == {}
