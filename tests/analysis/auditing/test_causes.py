"""Times that cannot be and workloads that were not planned make a run INVALID, with the node and by how much."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.drivers.clients import Clients
from emulation.drivers.driver_operations import ReadyOperation
from scenario.workload.operations import OperationKind
from tests.analysis.auditing.edited import CALM, Edit, Line, edited, findings, recounted, run_of

CAUSES = "effects logged before their causes"
PLAN = "publications not issued as planned"


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_of(CALM, tmp_path_factory.mktemp("calm"))


def shifted(milliseconds: int, *events: str) -> Edit:
    """Moves the times of these events; those of all records without any."""

    def edit(records: list[Line]) -> list[Line]:
        for record in records:
            if not events or record["event"] in events:
                record["time"] = max(0, record["time"] + milliseconds * 1_000_000)
        return records

    return edit


@pytest.mark.parametrize(
    ("node", "edit", "sentence"),
    [
        ("subscribers", shifted(-1000, "notified"), "clients were notified before publishers published"),
        ("subscribers", shifted(-5, "notified"), "were notified before it received"),
        ("B2", shifted(1500), "clients of B2 were notified before it received"),
        ("B2", shifted(-1500), "B2 received before B1 sent"),
        ("B2", shifted(-8), "B2 received before B1 sent"),
    ],
)
def test_clocks_that_disagree_are_named(calm: Path, tmp_path: Path, node: str, edit: Edit, sentence: str) -> None:
    assert sentence in findings(edited(calm, tmp_path / "run", {node: edit}))[CAUSES]


def test_a_broker_that_matched_a_publication_has_it(calm: Path, tmp_path: Path) -> None:
    """A publication on a detour is in a control message, and may be received again after clients were notified."""
    late = shifted(50, "received")
    without = findings(edited(calm, tmp_path / "late", {"B2": late}))
    assert "clients of B2 were notified before it received" in without[CAUSES]

    def matched_before(records: list[Line]) -> list[Line]:
        matched = [{**line, "event": "matched", "peer": None} for line in records if line["event"] == "received"]
        return [*matched, *late(records)]

    found = findings(edited(calm, tmp_path / "run", {"B2": matched_before}))
    assert "clients of B2" not in found.get(CAUSES, "")


def test_publications_that_are_not_issued_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    issue, met = Clients.issue, [0]

    def issue_nine_of_ten(self: Clients, operation: ReadyOperation, intended: int) -> None:
        met[0] += operation.kind is OperationKind.PUBLISH
        if operation.kind is not OperationKind.PUBLISH or met[0] % 10:
            issue(self, operation, intended)

    monkeypatch.setattr(Clients, "issue", issue_nine_of_ten)
    found = findings(run_of(CALM, tmp_path))
    assert "was to publish" in found[PLAN] and "times and published" in found[PLAN]


def test_publications_at_other_times_than_planned_are_named(calm: Path, tmp_path: Path) -> None:
    def late(records: list[Line]) -> list[Line]:
        for record in records:
            if record["event"] == "publish" and record["client"] == "P2":
                record["intended"] += 30_000_000
        return recounted(records)

    assert findings(edited(calm, tmp_path / "run", {"publishers": late}))[PLAN].startswith("P2 published 30.0 ms later")
