"""Jitter hides neither the platform nor waits for a processor: links take what was asked, and a replay the rest, too.

Real brokers log an arrival when their event loop has the message, so the platform's latency is ahead of that.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis.budget.replay.stage import ReplayedDelays
from analysis.budget.tally import Sums
from analysis.budget.variant import AtRest, Latency
from record.processors import RELAY
from record.time_units import MILLISECOND, SECOND
from tests.analysis.budget.made import COUNT, DELAY, EVERY, Delays, asked, budget_and_replay, line, read, total, waits
from topology.link_properties import LinkProperties

BROKERS = ("A", "B")
LATENCIES = [MILLISECOND // 10, MILLISECOND // 5, MILLISECOND // 2, MILLISECOND // 10]
PLATFORM = [LATENCIES[number % len(LATENCIES)] for number in range(COUNT)]
HELD_UP = [4 * MILLISECOND if number % 5 == 0 else 0 for number in range(COUNT)]
"""Nanoseconds for which each message waits for a processor."""


def drawn(jitter: int) -> list[int]:
    """Jitter of each message, whose mean is zero."""
    draws = np.random.default_rng(5).normal(0, jitter, COUNT // 2)
    return [round(draw) for pair in zip(draws, -draws, strict=True) for draw in pair]


def cut(jitter: int, held_up: list[int], node: str) -> tuple[Sums, ReplayedDelays]:
    """The budget and the replay of messages that the platform and a wait of a node made late, besides jitter."""
    delays = [sum(parts) for parts in zip(drawn(jitter), PLATFORM, held_up, strict=True)]
    ends = [SECOND + number * EVERY + DELAY + delay for number, delay in enumerate(delays)]
    variant = asked({node: waits(zip(ends, held_up, strict=True))})
    link = LinkProperties(delay=DELAY / SECOND, jitter=jitter / SECOND)
    of_audit = replace(variant.asked, links={("A", "B"): link, ("B", "A"): link})
    variant = replace(variant, asked=of_audit, rest=AtRest(link=Latency(tuple(LATENCIES))))
    read_line = read(line(Delays(arriving=delays)), ["base"], BROKERS)
    tally, replay = budget_and_replay(read_line, [variant], BROKERS, 2)
    found = replay.of(0)
    assert found is not None
    return total(tally), found


JITTERS = [MILLISECOND // 20, MILLISECOND // 4, MILLISECOND]


@pytest.mark.parametrize("jitter", JITTERS)
def test_the_platform_is_not_a_part_of_the_jitter(jitter: int) -> None:
    sums, replay = cut(jitter, [0] * COUNT, "B")
    assert sums.links / COUNT == pytest.approx(DELAY, abs=0.05 * MILLISECOND)
    assert sums.unexplained / COUNT == pytest.approx(0, abs=0.05 * MILLISECOND)
    assert replay.mean_ms == pytest.approx(sums.delay / COUNT / MILLISECOND, abs=0.02)


@pytest.mark.parametrize("jitter", JITTERS)
@pytest.mark.parametrize("node", ["B", RELAY])
def test_waits_are_contention_and_not_jitter(jitter: int, node: str) -> None:
    sums, replay = cut(jitter, HELD_UP, node)
    waited = sum(HELD_UP) / COUNT
    assert sums.contention / COUNT == pytest.approx(waited, rel=0.2)
    assert sums.unexplained / COUNT == pytest.approx(0, abs=0.15 * waited)
    calm = (DELAY * COUNT + sum(PLATFORM)) / COUNT / MILLISECOND
    assert replay.mean_ms == pytest.approx(calm, abs=0.1), "the platform stays, and the waits go"
