"""A run whose page is watched: `brokerlab emulate --live` in a process of its own, which is interrupted at the end."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3]
_ADDRESS = re.compile(r"^live     (http://127\.0\.0\.1:\d+/)\?token=\S+$")
_WITHIN = 120.0
"""Seconds that a run gets to end once it is interrupted."""


@dataclass
class WatchedRun:
    """A run that goes on."""

    address: str
    root: str
    """Beginning of every address that the page may ask for."""
    process: subprocess.Popen[str]

    def interrupt(self) -> int:
        """Ends the run as Ctrl-C does. Returns its exit code."""
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=_WITHIN)
        return self.process.returncode


@contextmanager
def watched_run(scenario: Path, runs: Path, options: Sequence[str]) -> Iterator[WatchedRun]:
    """A run with its page. The process is ended with the block if it still goes on."""
    command = [sys.executable, "-m", "command_line", "emulate", str(scenario), "--live", "--no-report", "--no-spark"]
    with subprocess.Popen(
        [*command, "--out", str(runs), *options],
        cwd=SOURCE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield _found(process)
        finally:
            if process.poll() is None:
                process.terminate()
                process.communicate(timeout=_WITHIN)


def _found(process: subprocess.Popen[str]) -> WatchedRun:
    assert process.stdout is not None
    printed = []
    for line in process.stdout:
        if found := _ADDRESS.match(line.rstrip("\n")):
            return WatchedRun(found[0].split()[1], found[1], process)
        printed.append(line)
    raise AssertionError(f"the run has no page:\n{''.join(printed)}")
