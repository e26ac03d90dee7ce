"""Workloads whose operations are in a file that the test writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scenario.model import Scenario
from scenario.workload.generate import generate
from scenario.workload.workload import Workload

FromFile = Callable[..., Workload]
CheckFile = Callable[..., list[str]]

ROWS = (
    {"time": 0, "client": "Ann", "operation": "advertise", "id": "a1", "content": "[class,eq,'X'],[price,>,0]"},
    {"time": 0, "client": "Bob", "operation": "subscribe", "id": "s1", "content": "[class,eq,'X'],[price,>,5]"},
    {"time": 10, "client": "Ann", "operation": "publish", "content": {"class": "X", "price": 3}},
    {"time": 11, "client": "Bob", "operation": "unsubscribe", "id": "s1"},
    {"time": 12, "client": "Cleo", "operation": "subscribe", "id": "s1", "content": "[class,eq,'X']"},
    {"time": 14, "client": "Ann", "operation": "publish", "content": "[class,'X'],[price,8.5]"},
)
"""A small file: what stands at the start, and two publications with changes between them."""


def scenario_of(file: Path, **fields: Any) -> Scenario:
    """A scenario of three brokers that plays a file for 20 seconds, with further fields of the workload."""
    return Scenario.model_validate(
        {
            "name": "file",
            "topology": {"kind": "line", "brokers": 3},
            "routing": {"protocol": "tid"},
            "workload": {"kind": "file", "operations": str(file), **fields},
            "timeline": {"join": "10s", "run": "20s", "drain": "1s"},
            "seed": 5,
        }
    )


def write_lines(file: Path, rows: Any) -> Path:
    """Writes rows as JSON lines."""
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


@pytest.fixture
def from_file(tmp_path: Path) -> FromFile:
    """The workload of rows of JSON, with further fields of the section."""

    def made(rows: Any = ROWS, **fields: Any) -> Workload:
        scenario = scenario_of(write_lines(tmp_path / "rows.jsonl", rows), **fields)
        return generate(scenario, scenario.overlay())

    return made
