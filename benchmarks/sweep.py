"""What a second core is worth to a campaign on Spark: `python -m benchmarks.sweep [--cells 200]`.

Cells of the quickstart, one a seed, run on `local[1]` and on `local[2]`, in pairs whose order alternates, so that what
else the host does meanwhile counts for both alike. Two times are told: that of the sweep as a whole, with the start of
Spark, and that of the cells, from when Spark is up. Every cell must have the same bytes of result in every run.

The target, for 200 cells, is on the whole; fewer cells (the default, for `make bench`) are judged on the cells' time,
as the start of Spark would count for much of theirs. `--cluster` measures one against `local[1]` instead.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from studies.campaign import Campaign, Cell, cells
from studies.campaign.attempt import Keep
from studies.campaign.directory import CampaignDirectory
from studies.campaign.result import encode
from studies.campaign.spark import spark_cells

ROOT = Path(__file__).resolve().parents[1]
TARGET_SPEED_UP = 1.8
WHOLE_SWEEP = 200
"""Cells from which on the start of Spark counts."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """One run of all cells."""

    master: str
    seconds: float
    """With the start and the end of Spark."""
    seconds_of_cells: float
    """From when Spark is up, which is about when the first cell begins, to the last result."""
    results: dict[str, bytes]


def quickstart_cells(count: int) -> tuple[Cell, ...]:
    """The quickstart with so many seeds."""
    fields = {"name": "sweep", "scenario": "scenarios/quickstart.yaml", "runtime": "simulated", "seeds": f"1..{count}"}
    return cells(Campaign.model_validate(fields, context={"directory": ROOT}), Path("the benchmark"))


def sweep(master: str, planned: tuple[Cell, ...]) -> Sweep:
    """Runs the cells, telling how far it is."""
    begin = time.monotonic()
    results: dict[str, bytes] = {}
    started = None
    nothing_kept = CampaignDirectory(Path("unused"))
    with closing(spark_cells(master, nothing_kept, Keep.NONE, print)(planned)) as tries:
        for number, attempted in enumerate(tries, 1):
            now = time.monotonic()
            started = started or now - attempted.attempt.seconds
            finished = now
            results[attempted.cell.key] = encode(attempted.attempt.result)
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{master}: {number} of {len(planned)} cells")
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    assert started is not None
    return Sweep(master, time.monotonic() - begin, finished - started, results)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=16, metavar="N")
    parser.add_argument("--pairs", type=int, default=1, metavar="N", help="runs on one core, and as many on two")
    parser.add_argument("--cluster", default="local[2]", metavar="MASTER", help="what is measured against local[1]")
    arguments = parser.parse_args()
    planned = quickstart_cells(arguments.cells)
    wholes, of_cells, differing = [], [], 0
    for pair in range(arguments.pairs):
        masters = ["local[1]", arguments.cluster]
        by_master = {master: sweep(master, planned) for master in (masters if pair % 2 == 0 else reversed(masters))}
        one, more = (by_master[master] for master in masters)
        wholes.append(one.seconds / more.seconds)
        of_cells.append(one.seconds_of_cells / more.seconds_of_cells)
        differing += sum(one.results[key] != more.results[key] for key in one.results)
        for run in (one, more):
            rate = 3600 * len(planned) / run.seconds_of_cells
            print(
                f"{run.master}: {len(planned)} cells in {run.seconds:.1f} s, {run.seconds_of_cells:.1f} s of them for "
                f"the cells: {rate:,.0f} an hour; load average {os.getloadavg()[0]:.1f}",
                flush=True,
            )
    judged = wholes if len(planned) >= WHOLE_SWEEP else of_cells
    whole, cells_alone, speed_up = (statistics.median(ratios) for ratios in (wholes, of_cells, judged))
    met = speed_up >= TARGET_SPEED_UP
    print(f"speed-up of the whole sweep {whole:.2f}, of the cells {cells_alone:.2f}")
    print(f"speed-up that counts: {speed_up:.2f} (target: {TARGET_SPEED_UP}){'' if met else '  MISSED'}")
    print(f"cells whose results differ: {differing} (target: 0){'' if not differing else '  MISSED'}")
    return 0 if met and not differing else 1


if __name__ == "__main__":
    sys.exit(main())
