"""A burst of 50,000 publications through 56 containers: `python -m benchmarks.burst [--runtime R]`.

The overlay is OctopiA's S_e over unshaped links, under SPR. One publisher sends 100,000 publications a minute; ten
subscribers, at brokers of all clusters, want all of them. Measured are the seconds from the first publication's time to
the last notification, the messages that brokers handled meanwhile, and the processor time of the broker processes for
each message. The targets are complete delivery without duplicates, and the processor time. A burst of a hundredth of
the publications goes first, for growth.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Table

from benchmarks.support.growth import FACTOR, Growth
from benchmarks.support.processes import Usage
from benchmarks.targets import Bound, Judgement, Target, conclude, console
from emulation.host.processes import RUN_VARIABLE
from emulation.host.reference_loops import Reference
from emulation.runtimes.interface import BROKER_PROGRAM
from record.time_units import SECOND

UNDELIVERED = Target("notifications of the burst that are missing", Bound.AT_MOST, 0)
REPEATED = Target("notifications of the burst that are duplicates", Bound.AT_MOST, 0)
DROPPED = Target("publications of the burst that brokers dropped", Bound.AT_MOST, 0)

HOP = Target("CPU time of a broker for a message of the burst", Bound.AT_MOST, 25, "us", Reference.INTERPRETER)

BOUND = "the processors, which all brokers share"
BROKERS = 56
FOLLOWERS = ("A0", "D1", "J2", "L3", "E0", "K1", "M2", "B3", "N0", "C1")
SCENARIO = """
name: burst
topology: {{kind: paper, name: octopia-s-e, link: {{delay: 0.2ms}}}}
routing: {{protocol: octopia, publications: static}}
workload:
  publications:
    publishers: 1
    rate: 1/s
    individually:
      P1: {{rate: 0/s, broker: G0, bursts: [{{at: 1s, publications: {publications}, rate: {rate}/min}}]}}
  subscriptions:
    subscribers: 10
    followers: [{{of: P1, subscribers: 10, placement: [{followers}]}}]
timeline: {{join: 5s, run: {run}s, drain: 300s}}
seed: 1
"""
_TIME = re.compile(rb'"time":(\d+)')
_INTENDED = re.compile(rb'"intended":(\d+)')
_POLL = 0.25


@dataclass(slots=True)
class Sampler:
    """Samples of the processor time of all brokers of a run, taken in a thread of its own."""

    directory: Path
    samples: list[tuple[int, float]] = field(default_factory=list)
    """Nanoseconds of the monotonic clock, and seconds that all brokers have used since their start."""
    _ended: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        pids: list[int] = []
        while not self._ended.wait(_POLL):
            if len(pids) < BROKERS:
                pids = list(self._brokers())
            elif (used := _used(pids)) is not None:
                self.samples.append((time.monotonic_ns(), used))

    def end(self) -> None:
        self._ended.set()

    def between(self, begin: int, end: int) -> float:
        """Seconds used between the samples around these times. Raises `SystemExit` where the brokers were not seen."""
        before = [used for at, used in self.samples if at <= begin]
        until = [used for at, used in self.samples if at < end + _POLL * SECOND]
        if not before:
            raise SystemExit(f"the {BROKERS} broker processes were not seen before the burst")
        return until[-1] - before[-1]

    def _brokers(self) -> Iterator[int]:
        """The broker processes of the run in this directory, in containers or as processes of the host."""
        runs = [f"{RUN_VARIABLE}={path.name}".encode() for path in self.directory.glob("*-burst-*")]
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    command = (entry / "cmdline").read_bytes().split(b"\0")
                    environment = (entry / "environ").read_bytes().split(b"\0")
                except OSError:
                    continue
                if BROKER_PROGRAM.encode() in command and any(run in environment for run in runs):
                    yield int(entry.name)


def _used(pids: list[int]) -> float | None:
    """Seconds that all processes have used; None once one has ended, because /proc then lacks its times or memory."""
    try:
        return sum(Usage.of(pid).cpu for pid in pids)
    except (OSError, KeyError):
        return None


@dataclass(frozen=True, slots=True)
class Result:
    published: int
    delivered: int
    duplicates: int
    dropped: int
    drained: float
    """Seconds from the first publication's time to the last notification."""
    hops: int
    """Publications received by brokers, the publisher's own included."""
    cpu: float
    """Seconds of all brokers."""

    @property
    def hop(self) -> float:
        """Processor time of a broker for each message, microseconds."""
        return self.cpu / self.hops * 1e6


def measure(runtime: str, publications: int, rate: int) -> Result:
    """Runs the burst. Raises `SystemExit` with the run's own output when it fails."""
    with tempfile.TemporaryDirectory(prefix="brokerlab-benchmark-") as temporary:
        directory = Path(temporary)
        scenario = directory / "burst.yaml"
        run = publications / rate * 60 + 3
        followers = ", ".join(FOLLOWERS)
        scenario.write_text(SCENARIO.format(publications=publications, rate=rate, run=round(run), followers=followers))
        sampler = Sampler(directory)
        watching = threading.Thread(target=sampler.watch, daemon=True)
        watching.start()
        command = [sys.executable, "-m", "command_line", "emulate", str(scenario), "--runtime", runtime]
        command += ["--out", temporary, "--no-report", "--no-spark"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        sampler.end()
        watching.join()
        logs = next(iter(directory.glob("*-burst-*/logs")), None)
        if logs is None or not (logs / "subscribers.jsonl").exists():
            raise SystemExit(f"the overlay did not run (exit code {done.returncode}):\n{done.stdout}{done.stderr}")
        return _read(logs, sampler)


def _read(logs: Path, sampler: Sampler) -> Result:
    published = [line for line in _lines(logs / "publishers.jsonl") if b'"event":"publish"' in line]
    notified = [line for line in _lines(logs / "subscribers.jsonl") if b'"event":"notified"' in line]
    if not published or not notified:
        raise SystemExit("nothing was published, or no subscriber was notified")
    begin, last = min(_number(_INTENDED, line) for line in published), max(_number(_TIME, line) for line in notified)
    pairs = {line.partition(b'"id":')[2] for line in notified}
    hops = dropped = 0
    for log in logs.iterdir():
        if log.name not in ("publishers.jsonl", "subscribers.jsonl"):
            for line in _lines(log):
                hops += b'"event":"received","kind":"publish"' in line
                dropped += b'"event":"dropped"' in line
    return Result(
        published=len(published),
        delivered=len(notified),
        duplicates=len(notified) - len(pairs),
        dropped=dropped,
        drained=(last - begin) / 1e9,
        hops=hops,
        cpu=sampler.between(begin, last),
    )


def _lines(log: Path) -> Iterator[bytes]:
    with log.open("rb") as lines:
        yield from lines


def _number(pattern: re.Pattern[bytes], line: bytes) -> int:
    found = pattern.search(line)
    assert found is not None
    return int(found[1])


def _table(result: Result, title: str, rate: int) -> Table:
    table = Table("measurement", "value", title=title)
    table.add_row("drained after", f"{result.drained:.1f} s (published in {result.published / rate * 60:.1f} s)")
    table.add_row("messages handled by brokers", f"{result.hops:,}, {result.hops / result.drained:,.0f} a second")
    table.add_row("notifications", f"{result.delivered:,}, {result.delivered / result.drained:,.0f} a second")
    table.add_row("processor time of a broker for each message", f"{result.hop:.1f} us")
    table.add_row("brokers' share of the processors", f"{result.cpu / result.drained / (os.cpu_count() or 1):.0%}")
    return table


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", default="container", choices=("container", "process"))
    parser.add_argument("--publications", type=int, default=50_000)
    parser.add_argument("--rate", type=int, default=100_000, help="publications a minute")
    options = parser.parse_args(arguments)
    few = options.publications // FACTOR
    results = [_measured(options.runtime, publications, options.rate) for publications in (few, options.publications)]
    small, result = results
    missing = [found.published * len(FOLLOWERS) - (found.delivered - found.duplicates) for found in results]

    def growth(first: float, last: float) -> Growth:
        return Growth("publications", {small.published: first, result.published: last}, BOUND)

    return [
        UNDELIVERED.judge(missing[1], growth(*missing)),
        REPEATED.judge(result.duplicates, growth(small.duplicates, result.duplicates)),
        DROPPED.judge(result.dropped, growth(small.dropped, result.dropped)),
        HOP.judge(result.hop, growth(small.hop, result.hop)),
    ]


def _measured(runtime: str, publications: int, rate: int) -> Result:
    """Runs a burst and prints what was measured."""
    result = measure(runtime, publications, rate)
    title = f"{result.published:,} publications at {rate:,} a minute, {BROKERS} brokers, runtime {runtime}"
    console().print(_table(result, title, rate))
    return result


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
