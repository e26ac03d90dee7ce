"""Log records per second through the analysis, and its memory, as runs grow: `python -m benchmarks.analysis`.

Runs of one and of ten million records are simulated (`benchmarks._simulated_run`) and analysed in Spark, each in a
process of its own; the small one in plain Python, too. `--records 50000000` takes any other size, `--run DIRECTORY` a
run that was simulated before. The delivery verdict must come out `correct`, or the benchmark fails: it measures the
whole analysis, not a part.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from analysis.engines import PlainEngine, RunningSpark
from analysis.engines.spark_session import LOCAL_MASTER, open_session
from analysis.run import analyze
from benchmarks._memory import Peak, Watch
from benchmarks._simulated_run import log_size, simulated_run

SIZES = (1_000_000, 10_000_000)
PLAIN_AT_MOST = 2_000_000
"""Records: plain Python has one processor, and takes no more memory for more of them."""
TARGET_RATE = 50_000
"""Records a second, without the start of Spark."""
TARGET_GROWTH = 1.25
"""The cost of a record in the largest run may be so many times that in the smallest."""
TARGET_MEMORY = 4096
"""MB, of the driver: its Python and its Java process."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One analysis."""

    records: int
    seconds: float
    started: float
    """Seconds until Spark had started."""
    peak: Peak

    @property
    def rate(self) -> float:
        return self.records / self.seconds


def spark(run: Path, master: str) -> Trial:
    begin = time.perf_counter()
    with Watch() as watch, open_session(master) as session:
        started = time.perf_counter() - begin
        return _analysed(run, RunningSpark(session), started, watch)


def plain(run: Path, _master: str) -> Trial:
    with Watch() as watch:
        return _analysed(run, PlainEngine(), 0.0, watch)


def _analysed(run: Path, engine: RunningSpark | PlainEngine, started: float, watch: Watch) -> Trial:
    stages = _Stages()
    begin = time.perf_counter()
    summary = analyze(run, engine, stages.tell)
    seconds = time.perf_counter() - begin
    if not summary.correct:
        raise SystemExit(f"wrong: {run} has the verdict {summary.delivery}")
    stages.print(seconds)
    return Trial(summary.logs.records, seconds, started, watch.peak)


class _Stages:
    """When each stage began."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._began: dict[str, float] = {}

    def tell(self, what: str) -> None:
        self._began.setdefault(what.partition(" (")[0].partition(",")[0], time.perf_counter() - self._begin)

    def print(self, seconds: float) -> None:
        ends = [*list(self._began.values())[1:], seconds]
        for (what, began), end in zip(self._began.items(), ends, strict=True):
            if end - began >= 0.1:
                print(f"    {end - began:7.1f} s  {what}", flush=True)


ENGINES = {"spark": spark, "plain": plain}


def _measure(run: Path, engine: str, master: str) -> Trial:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        trial = pool.apply(ENGINES[engine], (run, master))
    print(
        f"  {engine}: {trial.records:,} records in {trial.seconds:.1f} s: {trial.rate:,.0f} records/s"
        + (f", after {trial.started:.1f} s to start Spark" if trial.started else "")
        + f"\n    {trial.peak}",
        flush=True,
    )
    return trial


def _simulated(records: int, parent: Path) -> Path:
    begin = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        run = pool.apply(simulated_run, (records, parent))
    print(f"simulated about {records:,} records in {time.perf_counter() - begin:.0f} s", flush=True)
    return run


def _judged(what: str, value: float, target: float, met: bool) -> None:
    print(f"{what}: {value:,.2f} (target: {target:,.2f}){'' if met else '  MISSED'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, action="append", help="may be repeated; by default 1 and 10 million")
    parser.add_argument("--run", type=Path, action="append", help="a run directory instead; may be repeated")
    parser.add_argument("--master", default=LOCAL_MASTER)
    parser.add_argument("--engine", choices=tuple(ENGINES), help="default: Spark, and plain Python for small runs")
    options = parser.parse_args()
    trials: list[Trial] = []
    with tempfile.TemporaryDirectory(prefix="brokerlab-benchmark-") as temporary:
        for size in options.run or options.records or SIZES:
            run = size if isinstance(size, Path) else _simulated(size, Path(temporary))
            print(f"{run.name}: {log_size(run) / 1e6:,.0f} MB of logs", flush=True)
            if options.engine != "plain":
                trials.append(_measure(run, "spark", options.master))
            if options.engine == "plain" or (options.engine is None and trials[-1].records <= PLAIN_AT_MOST):
                _measure(run, "plain", options.master)
    if trials:
        _report(sorted(trials, key=lambda trial: trial.records))


def _report(trials: list[Trial]) -> None:
    slowest = min(trial.rate for trial in trials)
    _judged("records a second, at least", slowest, TARGET_RATE, slowest >= TARGET_RATE)
    growth = trials[0].rate / trials[-1].rate
    if len(trials) > 1:
        _judged("cost of a record, largest run to smallest", growth, TARGET_GROWTH, growth <= TARGET_GROWTH)
    memory = max(trial.peak.driver + trial.peak.java for trial in trials)
    _judged("MB of the driver, Python and Java", memory, TARGET_MEMORY, memory <= TARGET_MEMORY)


if __name__ == "__main__":
    main()
