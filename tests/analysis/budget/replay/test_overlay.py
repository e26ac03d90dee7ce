"""Messages that are replayed, by hand: brokers A (0), B (1) and C (2), and links from A. Times in microseconds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis.auditing.hops.asked import AskedVariant
from analysis.budget.replay.overlay import replayed
from analysis.budget.replay.rows import HopColumn
from analysis.budget.variant import AtRest, BudgetedVariant, Latency
from analysis.reading.event_table import NOBODY
from record.service_time import SendingOrder

A, B, C = 0, 1, 2
MICROSECOND = 1000
VARIANT = BudgetedVariant(asked=AskedVariant(links={}), rest=AtRest(link=Latency((0, 2000 * MICROSECOND))))
DELAY = 5000


def turns(*hops: dict[HopColumn, int], variant: BudgetedVariant = VARIANT) -> list[int]:
    """The turns of hops, which are given in the order of their logged turns."""
    rows = np.zeros((len(hops), len(HopColumn)), dtype=np.int64)
    for row, hop in zip(rows, hops, strict=True):
        for column, number in hop.items():
            time = column not in {HopColumn.BROKER, HopColumn.SENDER, HopColumn.MESSAGE}
            row[column] = number * MICROSECOND if time else number
    return [int(turn) // MICROSECOND for turn in replayed(rows, variant, ["A", "B", "C"])]


def published(message: int, turn: int, **more: int) -> dict[HopColumn, int]:
    """A client's message at A."""
    return hop(BROKER=A, MESSAGE=message, SENDER=NOBODY, TURN=turn, DUE=turn) | hop(**more)


def passed(message: int, turn: int, entered: int, **more: int) -> dict[HopColumn, int]:
    """A message from A at B."""
    given = {"TRAVELLING": DELAY, "DUE": turn, **more}
    return hop(BROKER=B, MESSAGE=message, SENDER=A, TURN=turn, ENTERED=entered, **given)


def hop(**columns: int) -> dict[HopColumn, int]:
    return {HopColumn[name]: number for name, number in columns.items()}


def test_a_message_that_came_late_for_no_reason_comes_when_its_link_is_through() -> None:
    assert turns(published(7, 100), passed(7, 90_000, 130)) == [100, 130 + DELAY]


def test_a_message_does_not_leave_before_the_one_ahead_is_acknowledged_where_a_link_has_one_in_flight() -> None:
    first, second = passed(7, 30_000, 100), passed(8, 50_000, 200, ACKNOWLEDGED=2 * DELAY)
    found = turns(published(7, 100), published(8, 200), first, second)
    assert found == [100, 200, 100 + DELAY, 100 + 3 * DELAY]
    late = passed(8, 50_000, 20_000, ACKNOWLEDGED=2 * DELAY)
    assert turns(published(7, 100), published(8, 20_000), first, late)[-1] == 20_000 + DELAY, (
        "it was acknowledged long ago"
    )


@pytest.mark.parametrize(("order", "waited"), [(SendingOrder.SIDE_BY_SIDE, 0), (SendingOrder.IN_TURN, 400)])
def test_a_copy_waits_for_that_to_another_neighbour_where_links_send_in_turn(order: SendingOrder, waited: int) -> None:
    first = passed(7, 30_000, 100, SENDING=400)
    second = passed(7, 30_001, 100, SENDING=400) | hop(BROKER=C)
    found = turns(published(7, 100), first, second, variant=replace(VARIANT, sending=order))
    assert found[1:] == [100 + 400 + DELAY, 100 + waited + 400 + DELAY]


def test_a_message_does_not_overtake_the_one_ahead() -> None:
    first = passed(7, 30_000, 100, TRAVELLING=4 * DELAY)
    second = passed(8, 30_001, 200, TRAVELLING=DELAY)
    assert turns(published(7, 100), published(8, 200), first, second)[2:] == [100 + 4 * DELAY] * 2


def test_a_message_that_contention_held_up_is_not_handled_behind_what_came_later() -> None:
    """Its broker had it before the other one, and was given no processor."""
    other = published(9, 40_000) | hop(BROKER=B)
    late = passed(7, 40_050, 100, DUE=100 + DELAY)
    assert turns(published(7, 100), other, late)[1:] == [40_000, 100 + DELAY]


def test_messages_that_were_ready_at_nearly_the_same_time_are_handled_as_logged() -> None:
    """It is not known when a message was ready that had to wait; 100 us are within what the platform takes."""
    first = published(9, 100 + DELAY + 150, OWN=50) | hop(BROKER=B, DUE=100 + DELAY + 100)
    second = passed(7, 100 + DELAY + 200, 100, DUE=100 + DELAY, OWN=50)
    found = turns(published(7, 100), first, second)
    assert found[1:] == [100 + DELAY + 150, 100 + DELAY + 200]


def test_a_message_that_a_router_held_back_is_held_back_as_long() -> None:
    later = published(8, 60_000)
    assert turns(published(7, 100), later, passed(7, 80_000, 70_100))[2] == 70_100 + DELAY


def test_a_message_that_a_timer_made_comes_when_it_came() -> None:
    assert turns(published(7, 100), passed(8, 80_000, 70_100))[1] == 70_100 + DELAY


def test_what_is_held_back_holds_up_nothing_that_leaves_before() -> None:
    held, at_once = passed(7, 80_000, 70_100), passed(8, 90_000, 200)
    assert turns(published(7, 100), published(8, 200), held, at_once)[2:] == [70_100 + DELAY, 200 + DELAY]


def test_a_message_without_a_cause_in_the_log_has_no_turn() -> None:
    """Two messages that caused each other, as only damaged logs have."""
    one = hop(BROKER=A, MESSAGE=7, SENDER=B, TURN=500, ENTERED=500)
    other = hop(BROKER=B, MESSAGE=7, SENDER=A, TURN=500, ENTERED=500)
    assert all(turn < 0 for turn in turns(one, other))
