"""Deliveries that are lost while servers are down."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.claims.papers.medym.reliability import lost_share
from analysis.tables.deliveries import Expectation, Right
from analysis.tables.timeline import Fault
from record.faults import FaultKind

SERVERS = {"PA": "A", "PB": "B", "SB": "B", "SC": "C"}
KILLED_AT = 100


def fault(kind: str, *what: str) -> Fault:
    given: dict[str, Any] = {
        name: None for name in Fault.__struct_fields__ if name not in ("kind", "what", "began_ns", "variant")
    }
    return Fault(variant="CBF", kind=kind, what=list(what), began_ns=KILLED_AT, **given)


def expected(
    client: str, notifications: int, *, at: int = KILLED_AT, by: str = "PA", right: Right = Right.MUST
) -> Expectation:
    return Expectation(
        variant="CBF", publication="P:1", client=client, right=right, notifications=notifications, defect=None,
        cause=None, publisher=by, published_ns=at,
    )  # fmt: skip


KILL_C = (fault(FaultKind.KILL.value, "C"),)


def test_what_servers_lose_that_run_counts_whether_excused_or_not() -> None:
    rows = [
        expected("SB", 1),
        expected("SB", 0),
        expected("SB", 0, right=Right.MAY),
        expected("SB", 2),
    ]
    assert lost_share(KILL_C, rows, SERVERS) == 0.5


@pytest.mark.parametrize(
    "row",
    [
        expected("SC", 0),
        expected("SB", 0, at=KILLED_AT - 1),
        expected("SB", 0, by="PC"),
        expected("SB", 1, right=Right.NONE),
    ],
    ids=["client at a dead server", "published before", "publisher at a dead server", "no right"],
)
def test_these_do_not_count(row: Expectation) -> None:
    servers = {**SERVERS, "PC": "C"}
    assert lost_share(KILL_C, [row], servers) is None
    assert lost_share(KILL_C, [row, expected("SB", 1), expected("SB", 0)], servers) == 0.5


def test_without_a_kill_there_is_no_loss_to_measure() -> None:
    assert lost_share((fault(FaultKind.PAUSE.value, "C"),), [expected("SB", 0)], SERVERS) is None
