"""The matrix: numbers worked out by hand, canonical bytes, and a page that needs nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET

from analysis.claims.estimates import SeedEstimate
from studies.campaign.matrix import CellLine, SeedSpread, line_of, summarise, write_summary
from studies.campaign.report import build_report
from studies.campaign.result import struck_in_words
from studies.campaign.sentences import (
    closing_lines,
    delivery_ratio,
    failing,
    matrix_table,
    repeat_command,
    twice_run,
)
from tests.studies.campaign.made_up import attempt, cell, fault, result


def lines() -> list[CellLine]:
    return [
        CellLine(attempts=1, result=result(cell(1), faults=[fault(1.0, 10.0), fault(3.0, 20.0)])),
        CellLine(attempts=2, result=result(cell(2), faults=[fault(None, 30.0)])),
        CellLine(attempts=1, result=result(cell(3), "lost", "INVALID", faults=[])),
    ]


def test_a_line_holds_the_results_of_all_attempts() -> None:
    attempts = [
        attempt(cell(1), fidelity=verdict, busy=busy) for verdict, busy in (("VALID", True), ("INVALID", False))
    ]
    line = line_of(attempts, attempts[1].result)
    assert (line.attempts, line.result.fidelity, line.further) == (2, "INVALID", [attempts[0].result])
    assert line_of(attempts[1:], attempts[1].result).further is UNSET


def test_an_entry_is_over_seeds() -> None:
    summary = summarise("made-up", "", "f" * 16, 4, lines())
    (entry,) = summary.matrix
    assert (summary.planned, summary.done, summary.delivery, summary.fidelity) == (4, 3, ["lost"], "INVALID")
    assert (entry.cells, entry.correct, entry.defects, entry.fidelity) == (3, 2, ["lost"], {"INVALID": 1, "VALID": 2})
    assert (entry.lost, entry.expected, entry.faults, entry.not_recovered) == (2, 150, 3, 1)
    assert entry.recovered_s == SeedSpread(count=2, mean=2.0, least=1.0, most=3.0)
    assert entry.delay_during_ms == SeedSpread(count=3, mean=40.0, least=20.0, most=60.0)


def test_a_delivery_ratio_is_over_seeds(tmp_path: Path) -> None:
    """Half the interval is 12.706 (Student's t of one degree of freedom) times 0.1 / sqrt(2)."""
    made = [result(cell(1), ratio=0.8), result(cell(2), ratio=0.9 - 0.1), result(cell(3), ratio=None)]
    summary = summarise("made-up", "", "f" * 16, 4, [CellLine(attempts=1, result=found) for found in made])
    assert summary.matrix[0].delivery_ratio == SeedEstimate(mean=0.8, low=0.8, high=0.8, seeds=2)
    spread = [result(cell(1), ratio=0.8), result(cell(2), ratio=0.9)]
    summary = summarise("made-up", "", "f" * 16, 4, [CellLine(attempts=1, result=found) for found in spread])
    (entry,) = summary.matrix
    assert isinstance(entry.delivery_ratio, SeedEstimate)
    assert entry.delivery_ratio.low == pytest.approx(0.85 - 12.706 * 0.1 / 2, abs=1e-6)
    assert delivery_ratio(entry) == "85.0% (21.5% to 100.0%)"
    assert [column.header for column in matrix_table(summary).columns][-1] == "delivery ratio"
    assert "2 of 2 correct; delivery ratio 85.0% (21.5% to 100.0%)" in build_report(summary, tmp_path).read_text()


def test_the_power_is_over_cells(tmp_path: Path) -> None:
    summary = summarise("made-up", "", "f" * 16, 4, lines())
    (entry,) = summary.matrix
    assert (entry.power.owed, entry.power.judged, entry.power.excused) == (159, 156, {"in flight to B2": 9})
    words = "judged 98% of 159 owed notifications; 3 not judged: outside of the sample; 9 excused: in flight to B2; "
    assert f"{words}faults could cost at most 12" in list(closing_lines(summary))
    columns = {column.header: list(column.cells) for column in matrix_table(summary).columns}
    assert columns["judged"] == ["98% of 159"]
    page = build_report(summary, tmp_path).read_text()
    assert words in page
    assert page.count("98% of 53") == 6  # of three cells, each with its title


def test_where_every_delivery_is_promised_there_is_no_ratio() -> None:
    summary = summarise("made-up", "", "f" * 16, 4, lines())
    assert summary.matrix[0].delivery_ratio is UNSET
    assert "delivery ratio" not in [column.header for column in matrix_table(summary).columns]
    assert b"delivery_ratio" not in result(cell()).encode()


def test_what_is_told_at_the_end() -> None:
    summary = summarise("made-up", "", "f" * 16, 4, lines())
    closing = "\n".join(closing_lines(summary))
    assert "3 of 4 cells done; delivery correct in 2; fidelity: 2 VALID, 1 INVALID" in closing
    assert "1 further attempt," in closing
    (wrong,) = failing(summary.cells)
    command = repeat_command(Path("a b/scenario.yaml"), wrong.result)
    assert command == "brokerlab emulate 'a b/scenario.yaml' --runtime process"


def test_a_broker_defect_is_told_once_for_each_line_that_failed() -> None:
    """Two seeds meet the defect at different brokers and calls; a third one another, of no known line."""
    of_line = "broker defect: {} (protocol p.py) failed on {}: KeyError: 'a' (p.py:7, in publish)"
    without = "broker defect: B1 (protocol tid) failed on the timer 't': ValueError"
    made = []
    for number, sentence in enumerate((of_line.format("B1", "publish"), of_line.format("B2", "notify"), without), 1):
        found = result(cell(number), "broker defect")
        variants = [msgspec.structs.replace(found.variants[0], broker_defects=[sentence])]
        made.append(CellLine(attempts=1, result=msgspec.structs.replace(found, variants=variants)))
    told = [line for line in closing_lines(summarise("c", "", "f", 3, made)) if "broker defect" in line]
    assert told == [f"{of_line.format('B1', 'publish')}; in kill-1 and 1 more", f"{without}; in kill-3"]


def test_lines_rows_and_page_name_the_brokers_that_a_role_meant(tmp_path: Path) -> None:
    assert result(cell()).outcome == "kill B2: correct; VALID; recovered within 1.0 s"
    assert result(cell(), faults=[]).outcome == "correct; VALID"
    summary = summarise("made-up", "", "f" * 16, 4, lines())
    columns = {column.header: [str(field) for field in column.cells] for column in matrix_table(summary).columns}
    assert columns["faults"] == ["kill\nkill B2"]
    assert "<p>kill B2</p>" in build_report(summary, tmp_path).read_text()
    assert struck_in_words(["kill B1", "kill B2", "link_down B1-B2"]) == "kill B1, B2; link_down B1-B2"
    assert struck_in_words([f"kill B{number}" for number in range(5)]) == ""


def test_cells_that_are_one_experiment_under_two_names_are_told() -> None:
    first = result(cell())
    again = msgspec.structs.replace(first, key="edge-1", schedule="edge")
    assert list(twice_run([first, again])) == ["kill-1 and edge-1 are the same experiment: kill B2"]
    longer = msgspec.structs.replace(fault(), duration_s=3.0)
    others = (
        msgspec.structs.replace(again, seed=2),
        msgspec.structs.replace(again, factors={"routing.publications": "dynamic"}),
        msgspec.structs.replace(again, variants=result(cell(), faults=[longer]).variants),
    )
    for other in others:
        assert list(twice_run([first, other])) == []
    calm = result(cell(), faults=[])
    assert list(twice_run([calm, msgspec.structs.replace(calm, key="edge-1")])) == []


def test_the_same_results_have_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for name in "ab":
        (tmp_path / name).mkdir()
        write_summary(summarise("made-up", "", "f" * 16, 4, lines()), tmp_path / name)
        written.append((tmp_path / name / "summary.json").read_bytes())
    assert written[0] == written[1]
    assert not re.search(rb"here|/|T\d\d:\d\d", written[0].replace(b"made-up", b""))


def test_the_page_needs_no_network_and_shows_what_failed(tmp_path: Path) -> None:
    page = build_report(summarise("made-up", "<b>bold</b>", "f" * 16, 4, lines()), tmp_path).read_text()
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=", page)
    assert "&lt;b&gt;bold" in page
    assert "2 of 3 correct: lost" in page
    assert "2.00 (1.00 to 3.00)" in page
    assert f"brokerlab emulate {tmp_path}/cells/kill-3/scenario.yaml --runtime process" in page
    assert "1 cell is still to be run" in page


def test_a_page_of_nothing(tmp_path: Path) -> None:
    assert build_report(summarise("made-up", "", "f" * 16, 4, []), tmp_path).exists()
