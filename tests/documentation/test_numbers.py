"""Numbers that pages and comments state, against the constants that programs use."""

from __future__ import annotations

import re
from pathlib import Path

from analysis.tables import summary
from broker_service.messages import ACKNOWLEDGE_WITHIN, ACKNOWLEDGED_AT_ONCE, MOST_IN_DOUBT
from record import manifest
from record.contract import CONTRACT
from studies.baselines import model as baselines
from studies.campaign import matrix

ROOT = Path(__file__).parents[2]


def test_the_time_in_which_publications_are_acknowledged_is_the_one_that_brokers_use() -> None:
    within = f"at the latest after {ACKNOWLEDGE_WITHIN:g} s"
    guarantees = " ".join((ROOT / "docs" / "guarantees.md").read_text().split())
    assert f"{within} or {ACKNOWLEDGED_AT_ONCE} publications" in guarantees
    assert f"the {MOST_IN_DOUBT} publications ahead of an acknowledgement" in guarantees
    assert within in (ROOT / "docs" / "logs.md").read_text()
    assert f"no more than {MOST_IN_DOUBT} ahead" in (ROOT / "proto" / "broker.proto").read_text()


def test_the_changelog_names_the_formats_that_are_written() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    formats = [manifest.FORMAT, summary.FORMAT, matrix.FORMAT, baselines.FORMAT, CONTRACT]
    assert [int(number) for number in re.findall(r"^\| [^|]+ \| (\d+) \|", text, re.MULTILINE)] == formats
    newest = re.search(r"^Formats: (.*)\.$", text, re.MULTILINE)
    assert newest is not None and [int(number) for number in re.findall(r"\d+", newest[1])] == formats
