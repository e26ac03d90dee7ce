"""Log records a second through the analysis, and its memory, as runs grow: `python -m benchmarks.analysis`.

Runs of a hundred thousand, one and ten million records are simulated (`benchmarks.support.simulated_run`) and analysed
in Spark, each in a process of its own; the smaller ones in plain Python, too. `--records 50000000` takes any other
size, `--run DIRECTORY` a run that was simulated before, `--quick` one run of a million records, in Spark. With
`--events all` the table `events` is written too, and its files are compared with the logs. The benchmark fails if the
delivery verdict is not `correct`, because it measures the whole analysis and not a part.

The rate of the smallest run is low, because Spark starts its workers while it is analysed. So the growth of a record's
cost is that from the run in which a record costs least.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.engines import PlainEngine, RunningSpark
from analysis.engines.spark_session import LOCAL_MASTER, open_session
from analysis.pipeline import analyze
from analysis.tables.event_choice import EventTable
from analysis.tables.events import EVENTS
from benchmarks.support.growth import growth_of
from benchmarks.support.memory import MemorySampler, Peak
from benchmarks.support.simulated_run import log_size, simulated_run
from benchmarks.support.trials import in_own_process
from benchmarks.targets import Bound, Judgement, Target, conclude
from emulation.host.reference_loops import Reference
from record.files import RESULTS

SIZES = (100_000, 1_000_000, 10_000_000)
QUICK_SIZES = (1_000_000,)
PLAIN_AT_MOST = 2_000_000
"""Records up to which plain Python is measured too. It uses one processor, and its memory does not grow with a run."""

RATE = Target(
    "log records analysed, without the start of Spark",
    Bound.AT_LEAST,
    300_000,
    "records/s",
    Reference.INTERPRETER,
    "Java and the passing of rows to Python take half of the time, see docs/analysis.md",
)
START = Target("start of Spark", Bound.AT_MOST, 3.5, "s", Reference.INTERPRETER)
GROWTH = Target(
    "cost of a log record in the largest run, of that in the run in which it is least", Bound.AT_MOST, 1.25, "times"
)
MEMORY = Target("memory of the analysis's driver, Python and Java", Bound.AT_MOST, 4096, "MB")
EVENTS_SIZE = Target("files of the table `events`, of the logs' bytes", Bound.AT_MOST, 1 / 3, "")


@dataclass(frozen=True, slots=True)
class Trial:
    """One analysis."""

    records: int
    seconds: float
    started: float
    """Seconds until Spark had started."""
    peak: Peak
    events: float | None = None
    """Bytes of the table `events`, of those of the logs; None where it was not wanted."""

    @property
    def rate(self) -> float:
        return self.records / self.seconds


def spark(run: Path, master: str, events: EventTable) -> Trial:
    begin = time.perf_counter()
    with MemorySampler() as sampler, open_session(master) as session:
        started = time.perf_counter() - begin
        return _analysed(run, RunningSpark(session), events, started, sampler)


def plain(run: Path, _master: str, events: EventTable) -> Trial:
    with MemorySampler() as sampler:
        return _analysed(run, PlainEngine(), events, 0.0, sampler)


def _analysed(
    run: Path, engine: RunningSpark | PlainEngine, events: EventTable, started: float, sampler: MemorySampler
) -> Trial:
    stages = _Stages()
    begin = time.perf_counter()
    summary = analyze(run, engine, stages.begin, events)
    seconds = time.perf_counter() - begin
    if not summary.correct:
        raise SystemExit(f"wrong: {run} has the verdict {summary.delivery}")
    stages.print(seconds)
    share = _events_size(run) / log_size(run) if events is EventTable.ALL else None
    return Trial(summary.logs.records, seconds, started, sampler.peak, share)


def _events_size(run: Path) -> int:
    return sum(file.stat().st_size for file in (run / RESULTS / EVENTS).rglob("*.parquet"))


class _Stages:
    """Times at which the stages of an analysis began."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._began: dict[str, float] = {}

    def begin(self, stage: str) -> None:
        self._began.setdefault(stage.partition(" (")[0].partition(",")[0], time.perf_counter() - self._start)

    def print(self, seconds: float) -> None:
        ends = [*list(self._began.values())[1:], seconds]
        for (what, began), end in zip(self._began.items(), ends, strict=True):
            if end - began >= 0.1:
                print(f"    {end - began:7.1f} s  {what}", flush=True)


ENGINES = {"spark": spark, "plain": plain}


def _measure(run: Path, engine: str, master: str, events: EventTable) -> Trial:
    trial = in_own_process(ENGINES[engine], run, master, events)
    print(
        f"  {engine}: {trial.records:,} records in {trial.seconds:.1f} s: {trial.rate:,.0f} records/s"
        + (f", after {trial.started:.1f} s to start Spark" if trial.started else "")
        + f"\n    {trial.peak}"
        + ("" if trial.events is None else f"\n    events: {trial.events:.1%} of the logs' bytes"),
        flush=True,
    )
    return trial


def _simulated(records: int, parent: Path) -> Path:
    begin = time.perf_counter()
    run = in_own_process(simulated_run, records, parent)
    print(f"simulated about {records:,} records in {time.perf_counter() - begin:.0f} s", flush=True)
    return run


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one run of a million records, in Spark only")
    parser.add_argument(
        "--records", type=int, action="append", help="may be repeated; by default 0.1, 1 and 10 million"
    )
    parser.add_argument("--run", type=Path, action="append", help="a run directory instead; may be repeated")
    parser.add_argument("--master", default=LOCAL_MASTER)
    parser.add_argument("--engine", choices=tuple(ENGINES), help="default: Spark, and plain Python for small runs")
    parser.add_argument("--events", type=EventTable, choices=tuple(EventTable), default=EventTable.NONE)
    options = parser.parse_args(arguments)
    engine = options.engine or ("spark" if options.quick else None)
    trials: list[Trial] = []
    with tempfile.TemporaryDirectory(prefix="brokerlab-benchmark-") as temporary:
        for size in options.run or options.records or (QUICK_SIZES if options.quick else SIZES):
            run = size if isinstance(size, Path) else _simulated(size, Path(temporary))
            print(f"{run.name}: {log_size(run) / 1e6:,.0f} MB of logs", flush=True)
            if engine != "plain":
                trials.append(_measure(run, "spark", options.master, options.events))
            if engine == "plain" or (engine is None and trials[-1].records <= PLAIN_AT_MOST):
                _measure(run, "plain", options.master, options.events)
    return judge(sorted(trials, key=lambda trial: trial.records))


def judge(trials: Sequence[Trial]) -> list[Judgement]:
    """Judgements of the analyses in Spark, in ascending order of their sizes; none if there were none."""
    if not trials:
        return []
    memory = {trial.records: trial.peak.driver + trial.peak.java for trial in trials}
    rates = {trial.records: trial.rate for trial in trials}
    judgements = [
        RATE.judge(trials[-1].rate, growth_of("records", rates, "Python's work on each record, on all processors")),
        START.judge(max(trial.started for trial in trials)),
        MEMORY.judge(
            max(memory.values()), growth_of("records", memory, "Java's heap, because only tallies reach the driver")
        ),
    ]
    if len(trials) > 1:
        judgements.append(GROWTH.judge(max(rates.values()) / trials[-1].rate))
    judgements += [EVENTS_SIZE.judge(trial.events) for trial in trials[-1:] if trial.events is not None]
    return judgements


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
