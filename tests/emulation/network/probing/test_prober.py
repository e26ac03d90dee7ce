"""The prober's evaluation of arrivals."""

from __future__ import annotations

import random
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.network.probing import prober
from emulation.network.probing.echo import PROBE
from emulation.network.probing.messages import LARGE_PAYLOAD, OVERHEAD, ProbedDirection
from emulation.network.probing.prober import Prober, group, rate_of
from emulation.network.probing.probes import rounds_for

FRAME_BITS = (LARGE_PAYLOAD + OVERHEAD) * 8


@given(st.integers(5, 200), st.floats(1e5, 1e9))
def test_rate_of_an_even_train(count: int, rate: float) -> None:
    times = [round(rank * FRAME_BITS / rate * 1e9) for rank in range(count)]
    assert rate_of(times) == pytest.approx(rate, rel=1e-3)


def test_jitter_hardly_moves_the_rate() -> None:
    generator = random.Random(1)
    times = sorted(round(rank * FRAME_BITS / 10e6 * 1e9 + generator.gauss(0, 500_000)) for rank in range(40))
    assert rate_of(times) == pytest.approx(10e6, rel=0.03)


def test_too_few_packets_tell_no_rate() -> None:
    assert rate_of([1, 2, 3, 4]) is None
    assert rate_of([7] * 10) is None


@given(st.lists(st.integers(1, 30), max_size=40))
def test_groups_keep_order_and_budget(costs: list[int]) -> None:
    groups = list(group(range(len(costs)), costs.__getitem__, 20))
    assert [item for items in groups for item in items] == list(range(len(costs)))
    assert all(len(items) == 1 or sum(costs[item] for item in items) <= 20 for items in groups)


def test_a_packet_that_comes_after_its_time_is_not_taken_for_one_of_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it end the wait for them."""
    monkeypatch.setattr(prober, "in_namespace", lambda _, work: work())
    direction = ProbedDirection(
        processes=(0, 0), addresses=("127.0.0.1", "127.0.0.2"), delay=0.0, rate=None, train=0, warm_up=0, volley=3,
        volleys=2,
    )  # fmt: skip
    probing = Prober([direction])
    assert len(probing.delays(1, 0.01)[0]) == 1
    late = PROBE.pack(1, 0, 7, 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(late, probing._sockets["127.0.0.2"].getsockname())
        assert probing.losses() == [(6, 6)]


@pytest.mark.parametrize(("directions", "packets"), [(1, 20), (1_000, 20), (2_000, 10), (3_080, 7), (100_000, 7)])
def test_very_many_directions_get_fewer_packets_each(directions: int, packets: int) -> None:
    assert rounds_for(directions) == packets
