"""`brokerlab log`: the log of a broker of a held run, as it is written."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from emulation.held.held_runs import HeldRun, held_run
from record.exit_codes import ExitCode
from record.files import LOGS, log_file

_POLL = 0.2


def show_log(name: str | None, node: str, last: int) -> ExitCode:
    """Prints the last lines of a node's log. Raises `UserError`s."""
    _print_last(_log(held_run(name), node), last)
    return ExitCode.CORRECT


def follow_log(name: str | None, node: str, last: int) -> ExitCode:
    """Prints the last lines of a node's log, and those that are still written. Raises `UserError`s."""
    run = held_run(name)
    path = _log(run, node)
    tail = Tail(path)
    _print_last(path, last)
    for line in new_lines(run, tail):
        print(line, flush=True)
    return ExitCode.CORRECT


def _log(run: HeldRun, node: str) -> Path:
    """The path of a node's log. Raises `BadInputError` for a node that has none."""
    if not (path := log_file(run.directory / LOGS, node)).exists():
        run.place(node)
    return path


def _print_last(path: Path, last: int) -> None:
    with path.open(encoding="utf-8", errors="replace") as log:
        for line in deque(log, last):
            print(line, end="", flush=True)


class Tail:
    """The lines that are written to a log from now on."""

    def __init__(self, path: Path) -> None:
        self._log = path.open(encoding="utf-8", errors="replace")
        self._log.seek(0, 2)
        self._begun = ""

    def read(self) -> list[str]:
        """The lines that are complete since the last call."""
        *lines, self._begun = (self._begun + self._log.read()).split("\n")
        return lines


def new_lines(run: HeldRun, tail: Tail) -> Iterator[str]:
    """The lines of a tail, until the run has ended."""
    goes_on = True
    while goes_on:
        goes_on = run.socket.exists()
        yield from tail.read()
        time.sleep(_POLL)
