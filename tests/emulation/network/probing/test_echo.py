from __future__ import annotations

import random
import statistics

from hypothesis import given
from hypothesis import strategies as st

from emulation.network.probing.echo import EchoTimes, read_clock
from record.time_units import SECOND


def exchange(sent: int, offset: int, there: int, held: int, back: int) -> EchoTimes:
    """A question asked at `sent`, of a clock that is `offset` ahead, with what each part of its way took."""
    received = sent + there
    return EchoTimes(sent, received + offset, received + held + offset, received + held + back)


@given(
    offset=st.integers(-(10**6) * SECOND, 10**6 * SECOND),
    ways=st.lists(st.tuples(*[st.integers(0, SECOND)] * 3), min_size=1, max_size=20),
)
def test_the_true_offset_is_within_the_error_whatever_ways_take(offset: int, ways: list[tuple[int, int, int]]) -> None:
    reading = read_clock(exchange(number * SECOND, offset, *way) for number, way in enumerate(ways))
    assert reading is not None
    assert abs(reading.offset - offset) <= reading.error
    assert reading.error <= min((there + back + 1) // 2 for there, _, back in ways)


def test_the_shortest_round_trip_counts() -> None:
    quick, slow = exchange(50, 1000, 10, 500, 10), exchange(90, 1000, 400, 0, 10)
    for exchanges in ([quick, slow], [slow, quick]):
        reading = read_clock(exchanges)
        assert reading is not None
        assert (reading.offset, reading.error) == (1000, 10)
        assert reading.delay == 10e-9


def test_of_no_answers_nothing_is_known() -> None:
    assert read_clock([]) is None


def test_many_questions_find_an_offset_through_a_noisy_network() -> None:
    """Ways of 2 ms with exponential noise of 5 ms: single estimates are milliseconds off, the best of 100 is not."""
    noise = random.Random(1)
    errors = []
    for _ in range(50):
        ways = [
            (2_000_000 + round(noise.expovariate(2e-7)), 0, 2_000_000 + round(noise.expovariate(2e-7)))
            for _ in range(100)
        ]
        reading = read_clock(exchange(0, 7 * SECOND, *way) for way in ways)
        assert reading is not None
        errors.append(abs(reading.offset - 7 * SECOND))
    assert statistics.median(errors) < 500_000
