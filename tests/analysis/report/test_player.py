"""The data of the player, from runs that can be checked by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report import player
from analysis.report.data import ReportData, read_report_data
from analysis.report.page import render
from analysis.report.player import Played, PlayedVariant, as_script, played
from record.log import Event
from tests.analysis.history import SECOND, History, joined, write_run
from topology.mobility import Leg, Trajectory


def moved(variant: str) -> History:
    """B1 - B2 - B3 loses its second link 10 s after the run began and gets B1 - B3 2.5 s later."""
    history = (
        joined(variant).publish().receive().receive(at=110.04, broker="B3").receive(at=110.05, broker="B3").notify()
    )
    for at, event, link in ((110, Event.VANISHED, "B2-B3"), (112.5, Event.APPEARED, "B1-B3")):
        history.add("emulator", event, at, peer=link, duration=0, intended=round(at * SECOND))
    return history


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    run = write_run(tmp_path_factory.mktemp("runs") / "run", [moved("one"), moved("two")])
    analyze(run, PlainEngine())
    return read_report_data(run)


def test_links_have_their_times_and_variants_share_an_overlay(data: ReportData) -> None:
    found = played(data)
    (overlay,) = found.overlays
    assert overlay.brokers == ["B1", "B2", "B3"]
    assert overlay.links == [
        (0, 1, overlay.begin, overlay.end),
        (1, 2, overlay.begin, 10.0),
        (0, 2, 12.5, overlay.end),
    ]
    assert overlay.begin < 0 < overlay.end
    assert not overlay.shortened
    assert [(variant.name, variant.overlay) for variant in found.variants] == [("one", 0), ("two", 0)]


def test_brokers_without_movements_stay_in_place(data: ReportData) -> None:
    (overlay,) = played(data).overlays
    assert [len(way) for way in overlay.ways] == [1, 1, 1]
    assert all(0 <= x <= 1 and 0 <= y <= 1 for ((_, x, y),) in overlay.ways)


def test_movements_become_corners_in_the_unit_square(data: ReportData) -> None:
    still = Trajectory((Leg(0, 1000, (0, 50), (0, 0)),))
    walking = Trajectory((Leg(0, 10, (0, 0), (10, 0)), Leg(10, 1000, (100, 0), (0, 0))))
    ways = {"B1": walking, "B2": still, "B3": still}
    (overlay,) = played(replace(data, movements={"one": ways, "two": ways})).overlays
    begin, end = overlay.begin, overlay.end
    assert overlay.ways[0] == [(begin, 0, 0.5), (begin + 10, 1, 0.5), (end, 1, 0.5)]
    assert overlay.ways[1] == [(begin, 0, 0), (end, 0, 0)]


def test_events_name_the_brokers_in_the_order_in_which_they_were_reached(data: ReportData) -> None:
    (event,) = played(data).variants[0].events
    assert (event.name, event.visits) == ("P:1", [(10.02, 0, 1), (10.04, 2, 1)])


def test_an_overlay_that_changes_too_often_ends_early(data: ReportData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(player, "MOST_CHANGES", 1)
    overlay = played(data).overlays[0]
    assert (overlay.shortened, overlay.end) == (True, 12.5)
    assert overlay.links == [(0, 1, overlay.begin, 12.5), (1, 2, overlay.begin, 10.0)]


def test_an_overlay_that_stays_as_it_is_is_not_played(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [joined("base").publish().notify()])
    analyze(run, PlainEngine())
    data = read_report_data(run)
    assert (data.spread, played(data).variants) == ([], [])
    assert 'id="player"' not in render(data)


def test_the_page_holds_the_data_and_no_name_can_end_the_script(data: ReportData) -> None:
    hostile = Played(overlays=[], variants=[PlayedVariant(name="</script><b>", overlay=0, events=[])])
    assert "<" not in as_script(hostile)
    assert msgspec.json.decode(str(as_script(hostile)), type=Played) == hostile
    page = render(data)
    text = page.split('id="player-data">')[1].split("</script>")[0]
    assert msgspec.json.decode(text, type=Played) == played(data)
