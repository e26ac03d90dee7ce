"""scenarios/README.md lists every scenario with its duration and the claims that are measured by it."""

from __future__ import annotations

import re

import pytest

from analysis.claims import load_claims
from scenario.loading import load
from tests.documentation.markdown import ROOT

DIRECTORY = ROOT / "scenarios"
TEXT = (DIRECTORY / "README.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("| `")]
FILES = sorted(str(path.relative_to(DIRECTORY)) for path in DIRECTORY.rglob("*.yaml"))
_REPRODUCED = ("tid/", "octopia/", "medym/med-", "gryphon/", "semi/")
"""Scenarios whose rows name claims in place of a duration."""
_TIME = re.compile(r"(?:(\d+) min)? ?(?:(\d+) s)?")


def row_of(file: str) -> list[str]:
    (row,) = [row for row in ROWS if f"`{file}`" in row]
    return [cell.strip() for cell in row.strip("|").split("|")]


def seconds(text: str) -> list[float]:
    """Seconds of each variant, from a text such as `2 x 4 min 10 s` or `39 s and 3 min 15 s`."""
    times, _, duration = text.rpartition(" x ")
    found = []
    for part in duration.split(" and "):
        match = _TIME.fullmatch(part)
        assert match is not None, part
        found.append(60.0 * int(match[1] or 0) + int(match[2] or 0))
    return found * int(times or 1)


def test_every_scenario_is_listed() -> None:
    named = sorted(name for row in ROWS for name in re.findall(r"`([\w/-]+\.yaml)`", row.split("|")[1]))
    assert named == FILES


@pytest.mark.parametrize("file", [file for file in FILES if not file.startswith(_REPRODUCED)])
def test_the_listed_duration_is_the_scenarios(file: str) -> None:
    variants = [variant.scenario for variant in load(DIRECTORY / file).variants()]
    assert seconds(row_of(file)[2]) == [variant.timeline.duration * variant.dilation for variant in variants]


def test_claims_are_where_they_are_measured() -> None:
    listed = {
        claim: file for file in FILES for claim in re.findall(r"`((?:tid|oct|med|gry|semi)-[\w-]+)`", row_of(file)[2])
    }
    for claim in load_claims().claims:
        if claim.measured_by is not None:
            assert f"`{claim.measured_by.scenario}`" in row_of(listed[claim.id])[0]
