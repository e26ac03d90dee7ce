"""Notifications in columns."""

from __future__ import annotations

from typing import Any

from analysis.claims.papers.medym.notified import COLUMNS, UNKNOWN, Notified
from analysis.tables.deliveries import Notification
from analysis.tables.rows import table_of
from tests.analysis.claims.papers.medym.small_runs import notification

EVENTS = {"P:1": 0, "P:2": 1}
SERVERS = {"A": 0, "B": 1}


def notified(*rows: Notification) -> Notified:
    batches = table_of(rows, Notification).select(COLUMNS).to_batches(max_chunksize=2)
    return Notified.of(batches, EVENTS, SERVERS)


def columns(found: Notified) -> list[tuple[int, int, int]]:
    return list(zip(found.event.tolist(), found.server.tolist(), found.hops.tolist(), strict=True))


def test_every_row_has_its_numbers_in_all_batches() -> None:
    rows = [notification(id, broker, "A", hops=hops) for hops, id in enumerate(EVENTS) for broker in ("B", "A")]
    assert columns(notified(*rows)) == [(0, 1, 0), (0, 0, 0), (1, 1, 1), (1, 0, 1)]


def test_what_has_no_number_is_unknown() -> None:
    unlogged: dict[str, Any] = {"hops": None}
    found = notified(notification("P:3", "B", "A", **unlogged), notification("P:1", "C", "A"))
    assert columns(found) == [(UNKNOWN, 1, UNKNOWN), (0, UNKNOWN, 1)]


def test_only_first_notifications_of_known_delay_count() -> None:
    first = notification("P:1", "B", "A")
    others = ({"delay_ms": None}, {"second": None}, {"repeat": 1})
    assert columns(notified(first, *(notification("P:2", "B", "A", **other) for other in others))) == [(0, 1, 1)]


def test_a_variant_without_notifications_has_empty_columns() -> None:
    assert columns(Notified.of((), EVENTS, SERVERS)) == []
