"""Times of publications of many publishers, merged, at the cost of a few bytes for each publisher.

1. `periodic`: publisher i publishes at phase_i + n / rate_i, with a random phase within the first gap.
2. `poisson`: independent Poisson processes, drawn as their superposition, which is a Poisson process of the total rate
   whose arrivals belong to publisher i with probability rate_i / total (Kingman, Poisson Processes, 1993, sections 2.2
   and 5.1).
"""

from __future__ import annotations

import heapq
import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from record.time_units import SECOND
from scenario.sections.workload.kind import Arrivals

Arrival = tuple[int, int, int]
"""Nanoseconds since the first publisher started, the publisher's index, and its publication's number from 1."""


def merged_arrivals(rates: Sequence[float], kind: Arrivals, run: float, rng: random.Random) -> Iterator[Arrival]:
    """The arrivals of all publishers in `run` seconds, sorted by time; `rates` are publications a second."""
    return (_periodic if kind == "periodic" else _poisson)(rates, round(run * SECOND), rng)


def _periodic(rates: Sequence[float], run: int, rng: random.Random) -> Iterator[Arrival]:
    gaps = [SECOND / rate for rate in rates]
    phases = [rng.random() * gap for gap in gaps]
    waiting = [(int(phase), index, 1) for index, phase in enumerate(phases)]
    heapq.heapify(waiting)
    while waiting and waiting[0][0] < run:
        time, index, number = waiting[0]
        yield time, index, number
        heapq.heapreplace(waiting, (int(phases[index] + number * gaps[index]), index, number + 1))


def _poisson(rates: Sequence[float], run: int, rng: random.Random) -> Iterator[Arrival]:
    cumulative = list(accumulate(rates))
    total, last = cumulative[-1], len(rates) - 1
    numbers = [0] * len(rates)
    at = rng.expovariate(total) * SECOND
    while at < run:
        index = min(bisect_right(cumulative, rng.random() * total), last)
        numbers[index] += 1
        yield int(at), index, numbers[index]
        at += rng.expovariate(total) * SECOND
