"""Processor time of a trace of a million records: `python -m benchmarks.trace`.

A run of a million records is simulated and analysed, each in a process of its own. Then `brokerlab trace` writes its
journeys, of a sample as it chooses by default: the time is that of reading all logs, because memory holds the sample
alone. `--quick` takes a run of a tenth and counts its records ten times.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.trace import Choice, Made, make_trace
from benchmarks.support.simulated_run import simulated_run
from benchmarks.support.trials import in_own_process
from benchmarks.targets import Bound, Judgement, Target, conclude
from emulation.host.reference_loops import Reference

RECORDS = 1_000_000
TRACE = Target("processor time of a trace of a million records", Bound.AT_MOST, 20, "s", Reference.INTERPRETER)


def run(arguments: Sequence[str]) -> list[Judgement]:
    records = RECORDS // 10 if "--quick" in arguments else RECORDS
    with tempfile.TemporaryDirectory(prefix="brokerlab-benchmark-") as temporary:
        made_run = in_own_process(simulated_run, records, Path(temporary))
        in_own_process(_analysed, made_run)
        made, seconds = in_own_process(_traced, made_run)
    print(
        f"{made.records:,} records in {seconds:.1f} s: {made.publications:,} publications, {made.bytes / 1e6:.1f} MB",
        flush=True,
    )
    return [TRACE.judge(seconds * RECORDS / made.records)]


def _analysed(run_directory: Path) -> None:
    analyze(run_directory, PlainEngine())


def _traced(run_directory: Path) -> tuple[Made, float]:
    begin = time.process_time()
    made = make_trace(run_directory, Choice(), run_directory / "journeys.pftrace")
    return made, time.process_time() - begin


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
