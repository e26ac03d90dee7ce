"""Nodes that ran another program than the run was planned with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import Summary
from record.fidelity import worst
from record.manifest import MODELLED
from tests.analysis.history import joined, write_run

PLANNED = "0123456789abcdef"
OTHER = "fedcba9876543210"


def log_incarnation(run: Path, node: str, count: int, program: str) -> None:
    """A node starts, states its program unless it is empty, and ends in order."""
    common = {"time": count, "node": node, "variant": "base"}
    start = common | {"event": "started", "count": count} | ({"text": program} if program else {})
    with (run / "logs" / f"{node}.jsonl").open("a") as log:
        for record in (start, common | {"event": "stopped", "count": 0}):
            log.write(json.dumps(record) + "\n")


def audited(directory: Path, stated: dict[str, str], **manifest: object) -> tuple[str, list[tuple[float | None, str]]]:
    """The verdict by the audit of a run whose nodes state these programs, and the value and detail of the check."""
    run = write_run(directory, [joined("base").publish().notify(at=110.2)])
    file = run / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | manifest))
    for node, program in stated.items():
        log_incarnation(run, node, 1, program)
    summary = analyze(run, PlainEngine())
    checks = [check for check in summary.variants[0].audit if check.name == "programs"]
    return _verdict(summary), [(check.value, check.detail) for check in checks]


def _verdict(summary: Summary) -> str:
    return worst(check.verdict for check in summary.variants[0].audit)


@pytest.mark.parametrize(
    ("third", "said"),
    [
        (OTHER, f"B3 ran another program (digest {OTHER}): "),
        ("", "B3 did not state its program: "),
    ],
)
def test_a_node_with_another_program_is_named(tmp_path: Path, third: str, said: str) -> None:
    same = {"B1": PLANNED, "B2": PLANNED, "clients": PLANNED}
    assert audited(tmp_path / "same", same | {"B3": PLANNED}, program=PLANNED) == (
        "VALID",
        [(0.0, "all 4 nodes that started ran the program of the run")],
    )
    fidelity, [(value, detail)] = audited(tmp_path / "other", same | {"B3": third}, program=PLANNED)
    assert (fidelity, value) == ("INVALID", 1.0)
    assert detail == f"{said}the run was planned with the program of digest {PLANNED}"


def test_a_later_incarnation_counts_as_well(tmp_path: Path) -> None:
    fidelity, _ = audited(tmp_path / "run", {"B1": PLANNED}, program=PLANNED)
    assert fidelity == "VALID"
    log_incarnation(tmp_path / "run", "B1", 2, OTHER)
    assert _verdict(analyze(tmp_path / "run", PlainEngine())) == "INVALID"


def test_nothing_is_asked_where_there_is_nothing_to_compare(tmp_path: Path) -> None:
    fidelity, [(value, _)] = audited(tmp_path / "old", {"B1": OTHER})
    assert (fidelity, value) == ("VALID", None)
    modelled = {"name": MODELLED.name, "reason": MODELLED.reason}
    assert audited(tmp_path / "simulated", {"B1": ""}, program=PLANNED, links=modelled) == ("VALID", [])
