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
from emulation.manifest import replace
from emulation.processes import ProcessIdentity, identify
from emulation.registry import ROOT
from emulation.run.interrupt import QuickStop
from emulation.runtimes.ladder import SIMULATED

STOP = "stop"
"""The file that asks a cell to end."""
_HOLDER = ".cell.json"
"""Who has locked the directory of this host's runs."""
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
        lock = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise HostError(f"cannot make {root}: {error.strerror}; a run keeps its sockets there") from error
    name = root / _HOLDER
    try:
        _await_lock(lock, name, order)
        me = identify(os.getpid())
        assert me is not None
        replace(name, msgspec.json.encode(Holder(order.campaign, order.command, order.cell.key, me)))
        try:
            yield
        finally:
            name.unlink(missing_ok=True)
    finally:
        os.close(lock)


def _await_lock(lock: int, name: Path, order: Order) -> None:
    asked: ProcessIdentity | None = None
    deadline = time.monotonic() + _END_WITHIN
    while not _locked(lock):
        holder = _holder(name)
        if holder is not None and holder.campaign != order.campaign:
            raise HostError(
                f"this host runs the cell {holder.cell} of the campaign {holder.campaign} (process "
                f"{holder.process.pid}); wait until that is over, or end it"
            )
        if holder is not None and holder.command == order.command:
            deadline = time.monotonic() + _END_WITHIN
        elif time.monotonic() > deadline:
            left = f"the cell {holder.cell} (process {holder.process.pid})" if holder else "what was left behind"
            raise HostError(f"{left} does not end; end it, or restart this host")
        elif holder is not None and holder.process != asked:
            asked = holder.process
            asked.kill(signal.SIGTERM)
        time.sleep(_LOOK_INTERVAL)


def _locked(lock: int) -> bool:
    """Whether the lock is this process's now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(name: Path) -> Holder | None:
    """None while nobody has said so yet."""
    try:
        holder = msgspec.json.decode(name.read_bytes(), type=Holder)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    return holder if holder.process.alive else None


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
