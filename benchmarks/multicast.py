"""Time of a decision of dynamic multicast: `python -m benchmarks.multicast [--quick]`.

2,500 servers lie on a square, distances are those of the plane, and a tenth of the servers is overloaded. Destination
lists are drawn at random. Every decision is timed by itself and without a cache; a figure is the median of all lists in
the quickest of some rounds over them, because the reference loop is timed so, and a processor of a virtual machine can
be half as fast for seconds. Targets stand for MEDYM's Table 1 (1.8 and 144 ms for MST, 0.08 and 1.12 for CloseMST, 0.08
and 1.31 for BalancedMST on lists of 100 and 2,000; 2 GHz Pentium III, Java). Growth is that from lists of 10 servers
on; `--quick` leaves lists of 2,000 out.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from time import thread_time_ns

import numpy as np

from benchmarks.support.growth import growth_of
from benchmarks.targets import Bound, Judgement, Target, conclude
from broker_service.routing.common.distances import Distances, Servers
from broker_service.routing.medym.multicast.routing_functions import Multicast, balanced_mst, close_mst, mst
from emulation.host.reference_loops import Reference, quickest

SERVERS = 2_500
SIZES = (10, 100, 2_000)
QUICK_SIZES = SIZES[:-1]
LISTS = {10: 2_000, 100: 1_000, 2_000: 100}
"""Destination lists by their size."""
ROUNDS = 8
"""Rounds over all lists of a size, on one processor after the other."""
OVERLOADED = 0.1
SEED = 1


ARRAYS = (
    "no regression is seen since the day on which the target was set (0.94 to 0.96 of the time of a revision of "
    "22 November, in six pairs), but calls of NumPy on rows of a large table take it, which no reference loop times: "
    "scaled by the interpreter's they take 1.2 to 2.1 times the target, where decisions in lists take 1.03 times theirs"
)
"""Measured on a busy host, with decisions and loop each in their quickest rounds."""


def _target(algorithm: str, size: int, milliseconds: float, defect: str = "") -> Target:
    return Target(
        f"decision of {algorithm} on {size:,} destinations",
        Bound.AT_MOST,
        milliseconds,
        "ms",
        Reference.INTERPRETER,
        defect,
    )


FORWARDING = _target("CloseMST", 10, 0.025)
"""Target of a decision at a server on the way, whose destination list is short."""
TARGETS: Mapping[str, Mapping[int, Target]] = {
    "MST": {100: _target("MST", 100, 0.25, ARRAYS), 2_000: _target("MST", 2_000, 18)},
    "CloseMST": {
        10: FORWARDING,
        100: _target("CloseMST", 100, 0.025, ARRAYS),
        2_000: _target("CloseMST", 2_000, 0.05, ARRAYS),
    },
    "BalancedMST": {
        100: _target("BalancedMST", 100, 0.03, ARRAYS),
        2_000: _target("BalancedMST", 2_000, 0.06, ARRAYS),
    },
}
"""Targets by algorithm and size of the list."""
BOUNDS = {
    "MST": "a step of Prim's algorithm for each destination, which reads its distances to those that wait",
    "CloseMST": "array operations on the distances to the next hops",
    "BalancedMST": "array operations on the distances to the next hops",
}


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="lists of at most 100 servers")
    sizes = QUICK_SIZES if parser.parse_args(arguments).quick else SIZES
    rng = np.random.default_rng(SEED)
    distances, overloaded = _distances(rng), rng.random(SERVERS) < OVERLOADED
    lists = {size: [_list(rng, size) for _ in range(LISTS[size])] for size in sizes}
    functions: Mapping[str, Multicast] = {
        "MST": mst,
        "CloseMST": close_mst,
        "BalancedMST": partial(balanced_mst, overloaded=overloaded),
    }
    judgements = []
    for name, function in functions.items():
        medians = {size: _median(function, distances, lists[size]) for size in sizes}
        print(f"{name}: " + ", ".join(f"{median:.3g} ms for {size:,}" for size, median in medians.items()))
        growth = growth_of("destinations", medians, BOUNDS[name])
        for size, target in TARGETS[name].items():
            if size in medians:
                judgements.append(target.judge(medians[size], growth if size == max(sizes) else None))
    return judgements


def _distances(rng: np.random.Generator) -> Distances:
    x, y = rng.random((2, SERVERS))
    return Distances(np.hypot(x[:, None] - x, y[:, None] - y))


def _list(rng: np.random.Generator, size: int) -> Servers:
    """Servers other than the first, which is the one that decides."""
    return np.sort(rng.choice(np.arange(1, SERVERS), size, replace=False)).astype(np.uint16)


def _median(function: Multicast, distances: Distances, lists: Sequence[Servers]) -> float:
    """Median time of a decision in the quickest round, in milliseconds."""
    return quickest(ROUNDS, lambda: _median_once(function, distances, lists))


def _median_once(function: Multicast, distances: Distances, lists: Sequence[Servers]) -> float:
    times = []
    for listed in lists:
        began = thread_time_ns()
        function(distances, 0, listed)
        times.append(thread_time_ns() - began)
    return statistics.median(times) / 1e6


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
