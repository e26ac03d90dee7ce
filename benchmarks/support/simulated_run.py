"""Simulated run directories with a given number of log records, on which the analysis is measured.

The scenario is `scenarios/cyclic-30.yaml` with ten times its publications and five times its selectivity. A run with
more records is a longer one: it has more publications, each with an id of its own and a verdict of the oracle.

`python -m benchmarks.support.simulated_run DIRECTORY --records 50000000` keeps the run directory (8 GB of logs).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.files import LOGS
from scenario.loading import load

CYCLIC_30 = Path(__file__).resolve().parents[2] / "scenarios" / "cyclic-30.yaml"
BUSY = {"workload.publications.rate": "1200/min", "workload.subscriptions.selectivity": "10%"}
RECORDS_A_SECOND = 17_000
"""Records of a second of virtual time, of both variants: 800 publications and all that follows from them."""


def simulated_run(records: int, parent: Path, name: str = "") -> Path:
    """Simulates a run of about `records` log records and returns its directory, a new one in `parent`."""
    seconds = max(1, round(records / RECORDS_A_SECOND))
    plan = make_plan(load(CYCLIC_30, {**BUSY, "timeline.run": f"{seconds}s"}))
    if name:
        plan = replace(plan, run_id=name)
    return simulate(plan, parent).directory


def log_size(run: Path) -> int:
    """Size of a run's logs in bytes."""
    return sum(file.stat().st_size for file in (run / LOGS).iterdir())


def main() -> None:
    parser = argparse.ArgumentParser(description="Simulates a run with a given number of log records, about.")
    parser.add_argument("directory", type=Path, help="run directory to create")
    parser.add_argument("--records", type=int, default=1_000_000)
    options = parser.parse_args()
    begin = time.perf_counter()
    run = simulated_run(options.records, options.directory.parent, options.directory.name)
    print(f"{run}: {log_size(run) / 1e6:,.0f} MB of logs in {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
