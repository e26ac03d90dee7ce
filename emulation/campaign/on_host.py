"""What a campaign runs on each of its hosts: `python -m emulation.campaign.on_host DIRECTORY [PID STARTED]`.

Reads an `Order` as JSON from standard input, runs its cell with DIRECTORY for its files, and writes an `Attempt` as
JSON to standard output. It ends its run in order when DIRECTORY gets a file `stop`, or when the process PID is gone
(the campaign's own, where that is on this host). Its exit codes are the command line's.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from rich.console import Console

from analysis.errors import AnalysisError
from emulation.campaign.attempt import Attempt, Order
from emulation.campaign.cell import CellInterruptedError
from emulation.campaign.directory import RUNS
from emulation.campaign.trial import try_cell
from emulation.commands.exit_codes import ExitCode
from emulation.errors import HostError, UserError
from emulation.processes import ProcessIdentity, identify
from emulation.registry import ROOT
from emulation.run.interrupt import QuickStop
from emulation.runtimes.ladder import SIMULATED

STOP = "stop"
"""The file that asks a cell to end."""
_LOOK_INTERVAL = 0.3
_END_WITHIN = 120.0
"""Seconds that the cell of a command that is gone gets to remove its brokers."""


class Holder(msgspec.Struct, frozen=True):
    """The cell that has this host."""

    campaign: str
    command: str
    cell: str
    process: ProcessIdentity


@contextmanager
def host_to_itself(order: Order, root: Path = ROOT) -> Iterator[None]:
    """Waits until no other cell runs here: brokers of two would slow each other down.

    A cell of the same command (a host that the inventory has twice) is waited for; one that an earlier command of this
    campaign left behind is asked to end. Raises `HostError` for a cell of another campaign.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        file = os.open(root / "cell.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise HostError(f"cannot make {root}: {error.strerror}; a run keeps its sockets there") from error
    try:
        _await_lock(file, order)
        me = identify(os.getpid())
        assert me is not None
        os.ftruncate(file, 0)
        os.pwrite(file, msgspec.json.encode(Holder(order.campaign, order.command, order.cell.key, me)), 0)
        yield
    finally:
        os.close(file)


def _await_lock(file: int, order: Order) -> None:
    asked: ProcessIdentity | None = None
    deadline = time.monotonic() + _END_WITHIN
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            holder = _holder(file)
        if holder is not None and holder.command != order.command:
            if holder.campaign != order.campaign:
                raise HostError(
                    f"this host runs the cell {holder.cell} of the campaign {holder.campaign} (process "
                    f"{holder.process.pid}); wait until that is over, or end it"
                )
            if asked != holder.process:
                asked = holder.process
                holder.process.kill(signal.SIGTERM)
            if time.monotonic() > deadline:
                raise HostError(f"the cell {holder.cell} that was left behind (process {asked.pid}) does not end")
        time.sleep(_LOOK_INTERVAL)


def _holder(file: int) -> Holder | None:
    """None while it is being written."""
    try:
        return msgspec.json.decode(os.pread(file, 65536, 0), type=Holder)
    except msgspec.DecodeError:
        return None


def end_when_asked(directory: Path, owner: ProcessIdentity | None) -> None:
    """Watches, as long as this process lives, for a reason to end it as Ctrl-C does."""

    def watch() -> None:
        while (owner is None or owner.alive) and not (directory / STOP).exists():
            time.sleep(_LOOK_INTERVAL)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="asked to end", daemon=True).start()


def main(arguments: list[str]) -> int:
    """Runs one cell; see the module."""
    directory = Path(arguments[0]).absolute()
    owner = ProcessIdentity(int(arguments[1]), int(arguments[2])) if len(arguments) > 1 else None
    order = Order.decode(sys.stdin.buffer.read())
    directory.mkdir(parents=True, exist_ok=True)
    end_when_asked(directory, owner)
    try:
        if order.runtime == SIMULATED:
            attempt = _try(order, directory)
        else:
            with host_to_itself(order):
                attempt = _try(order, directory)
    except (CellInterruptedError, QuickStop):
        sys.stderr.write(f"{order.cell.key}: interrupted\n")
        return ExitCode.INTERRUPTED
    except (UserError, AnalysisError) as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.buffer.write(msgspec.json.encode(attempt))
    return ExitCode.CORRECT


def _try(order: Order, directory: Path) -> Attempt:
    return try_cell(order, directory / RUNS, Console(stderr=True, highlight=False))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
