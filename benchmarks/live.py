"""Cost of an open live page to a run on real brokers: `python -m benchmarks.live`.

The same run of 56 brokers with and without `--live`, in turn, in pairs. A client reads the page's events as a browser
does. Two figures are set beside each other: the median delay, and the processor time that the whole host spent from the
start of the command to its end, the page's server and its reader included. It needs an idle host.

    python -m benchmarks.live                                  containers, three pairs, about ten minutes
    python -m benchmarks.live --runtime process --brokers 16 --pairs 1
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from analysis.tables.summary import CORRECT, read_summary
from benchmarks.capacity import SCENARIO
from benchmarks.targets import Bound, Judgement, Target, conclude

DELAY = Target("change of the median delay by an open live page", Bound.AT_MOST, 2.0, "%")
PROCESSORS = Target("change of the host's processor time by an open live page", Bound.AT_MOST, 3.0, "%")
RATE = 2.0
"""Publications a second of each publisher, about half of what 56 containers carry."""
_ADDRESS = b"live     http://"
_BUSY = (0, 1, 2, 5, 6)
"""Fields of /proc/stat that are no idle time: user, nice, system, and both kinds of interrupts (proc(5))."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One run."""

    median_ms: float
    ticks: int
    """Processor time of the host."""
    events: int
    """Events that the reader of the page got."""


class Reader:
    """Reads the events of a page as a browser does, in a thread."""

    def __init__(self, address: str) -> None:
        self.events = 0
        root, _, query = address.partition("?")
        self._address = f"{root}events?{query}"
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join(10.0)

    def _read(self) -> None:
        with suppress(OSError), urllib.request.urlopen(self._address) as stream:
            for line in stream:
                self.events += line.startswith(b"data:")


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brokers", type=int, default=56, help="size of the overlay")
    parser.add_argument("--runtime", default="container", choices=("container", "process"))
    parser.add_argument("--pairs", type=int, default=3, help="runs of each kind")
    parsed = parser.parse_args(arguments)
    delays, processors = [], []
    for number in range(parsed.pairs):
        without, with_page = (_run_once(parsed.brokers, parsed.runtime, options) for options in ([], ["--live"]))
        if not with_page.events:
            raise SystemExit("wrong: nobody read the page")
        delays.append(with_page.median_ms / without.median_ms - 1)
        processors.append(with_page.ticks / without.ticks - 1)
        print(
            f"pair {number + 1}: median {without.median_ms:.2f} and with the page {with_page.median_ms:.2f} ms, "
            f"processor time {without.ticks} and {with_page.ticks} ticks, {with_page.events} events read",
            flush=True,
        )
    return [DELAY.judge(100 * statistics.median(delays)), PROCESSORS.judge(100 * statistics.median(processors))]


def _run_once(brokers: int, runtime: str, options: Sequence[str]) -> Cost:
    """Raises `SystemExit` with the run's own output when it was not correct."""
    with tempfile.TemporaryDirectory(prefix="live-") as directory:
        scenario = Path(directory, "live.yaml")
        scenario.write_text(SCENARIO.format(brokers=brokers, publishers=brokers * 2 // 3, rate=RATE))
        command = [sys.executable, "-m", "command_line", "emulate", str(scenario), "--runtime", runtime, *options]
        command += ["--out", directory, "--no-report", "--no-spark", "--events", "none"]
        begin = _busy_ticks()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
            assert running.stdout is not None
            printed, reader = _follow(running.stdout)
        ticks = _busy_ticks() - begin
        if reader is not None:
            reader.join()
        found = [read_summary(file.parent) for file in Path(directory).glob("*/summary.json")]
        if not found or found[0].delivery != [CORRECT] or (median := found[0].variants[0].delay.p50_ms) is None:
            raise SystemExit(f"wrong: the run was not correct (exit code {running.returncode}):\n{printed}")
        return Cost(median, ticks, 0 if reader is None else reader.events)


def _follow(output: IO[bytes]) -> tuple[str, Reader | None]:
    """Reads a command's output to its end, and the page whose address is in it."""
    lines, reader = [], None
    for line in output:
        lines.append(line)
        if line.startswith(_ADDRESS):
            reader = Reader(line.split()[1].decode())
    return b"".join(lines).decode(errors="replace"), reader


def _busy_ticks() -> int:
    """Processor time of the host since it was started, in clock ticks."""
    with Path("/proc/stat").open(encoding="ascii") as file:
        fields = file.readline().split()[1:]
    return sum(int(fields[number]) for number in _BUSY)


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
