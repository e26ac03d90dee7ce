"""What a campaign runs on each of its hosts: `python -m studies.campaign.on_host DIRECTORY [PID STARTED]`.

Reads an `Order` as JSON from standard input, runs its cell with DIRECTORY for its files, and writes an `Attempt` as
JSON to standard output. It ends its run in order when DIRECTORY gets a file `stop`, or when the process PID is gone
(the campaign's own, where that is on this host). Its exit codes are the command line's.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import msgspec
from rich.console import Console

from emulation.host.host_lock import HostLockHolder, hold_host_lock
from emulation.host.processes import ProcessIdentity, identify
from emulation.run.interrupt import QuickStop
from emulation.runtimes.ladder import SIMULATED
from record.errors import UserError
from record.exit_codes import ExitCode
from studies.campaign.attempt import Attempt, Order
from studies.campaign.cell import CellInterruptedError
from studies.campaign.directory import RUNS
from studies.campaign.trial import try_cell

STOP = "stop"
"""The file that asks a cell to end."""
_LOOK_INTERVAL = 0.3


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
            with hold_host_lock(_lock_holder(order)):
                attempt = _try(order, directory)
    except (CellInterruptedError, QuickStop):
        sys.stderr.write(f"{order.cell.key}: interrupted\n")
        return ExitCode.INTERRUPTED
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.buffer.write(msgspec.json.encode(attempt))
    return ExitCode.CORRECT


def _lock_holder(order: Order) -> HostLockHolder:
    me = identify(os.getpid())
    assert me is not None
    return HostLockHolder(campaign=order.campaign, command=order.command, cell=order.cell.key, process=me)


def _try(order: Order, directory: Path) -> Attempt:
    return try_cell(order, directory / RUNS, Console(stderr=True, highlight=False))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
