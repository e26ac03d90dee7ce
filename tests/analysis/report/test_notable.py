"""Defects and slow notifications on the page, each with its journey."""

from __future__ import annotations

import base64
import gzip
import re
from pathlib import Path

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.report.data import read_report_data
from analysis.report.page import render
from tests.analysis.history import History, joined, write_run
from tests.analysis.trace.handmade import half_a_journey, notified, whole_journey


def page(directory: Path, *histories: History) -> str:
    run = write_run(directory / "run", histories)
    analyze(run, PlainEngine())
    return render(read_report_data(run))


def section(text: str, title: str) -> str:
    begin = text.index(f"<h2>{title}</h2>")
    return text[begin : text.index("</section>", begin)]


def unfolded(text: str) -> str:
    """A part of a page with what it holds compressed."""
    packed = r'<script type="application/gzip">(.*?)</script>'
    return re.sub(packed, lambda found: gzip.decompress(base64.b64decode(found[1])).decode(), text)


def test_a_lost_notification_opens_its_journey(tmp_path: Path) -> None:
    wrong = section(page(tmp_path, half_a_journey("fast"), whole_journey("slow")), "What went wrong: fast")
    assert "<td>lost</td><td>P:1</td><td>S</td>" in wrong
    assert "last sent from B2 to B3 at 110.031 s" in wrong
    (steps,) = re.findall(r"<summary>journey</summary>\s*<pre>(.*?)</pre>", wrong, re.DOTALL)
    assert steps.splitlines()[0].split() == ["s", "into", "run", "took,", "ms", "where"]
    assert steps.splitlines()[-1].split("  ")[-1] == "broker B2: queue → B3"


def test_a_doubled_one_opens_both_ways(tmp_path: Path) -> None:
    wrong = section(page(tmp_path, notified(whole_journey(), 60)), "What went wrong: base")
    assert "notified 2 times" in wrong
    assert wrong.count("clients of B3: S is notified") == 2


def test_defects_beyond_the_examples_are_listed(tmp_path: Path) -> None:
    history = joined("base")
    for number in range(13):
        history.publish(f"P:{number}", 110 + number)
    wrong = section(page(tmp_path, history), "What went wrong: base")
    assert wrong.index("3 more</summary>") < wrong.index("<td>P:10</td>") < wrong.index("<td>P:12</td>")
    assert len(re.findall("<td>P:[0-9]+</td>", wrong)) == 13
    assert wrong.count("no broker recorded it") >= 13


def test_the_slowest_are_listed_with_their_journeys(tmp_path: Path) -> None:
    history = whole_journey().publish("P:2", 120).notify("P:2", at=120.9)
    slow = unfolded(section(page(tmp_path, history), "The slowest notifications"))
    assert "The 2 slowest</summary>" in slow
    assert slow.index("<td>900.00</td><td>–</td><td>P:2</td>") < slow.index("<td>50.00</td><td>10.00</td><td>P:1</td>")
    assert "B1 → B2 → B3" in slow
    assert "clients of B3: S is notified (not in the log)" in slow
    assert "The slowest notifications" not in page(tmp_path / "none", joined("base").publish("P:1", 110))
