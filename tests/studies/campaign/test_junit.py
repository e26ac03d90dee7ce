"""A campaign's JUnit document: what ran in each cell, how long, and how much of its verdict is judged."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as Xml

from msgspec import structs

from record.exit_codes import ExitCode
from studies.campaign.directory import CampaignDirectory
from studies.campaign.junit import suites_of
from studies.cells.attempt import CellFailure
from studies.junit import write_junit
from tests.studies.campaign.made_up import attempt, cell


def test_a_cell_has_the_facts_of_the_attempt_that_counted(tmp_path: Path) -> None:
    directory = CampaignDirectory(tmp_path / "campaign")
    first, second = cell(1), cell(2)
    busy = structs.replace(attempt(first, fidelity="DEGRADED", busy=True), seconds=70.0)
    directory.record(first, busy, final=False)
    assert directory.counted(first) is None
    directory.record(first, structs.replace(attempt(first), git_revision="ab12"), final=True)
    counted = {made.key: found for made in (first, second) if (found := directory.counted(made)) is not None}
    assert list(counted) == [first.key]
    failed = {"kill-3": CellFailure(message="no room", exit_code=ExitCode.HOST)}
    suites = suites_of("made-up", [first, second, cell(3)], counted, failed, Path("report/index.html"))
    write_junit(suites, tmp_path / "out.xml")
    done, left, broken = Xml.parse(tmp_path / "out.xml").getroot()
    assert {found.get("name"): found.get("value") for found in done.findall("properties/property")} == {
        "seed": "1",
        "revision": "ab12",
        "runtime": "process",
        "report": "report/index.html",
    }
    assert (done.get("time"), left.get("time"), left.get("skipped")) == ("40.000", "0.000", "1")
    assert broken.get("errors") == "1"
    delivery = next(done.iter("testcase"))
    power = {found.get("name"): found.get("value") for found in delivery.findall("properties/property")}
    assert (power["owed"], power["judged"], power["excused"]) == ("53", "52", "3")
    assert "judged 98% of 53 owed notifications; 1 not judged" in (delivery.findtext("system-out") or "")
