"""Load that real brokers carry when they deliver in order without gaps: `python -m benchmarks.reliable_throughput`.

Brokers and drivers run as in `benchmarks.throughput`: processes on loopback addresses, unshaped, with logging on and
stable storage in files. One publisher offers more than is carried, and *throughput* is what its subscriber gets in a
second. TID on a line of three brokers, which promises neither order nor completeness through faults, is the measure of
what these cost; Gryphon runs on that line and on a publisher's and a subscriber's broker with three brokers between
them. All runs are repeated in turn, and each cost is the median ratio of the runs of one turn.

    python -m benchmarks.reliable_throughput            two turns, about a minute and a half
    python -m benchmarks.reliable_throughput --quick    one turn
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.support.loopback import FIXED_TID, Routing
from benchmarks.targets import Bound, Judgement, Target, conclude
from benchmarks.throughput import OVERLAYS, Shape, Trial, report, run_trial
from emulation.host.reference_loops import Reference

LINE = OVERLAYS["line-3"]
NODE_OF_THREE = Shape(5, ((1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4), (2, 5), (3, 5), (4, 5)), 5)
"""Brokers 2, 3 and 4 have the same neighbours, each counted among its own, so that they are one node."""

OFFERED, SECONDS = 24_000.0, 2.0
"""Publications a second, and for how long: more than is carried, but no more than is delivered until a trial ends."""
MODERATE = 2_000.0
"""Publications a second at which delays are compared."""
TURNS = 2

LINE_CARRIED = Target(
    "Gryphon: throughput of three brokers in a line", Bound.AT_LEAST, 15_000, "publications/s", Reference.LOOPBACK
)
NODE_CARRIED = Target(
    "Gryphon: throughput through a node of three brokers", Bound.AT_LEAST, 12_000, "publications/s", Reference.LOOPBACK
)
CPU_PER_HOP = Target(
    "Gryphon: CPU time of a broker in the line for a publication", Bound.AT_MOST, 26, "us", Reference.INTERPRETER
)
MATCHING = Target(
    "Gryphon: comparing a publication's content at a broker", Bound.AT_MOST, 6, "us", Reference.INTERPRETER
)
ORDER = Target("throughput that order takes", Bound.AT_MOST, 10, "%")
DELAY = Target(f"median delay at {MODERATE:,.0f}/s that order takes", Bound.AT_MOST, 1, "ms", Reference.LOOPBACK)
PATHS = Target("throughput that a path for each publication takes", Bound.AT_MOST, 25, "%")
RESIDENT = Target(f"Gryphon: resident memory of a broker at {MODERATE:,.0f}/s", Bound.AT_MOST, 55, "MB")


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A protocol on an overlay, at a rate."""

    name: str
    shape: Shape
    routing: Routing
    rate: float = OFFERED


TID = Case("TID", LINE, FIXED_TID)
ORDERED = Case("Gryphon", LINE, Routing("gryphon"))
UNORDERED = Case("unordered", LINE, Routing("gryphon", {"order": "none"}))
ONE_PATH = Case("one path", NODE_OF_THREE, Routing("gryphon"))
MANY_PATHS = Case("many paths", NODE_OF_THREE, Routing("gryphon", {"paths": "message"}))
MODERATE_ORDERED = Case("Gryphon", LINE, ORDERED.routing, MODERATE)
MODERATE_UNORDERED = Case("unordered", LINE, UNORDERED.routing, MODERATE)
CASES = (TID, ORDERED, UNORDERED, ONE_PATH, MANY_PATHS, MODERATE_ORDERED, MODERATE_UNORDERED)

Turn = Mapping[Case, Trial]


def judge(turns: Sequence[Turn]) -> list[Judgement]:
    """Judgements of the medians over all turns."""
    return [
        LINE_CARRIED.judge(statistics.median(turn[ORDERED].throughput for turn in turns)),
        NODE_CARRIED.judge(statistics.median(turn[ONE_PATH].throughput for turn in turns)),
        CPU_PER_HOP.judge(statistics.median(turn[ORDERED].cpu_per_hop for turn in turns)),
        MATCHING.judge(statistics.median(turn[ORDERED].matching for turn in turns)),
        ORDER.judge(_loss(turns, ORDERED, UNORDERED)),
        PATHS.judge(_loss(turns, MANY_PATHS, ONE_PATH)),
        DELAY.judge(
            statistics.median(
                turn[MODERATE_ORDERED].percentile(0.5) - turn[MODERATE_UNORDERED].percentile(0.5) for turn in turns
            )
        ),
        RESIDENT.judge(max(turn[MODERATE_ORDERED].resident for turn in turns)),
    ]


def _loss(turns: Sequence[Turn], case: Case, reference: Case) -> float:
    """Percentage of the reference's throughput that a case lacks."""
    return 100 * (1 - statistics.median(turn[case].throughput / turn[reference].throughput for turn in turns))


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one turn")
    turns: list[Turn] = []
    for _ in range(1 if parser.parse_args(arguments).quick else TURNS):
        turn: dict[Case, Trial] = {}
        for case in CASES:
            turn[case] = run_trial(case.shape, case.rate, SECONDS, case.routing)
            report(case.name, turn[case])
        turns.append(turn)
    share = statistics.median(turn[ORDERED].throughput / turn[TID].throughput for turn in turns)
    hop = statistics.median(turn[ORDERED].cpu_per_hop / turn[TID].cpu_per_hop for turn in turns)
    print(f"Gryphon against TID on the line: {share:.0%} of the throughput, {hop:.1f} times the CPU time of a broker")
    return judge(turns)


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
