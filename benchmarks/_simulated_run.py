"""A run directory of about so many log records, by the simulator: what the analysis is measured on.

The quickstart's overlay and its two variants, with ten times the publications and five times the selectivity. A longer
run has more of the same: every publication has its own name, and the verdict on it is the oracle's to find.

`python -m benchmarks._simulated_run DIRECTORY --records 50000000` leaves the run directory there (8 GB of logs).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

from emulation.planning.plan import make_plan
from emulation.scenario import load
from emulation.simulation.run import simulate
from record.files import LOGS

QUICKSTART = Path(__file__).resolve().parents[1] / "scenarios" / "quickstart.yaml"
BUSY = {"workload.publications.rate": "1200/min", "workload.subscriptions.selectivity": "10%"}
RECORDS_A_SECOND = 17_000
"""Of virtual time, both variants together: 800 publications and what follows from each."""


def simulated_run(records: int, parent: Path, name: str = "") -> Path:
    """Simulates a run of about so many log records, and returns its directory, a new one in `parent`."""
    seconds = max(1, round(records / RECORDS_A_SECOND))
    plan = make_plan(load(QUICKSTART, {**BUSY, "timeline.run": f"{seconds}s"}))
    if name:
        plan = replace(plan, run_id=name)
    return simulate(plan, parent).directory


def log_size(run: Path) -> int:
    """Bytes."""
    return sum(file.stat().st_size for file in (run / LOGS).iterdir())


def main() -> None:
    parser = argparse.ArgumentParser(description="Simulates a run with about so many log records.")
    parser.add_argument("directory", type=Path, help="the run directory to be made")
    parser.add_argument("--records", type=int, default=1_000_000)
    options = parser.parse_args()
    begin = time.perf_counter()
    run = simulated_run(options.records, options.directory.parent, options.directory.name)
    print(f"{run}: {log_size(run) / 1e6:,.0f} MB of logs in {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
