"""All benchmarks against their targets, one after another: `make bench`, or `python -m benchmarks [quick] [NAME ...]`.

`--json FILE` writes all judgements, as a JSON object of lists by the benchmark's name.

Exit code 0: every target was kept, or its reason is recorded. 1: a target was missed or a benchmark failed; the last
lines name them. 3: targets were missed only while others used the processors, just before or after their benchmark.

Each benchmark runs in a process of its own, which imports this module by its name; so the program itself is the module
`__main__` beside it, which processes do not import.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from benchmarks.targets import Judgement, conclude

LOOK_SECONDS = 1.0
"""Time for which the host is looked at before and after each benchmark."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A module of this package with a function `run(arguments)`."""

    name: str
    seconds: int
    """Duration on two idle cores, about."""
    quick_seconds: int | None = None
    """Duration with `--quick`, about; None if the benchmark has no quick form and is left out of a quick run."""

    @property
    def module(self) -> str:
        return f"benchmarks.{self.name}"


BENCHMARKS = (
    Benchmark("matching", seconds=170, quick_seconds=30),
    Benchmark("judge_matching", seconds=120, quick_seconds=20),
    Benchmark("detection", seconds=35, quick_seconds=12),
    Benchmark("composites", seconds=25, quick_seconds=8),
    Benchmark("placement", seconds=3, quick_seconds=3),
    Benchmark("planning", seconds=480),
    Benchmark("throughput", seconds=95, quick_seconds=25),
    Benchmark("attacks", seconds=170, quick_seconds=30),
    Benchmark("transports", seconds=35),
    Benchmark("relay", seconds=50, quick_seconds=15),
    Benchmark("startup", seconds=95, quick_seconds=35),
    Benchmark("capacity", seconds=780),
    Benchmark("live", seconds=540),
    Benchmark("replay", seconds=35, quick_seconds=15),
    Benchmark("trace", seconds=80, quick_seconds=12),
    Benchmark("simulation", seconds=225, quick_seconds=15),
    Benchmark("side_by_side", seconds=65),
    Benchmark("motion", seconds=45),
    Benchmark("mesh", seconds=16),
    Benchmark("multicast", seconds=8, quick_seconds=4),
    Benchmark("reliable_delivery", seconds=40, quick_seconds=15),
    Benchmark("reliable_throughput", seconds=90),
    Benchmark("reliable_state", seconds=40),
    Benchmark("analysis", seconds=310, quick_seconds=50),
    Benchmark("detection_oracle", seconds=80, quick_seconds=20),
    Benchmark("routing", seconds=115),
    Benchmark("burst", seconds=160),
    Benchmark("rows", seconds=180),
    Benchmark("sweep", seconds=80),
    Benchmark("pipe", seconds=60, quick_seconds=20),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one benchmark's process."""

    benchmark: Benchmark
    judgements: tuple[Judgement, ...] | None
    """Judgement of each target; None if the benchmark failed before it had judged anything."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    names = [benchmark.name for benchmark in BENCHMARKS]
    parser.add_argument("words", nargs="*", metavar="quick | NAME", help=f"quick, and any of {', '.join(names)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the judgements as data")
    options = parser.parse_args(arguments)
    words = options.words
    if unknown := [word for word in words if word not in ("quick", *names)]:
        parser.error(f"there is no benchmark {unknown[0]}; choose from {', '.join(names)}")
    chosen = [benchmark for benchmark in BENCHMARKS if benchmark.name in words or not set(words) - {"quick"}]
    if "quick" not in words:
        return run_all(chosen, [], sum(benchmark.seconds for benchmark in chosen), options.json)
    brief = [benchmark for benchmark in chosen if benchmark.quick_seconds is not None]
    return run_all(brief, ["--quick"], sum(benchmark.quick_seconds or 0 for benchmark in brief), options.json)


def run_all(benchmarks: Sequence[Benchmark], arguments: Sequence[str], seconds: int, data: Path | None = None) -> int:
    """Runs benchmarks, each in a process of its own, with a heading that shows the progress of the whole.

    `data` is the file that the judgements are written to, if any.
    """
    names = ", ".join(benchmark.name for benchmark in benchmarks)
    print(f"{len(benchmarks)} benchmarks, about {_minutes(seconds)} in all on two idle cores: {names}", flush=True)
    begin = time.monotonic()
    outcomes = []
    for number, benchmark in enumerate(benchmarks, 1):
        elapsed = time.monotonic() - begin
        heading = f"[{number} of {len(benchmarks)}] {benchmark.name}"
        print(f"\n== {heading}, after {_minutes(elapsed)} of about {_minutes(seconds)}", flush=True)
        outcomes.append(_run(benchmark, arguments))
    print(f"\n== done after {_minutes(time.monotonic() - begin)}", flush=True)
    if data is not None:
        found = {outcome.benchmark.name: outcome.judgements for outcome in outcomes}
        data.write_bytes(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    return _conclude_all(outcomes)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} min"


def others_share(seconds: float = LOOK_SECONDS) -> float:
    """Share of this host's processors that programs took, or another host stole, while this one waited so long."""
    busy, whole = _ticks()
    time.sleep(seconds)
    busy_then, whole_then = _ticks()
    return (busy_then - busy) / max(1, whole_then - whole)


def _ticks() -> tuple[int, int]:
    """Ticks of all processors that were not idle, and all of them, since the host started (proc(5))."""
    with Path("/proc/stat").open(encoding="ascii") as file:
        user, nice, system, idle, waiting, *others = map(int, file.readline().split()[1:9])
    busy = user + nice + system + sum(others)
    return busy, busy + idle + waiting


def _run(benchmark: Benchmark, arguments: Sequence[str]) -> Outcome:
    before = others_share()
    processes = multiprocessing.get_context("spawn")
    receiver, sender = processes.Pipe(duplex=False)
    process = processes.Process(target=_send_judgements, args=(benchmark.module, arguments, sender))
    process.start()
    sender.close()
    try:
        found: list[Judgement] = receiver.recv()
    except EOFError:  # the process ended without a result, after printing the reason
        return Outcome(benchmark, None)
    finally:
        process.join()
    others = max(before, others_share())
    return Outcome(benchmark, tuple(replace(judgement, others=others) for judgement in found))


def _send_judgements(module: str, arguments: Sequence[str], sender: Connection) -> None:
    sender.send(importlib.import_module(module).run(arguments))
    sender.close()


def _conclude_all(outcomes: Sequence[Outcome]) -> int:
    judgements = [judgement for outcome in outcomes for judgement in outcome.judgements or ()]
    failed = [outcome.benchmark.name for outcome in outcomes if outcome.judgements is None]
    code = conclude(judgements)
    for name in failed:
        print(f"FAILED {name}", file=sys.stderr)
    return 1 if failed else code
