"""Time until an offer is repeated: it follows what the party took, and neither lost messages nor further news."""

from __future__ import annotations

import pytest

from broker_service.routing.gryphon.propagation.parties import Exchanges
from broker_service.routing.gryphon.timer_keys import Party

AGAIN, LAST = 0.1, 60.0
PARTY = Party(1)
TRIP = 1.0


def exchanges_after(acknowledged: float, *, news: float = 0.0, repeated: float | None = None) -> Exchanges:
    """Exchanges with a party that was sent news at 0 and once more, that was offered them again, and that has
    acknowledged all of it at a time."""
    exchanges = Exchanges(AGAIN, LAST)
    exchanges.owe(PARTY, {1: 1}, 0.0, TRIP)
    exchanges.owe(PARTY, {1: 2}, news, TRIP)
    if repeated is not None:
        exchanges.repeat(PARTY, repeated, TRIP)
    assert exchanges.acknowledge(PARTY, {1: 2}, acknowledged)
    return exchanges


@pytest.mark.parametrize(
    ("exchanges", "took"),
    [
        (exchanges_after(1.5), 1.5),
        (exchanges_after(2.4, news=0.9), 1.5),  # the first news were acknowledged at 1.5, or not by themselves
        (exchanges_after(3.6, repeated=2.1), 1.5),  # what came before got lost
        (exchanges_after(2.6, repeated=2.1), 2.6),  # the repetition cannot have been answered yet
    ],
)
def test_the_next_wait_is_twice_the_time_that_the_party_took(exchanges: Exchanges, took: float) -> None:
    assert exchanges.owe(PARTY, {1: 3}, 10.0, TRIP) == pytest.approx(AGAIN + 2 * took)


def test_a_round_trip_that_was_not_measured_counts_as_half_a_second() -> None:
    assert Exchanges(AGAIN, LAST).owe(PARTY, {1: 1}, 0.0, None) == pytest.approx(AGAIN + 1.0)
