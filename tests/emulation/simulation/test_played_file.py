"""A table of operations played from end to end: planned, simulated, judged and described."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import UNSET

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import VariantSummary
from emulation.planning.calibration import Calibration
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record import manifest
from record.files import LOADS
from scenario.loading import load

_SCENARIO = """
name: played
topology: {kind: full, brokers: 3, link: {delay: 2ms}}
routing: {protocol: PROTOCOL}
workload:
  kind: file
  operations: table.jsonl
  columns: {broker: at}
  loop: true
timeline: {join: 4s, run: 21s, drain: 4s}
"""
_WANTED = "[class,eq,'X'],[price,>,5]"
_PAIR = "{[class,eq,'X'],[price,<,2]}&{[class,eq,'X'],[price,>,8]}"


def _table() -> str:
    """Ten seconds: a price each half second from 0 to 9.5, wanted by Bob all the time and by Eve from second 4 on."""
    rows: list[dict[str, object]] = [
        {"time": 0, "client": "Bob", "at": "B3", "operation": "subscribe", "id": "s1", "content": _WANTED},
        {"time": 0, "client": "Dan", "at": "B2", "operation": "composite", "id": "c1", "content": _PAIR, "within": 9.2},
    ]
    for number in range(20):
        content = {"class": "X", "price": number / 2}
        rows.append({"time": number / 2, "client": "Ann", "at": "B1", "operation": "publish", "content": content})
        if number == 8:
            rows.append(
                {"time": 4, "client": "Eve", "at": "B2", "operation": "subscribe", "id": "s1", "content": _WANTED}
            )
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def _run(directory: Path, protocol: str) -> tuple[VariantSummary, Path]:
    (directory / "table.jsonl").write_text(_table())
    (directory / "played.yaml").write_text(_SCENARIO.replace("PROTOCOL", protocol))
    plan = make_plan(load(directory / "played.yaml"))
    outcome = simulate(plan, directory / "runs", calibration=Calibration.free())
    (variant,) = analyze(outcome.directory, PlainEngine()).variants
    return variant, outcome.directory


@pytest.mark.parametrize("protocol", ["tid", "medym", "channelization"])
def test_a_played_table_is_delivered_as_it_says(tmp_path: Path, protocol: str) -> None:
    variant, run = _run(tmp_path, protocol)
    delivery = variant.delivery
    assert delivery.verdicts == ["correct"]
    assert delivery.published == 42, "21 s at two a second"
    # Prices above 5: nine in each of two passes, none in the third. Bob's are owed, Eve's from some time after it
    # subscribes on.
    assert delivery.delivered == delivery.expected + delivery.optional == 2 * (9 + 9)
    assert delivery.expected >= 2 * 9
    # A price is as high as its second, so eleven pairs of a pass are within 9.2 s, twelve of the end of the first and
    # the beginning of the second, and six of the end of the second and what is played of the third.
    assert delivery.detections is not UNSET
    assert delivery.detections.delivered == 11 + 12 + 11 + 6
    (record,) = manifest.read(run).variants
    assert sum(planned.publications for planned in record.planned.values()) == 42
    load = json.loads((run / LOADS / "1.json").read_text())
    assert load["amounts"]["publications"] == 42
    assert load["amounts"]["withdrawals"] == 2
