"""Speed-up of a campaign on Spark by a second core: `python -m benchmarks.sweep [--cells 200]`.

Cells of `scenarios/cyclic-30.yaml`, one a seed, run on `local[1]` and on `local[2]`, in pairs whose order alternates,
so that other work on the host disturbs both alike. Two times are reported: that of the whole sweep, the start of Spark
included, and that of the cells, from the moment Spark is up. Every cell must have the same bytes of result in every
run.

For 200 cells or more the target is on the whole sweep. Fewer cells (the default) are judged by the cells' time, because
the start of Spark would be a large part of theirs. `--cluster MASTER` compares another cluster with `local[1]`.

Growth is that from two cells on. By default it is measured over a factor of 8 only, because 200 cells take a quarter of
an hour; `--cells 200` measures it over a factor of 100.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.support.growth import Growth
from benchmarks.targets import Bound, Judgement, Target, conclude
from studies.campaign import Campaign, CampaignCell, cells
from studies.campaign.directory import CampaignDirectory
from studies.cells.attempt import CellFailure, Keep
from studies.cells.executors.spark import spark_executor

ROOT = Path(__file__).resolve().parents[1]
SPEED_UP = Target("speed-up of a campaign by a second core", Bound.AT_LEAST, 1.8, "times")
DIFFERING = Target("cells whose results differ between runs", Bound.AT_MOST, 0)
FEW = 2
"""Cells of the shorter sweep, with which growth begins."""
BOUND = "the two cores, and with few cells by the last one, which runs alone"
WHOLE_SWEEP = 200
"""Number of cells from which on the start of Spark counts."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """One run of all cells."""

    master: str
    seconds: float
    """Duration of the sweep, the start and the end of Spark included."""
    seconds_of_cells: float
    """Duration from the begin of the first cell, when Spark is up, to the last result."""
    results: dict[str, bytes]


def cyclic_cells(count: int) -> tuple[CampaignCell, ...]:
    """Thirty lightly loaded brokers, with this number of seeds."""
    fields = {"name": "sweep", "scenario": "scenarios/cyclic-30.yaml", "runtime": "simulated", "seeds": f"1..{count}"}
    return cells(Campaign.model_validate(fields, context={"directory": ROOT}), Path("the benchmark"))


def sweep(master: str, planned: tuple[CampaignCell, ...]) -> Sweep:
    """Runs the cells, with progress on a terminal."""
    begin = time.monotonic()
    results: dict[str, bytes] = {}
    started = None
    nothing_kept = CampaignDirectory(Path("unused"))
    with closing(spark_executor(master, nothing_kept, Keep.NONE, print)(planned)) as tries:
        for number, attempted in enumerate(tries, 1):
            now = time.monotonic()
            if isinstance(attempted.attempt, CellFailure):
                raise attempted.attempt.error(attempted.cell.key)
            started = started or now - attempted.attempt.seconds
            finished = now
            results[attempted.cell.key] = attempted.attempt.result.encode()
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{master}: {number} of {len(planned)} cells")
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    assert started is not None
    return Sweep(master, time.monotonic() - begin, finished - started, results)


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=16, metavar="N")
    parser.add_argument("--pairs", type=int, default=1, metavar="N", help="runs on one core, and as many on two")
    parser.add_argument("--cluster", default="local[2]", metavar="MASTER", help="cluster to compare with local[1]")
    options = parser.parse_args(arguments)
    few = _compared(FEW, 1, options.cluster)
    found = _compared(options.cells, options.pairs, options.cluster)
    growth = Growth("cells", {FEW: few.of_cells, options.cells: found.of_cells}, BOUND) if options.cells > FEW else None
    print(f"speed-up of the whole sweep {found.whole:.2f}, of the cells {found.of_cells:.2f}")
    speed_up = found.whole if options.cells >= WHOLE_SWEEP else found.of_cells
    return [SPEED_UP.judge(speed_up, growth), DIFFERING.judge(few.differing + found.differing)]


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """Pairs of sweeps on one core and on more."""

    whole: float
    """Median ratio of the durations of whole sweeps."""
    of_cells: float
    """Median ratio of the durations of the cells."""
    differing: int
    """Cells whose results differ within a pair, of all pairs."""


def _compared(count: int, pairs: int, cluster: str) -> SpeedUp:
    """Runs this number of cells in pairs of sweeps."""
    planned = cyclic_cells(count)
    wholes, of_cells, differing = [], [], 0
    for pair in range(pairs):
        masters = ["local[1]", cluster]
        by_master = {master: sweep(master, planned) for master in (masters if pair % 2 == 0 else reversed(masters))}
        alone, spread = (by_master[master] for master in masters)
        wholes.append(alone.seconds / spread.seconds)
        of_cells.append(alone.seconds_of_cells / spread.seconds_of_cells)
        differing += sum(alone.results[key] != spread.results[key] for key in alone.results)
        for result in (alone, spread):
            rate = 3600 * len(planned) / result.seconds_of_cells
            print(
                f"{result.master}: {len(planned)} cells in {result.seconds:.1f} s, "
                f"{result.seconds_of_cells:.1f} s of them for the cells: {rate:,.0f} an hour; "
                f"load average {os.getloadavg()[0]:.1f}",
                flush=True,
            )
    return SpeedUp(statistics.median(wholes), statistics.median(of_cells), differing)


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
