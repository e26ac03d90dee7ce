"""The digest of a plan changes with what is asked for, and with nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from studies.baselines.plan_digest import plan_digest


def scenario(directory: Path, text: str = "1,2") -> dict[str, Any]:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "quotes.csv").write_text(text)
    return {
        "name": "one",
        "seed": 1,
        "topology": {"kind": "line", "brokers": 3},
        "routing": {"protocol": f"{directory}/mine.py"},
        "workload": {"source": {"file": f"{directory}/quotes.csv"}},
        "vary": {"routing.protocol": {"mine": f"{directory}/mine.py", "program": f'program:["{directory}/mine","a"]'}},
    }


@pytest.mark.parametrize("change", [{"name": "two"}, {"seed": 2}, {"description": "x"}, {"expect": {"p95": "1s"}}])
def test_what_changes_nothing_that_runs_does_not_count(tmp_path: Path, change: dict[str, Any]) -> None:
    assert plan_digest(scenario(tmp_path)) == plan_digest(scenario(tmp_path) | change)


def test_another_clone_has_the_same_plan(tmp_path: Path) -> None:
    assert plan_digest(scenario(tmp_path / "a")) == plan_digest(scenario(tmp_path / "b"))


def test_the_content_of_files_counts(tmp_path: Path) -> None:
    assert plan_digest(scenario(tmp_path)) != plan_digest(scenario(tmp_path, "1,3"))


@pytest.mark.parametrize("change", [{"topology": {"kind": "line", "brokers": 4}}, {"routing": {"protocol": "tid"}}])
def test_another_overlay_or_protocol_is_another_plan(tmp_path: Path, change: dict[str, Any]) -> None:
    assert plan_digest(scenario(tmp_path)) != plan_digest(scenario(tmp_path) | change)
