"""Back-off, and the moments at which many links to brokers that failed together are dialled again."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, product, takewhile

from broker_service.config import Limits
from broker_service.links.backoff import BackOff, phase_of

BROKERS = [f"B{number}" for number in range(1, 57)]
FAILED = BROKERS[:6]
WINDOW = 0.02


def dials(share: float) -> list[float]:
    """The moments of the first 20 seconds at which a link is dialled that waits a share of its delays."""
    limits = Limits()
    back_off = BackOff(limits.reconnect_first, limits.reconnect_last)
    return list(takewhile(lambda time: time < 20, accumulate(share * back_off.take() for _ in range(100))))


def most_in_a_window(moments: list[float]) -> int:
    """The largest number of these moments within `WINDOW` seconds, from the sixth second on."""
    late = sorted(moment for moment in moments if moment > 5)
    return max(bisect_left(late, first + WINDOW) - place for place, first in enumerate(late))


def test_delays_double_up_to_the_last_and_begin_anew_after_a_success() -> None:
    back_off = BackOff(0.1, 0.3)
    assert [back_off.take() for _ in range(4)] == [0.1, 0.2, 0.3, 0.3]
    back_off.reset()
    assert back_off.take() == 0.1


def test_links_that_broke_together_are_not_dialled_together() -> None:
    """Six of 56 brokers fail, and each of the others has six links to dial."""
    links = list(product(BROKERS[6:], FAILED))
    together = [moment for _ in links for moment in dials(1.0)]
    spread = [moment for broker, failed in links for moment in dials(1 - phase_of(broker, failed) / 2)]
    assert most_in_a_window(together) == len(links)
    assert most_in_a_window(spread) < len(links) / 10


def test_phases_are_shares_spread_over_the_whole_range() -> None:
    phases = sorted(phase_of("B1", neighbour) for neighbour in BROKERS[1:])
    assert 0 <= phases[0] < 0.1
    assert 0.9 < phases[-1] < 1
    assert phase_of("B1", "B2") != phase_of("B2", "B1")
