"""The relay's scheduler in virtual time."""

from __future__ import annotations

import statistics
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.network.relay.shaping import DropReason, Shaper, standard_quantiles
from topology.link_properties import JitterDistribution, LinkProperties

MILLISECOND = 1_000_000
SECOND = 1_000 * MILLISECOND

arrivals = st.lists(st.tuples(st.integers(0, 3 * MILLISECOND), st.integers(60, 1514)), max_size=60)
"""Time since the frame before, and size."""


def admit_all(shaper: Shaper, frames: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The arrival of each frame, and the decision about it."""
    now, decided = 0, []
    for gap, size in frames:
        now += gap
        decided.append((now, shaper.admit(now, size)))
    return decided


def serialise(frames: list[tuple[int, int]], rate: float, queue_limit: int) -> list[int]:
    """A naive queue before a line, simulated frame by frame: when each frame is on the line, or a `DropReason`."""
    now, ends, decided = 0, [], []
    for gap, size in frames:
        now += gap
        unfinished = [end for end in ends if end > now]
        if len(unfinished) > queue_limit:  # one is on the line, the others wait
            decided.append(int(DropReason.QUEUE))
            continue
        ends.append(max([now, *unfinished]) + int(size * 8 * SECOND / rate))
        decided.append(ends[-1])
    return decided


@given(arrivals, st.sampled_from([64e3, 1e6, 10e6, 1e9]), st.integers(1, 8), st.integers(0, 20))
def test_rate_and_queue_are_those_of_a_naive_queue(
    frames: list[tuple[int, int]], rate: float, queue_limit: int, delay: int
) -> None:
    shaper = Shaper(LinkProperties(delay=delay / 1000, rate=rate, queue_limit=queue_limit), "seed")
    expected = [end if end < 0 else end + delay * MILLISECOND for end in serialise(frames, rate, queue_limit)]
    assert [due for _, due in admit_all(shaper, frames)] == expected


@given(arrivals, st.sampled_from(JitterDistribution), st.floats(0, 0.02), st.floats(0, 0.01), st.booleans())
def test_frames_neither_overtake_each_other_nor_leave_before_they_came(
    frames: list[tuple[int, int]], distribution: JitterDistribution, delay: float, jitter: float, limited: bool
) -> None:
    properties = LinkProperties(delay, jitter, distribution, loss=0.1, rate=1e7 if limited else None, queue_limit=5)
    kept = [(now, due) for now, due in admit_all(Shaper(properties, "seed"), frames) if due >= 0]
    assert all(due >= now for now, due in kept)
    assert all(before <= after for (_, before), (_, after) in pairwise(kept))


@given(arrivals, st.text(max_size=3))
def test_a_seed_decides_everything(frames: list[tuple[int, int]], seed: str) -> None:
    properties = LinkProperties(0.005, 0.001, JitterDistribution.PARETO, 0.3)
    assert admit_all(Shaper(properties, seed), frames) == admit_all(Shaper(properties, seed), frames)


def spaced_delays(properties: LinkProperties, count: int = 20_000) -> list[float]:
    """Delays in seconds of frames a second apart, which never meet."""
    decided = admit_all(Shaper(properties, "seed"), [(SECOND, 100)] * count)
    return [(due - now) / SECOND for now, due in decided if due >= 0]


@pytest.mark.parametrize("distribution", [JitterDistribution.NORMAL, JitterDistribution.PARETO])
def test_jitter_is_the_standard_deviation(distribution: JitterDistribution) -> None:
    delays = spaced_delays(LinkProperties(0.050, 0.004, distribution))
    assert statistics.fmean(delays) == pytest.approx(0.050, abs=0.0002)
    assert statistics.stdev(delays) == pytest.approx(0.004, rel=0.1)


def test_uniform_jitter_is_the_half_width() -> None:
    delays = spaced_delays(LinkProperties(0.050, 0.004, JitterDistribution.UNIFORM))
    assert 0.046 <= min(delays) < 0.0461
    assert 0.0539 < max(delays) <= 0.054
    assert sum(delay < 0.048 for delay in delays) / len(delays) == pytest.approx(0.25, abs=0.02)


def test_pareto_is_skewed_and_normal_is_not() -> None:
    assert statistics.median(standard_quantiles(JitterDistribution.PARETO)) < -0.2
    assert statistics.median(standard_quantiles(JitterDistribution.NORMAL)) == pytest.approx(0, abs=1e-9)


def test_jitter_beyond_the_delay_never_makes_it_negative() -> None:
    assert min(spaced_delays(LinkProperties(0.001, 0.005), 2_000)) == 0


def test_loss_is_a_share_of_frames() -> None:
    decided = [due for _, due in admit_all(Shaper(LinkProperties(loss=0.1), "seed"), [(1, 100)] * 20_000)]
    assert decided.count(int(DropReason.LOSS)) == pytest.approx(2_000, abs=5 * (20_000 * 0.09) ** 0.5)


def test_a_lost_frame_uses_no_rate() -> None:
    shaper = Shaper(LinkProperties(loss=1.0, rate=8_000), "seed")
    assert shaper.admit(0, 1_000) == DropReason.LOSS
    shaper.change(LinkProperties(rate=8_000))
    assert shaper.admit(0, 1_000) == SECOND


def test_changed_properties_leave_alone_what_is_under_way() -> None:
    shaper = Shaper(LinkProperties(delay=0.1), "seed")
    assert shaper.admit(0, 100) == 100 * MILLISECOND
    shaper.change(LinkProperties(delay=0.01))
    assert shaper.admit(MILLISECOND, 100) == 100 * MILLISECOND, "it may not overtake the one before"
    assert shaper.admit(95 * MILLISECOND, 100) == 105 * MILLISECOND


def test_a_changed_rate_still_lets_the_queue_out_first() -> None:
    shaper = Shaper(LinkProperties(rate=8_000), "seed")
    assert shaper.admit(0, 1_000) == SECOND
    shaper.change(LinkProperties(rate=80_000))
    assert shaper.admit(0, 1_000) == SECOND + SECOND // 10


def test_a_frame_that_has_just_left_makes_room() -> None:
    shaper = Shaper(LinkProperties(rate=8_000, queue_limit=1), "seed")
    assert [shaper.admit(0, 1_000), shaper.admit(0, 1_000)] == [SECOND, 2 * SECOND]
    assert shaper.admit(SECOND - 1, 1_000) == DropReason.QUEUE
    assert shaper.admit(SECOND, 1_000) == 3 * SECOND


def test_a_link_that_is_down_drops() -> None:
    shaper = Shaper(LinkProperties(), "seed")
    shaper.up = False
    assert shaper.admit(0, 100) == DropReason.DOWN
    shaper.up = True
    assert shaper.admit(5, 100) == 5
