"""The time for which a plant held a publication up, from the times of the plant."""

from __future__ import annotations

import pytest

from record.log import Event, TraceRecord
from tests.planted_waits.__main__ import CASES, Result
from tests.planted_waits.plants import held_up

SPANS = [(100, 180), (500, 580)]


@pytest.mark.parametrize(("due", "waits"), [(99, 0), (100, 80), (179, 1), (180, 0), (510, 70)])
def test_what_is_due_while_a_node_is_held_up_waits_until_that_ends(due: int, waits: int) -> None:
    assert held_up(SPANS, due) == waits


def test_a_frame_is_due_at_the_relay_when_it_is_written_and_when_it_has_to_leave() -> None:
    relay = next(case for case in CASES if case.name == "relay")
    sent = {"node": "B1", "variant": "base", "event": Event.SENT, "kind": "publish", "id": "P:1", "peer": "B2"}
    assert list(relay.due(TraceRecord(100, **sent))) == [100, 20_000_100]
    assert list(relay.due(TraceRecord(100, written=150, **sent))) == [150, 20_000_150]


def test_a_tenth_more_or_less_is_right() -> None:
    results = [Result(10.0, booked, 0.0, 0.0) for booked in (8.9, 9.1, 10.9, 11.1)]
    assert [result.is_right for result in results] == [False, True, True, False]
