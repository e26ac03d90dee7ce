"""docs/workloads.md: its scenarios load, and its rows are those of the shipped table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scenario.loading import load
from scenario.workload.generate import generate
from tests.scenario.workload.file import parking

_PAGE = Path("docs/workloads.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", re.findall(r"```yaml\n(.*?)```", _PAGE, re.DOTALL), ids=lambda text: text[:12])
def test_examples_load(tmp_path: Path, example: str) -> None:
    (tmp_path / "parking.csv").write_text(parking.table(), encoding="utf-8")
    (tmp_path / "example.yaml").write_text(example)
    scenario = load(tmp_path / "example.yaml")
    assert sum(1 for _ in generate(scenario, scenario.overlay()).operations()) > 100


def test_rows_are_those_of_the_shipped_table() -> None:
    shown = [
        [cell.strip().strip("`") for cell in line.strip("| ").split(" | ")]
        for line in _PAGE.splitlines()
        if line.startswith("| 2026-")
    ]
    assert len(shown) == 3
    for ts, who, verb, *_ in shown:
        assert f"\n{ts},{who},{verb}," in parking.table(), ts
