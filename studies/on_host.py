"""Runs one cell on a host: `python -m studies.on_host DIRECTORY STUDY [PID STARTED]`, started by Ansible.

Reads the `CellRequest` of a study's cell from standard input, runs the cell with DIRECTORY for its files, and writes an
`Attempt` as JSON to standard output. Its exit codes are those of the command line. It ends before the cell does in two
cases:

- DIRECTORY gets a file `stop`: the run ends in order.
- The process PID, the command on this host, has ended: this process is killed at once, because no program reads the
  attempt, and another one removes what the run made on the host.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from pathlib import Path

import msgspec
from rich.console import Console

from emulation.host.host_lock import HostLockHolder, hold_host_lock
from emulation.host.processes import ProcessIdentity, this_process
from emulation.host.signals import like_ctrl_c
from emulation.run.interrupt import QuickStop
from emulation.runtimes.ladder import SIMULATED
from emulation.upkeep.clean import start_cleaning_after
from record.errors import UserError
from record.exit_codes import ExitCode
from record.scratch import scratch_directory
from studies.campaign.cell import CampaignCell
from studies.cells.attempt import AnyAttempt, AnyRequest, CellRequest
from studies.cells.cell import AnyCell, CellInterruptedError
from studies.cells.execution import run_cell
from studies.cells.store import RUNS, STOP
from studies.dilations import RehearsalCell
from studies.reproduction.cell import ReproductionCell
from studies.saturation.cell import SaturationCell

CELL_TYPES: tuple[type[AnyCell], ...] = (CampaignCell, ReproductionCell, RehearsalCell, SaturationCell)
"""Cells of the studies that run on hosts."""
_POLL_MILLISECONDS = 300
"""Milliseconds between two looks for that file."""


def watch(directory: Path, owner: ProcessIdentity | None) -> None:
    """Starts a thread that ends this process when the file `stop` appears or the owner has ended."""
    threading.Thread(target=_end_when_due, args=(directory, owner), name="watch", daemon=True).start()


def _end_when_due(directory: Path, owner: ProcessIdentity | None) -> None:
    ended = select.poll()
    if owner is not None:
        if (descriptor := owner.open()) is None:
            _end_at_once()
            return
        ended.register(descriptor, select.POLLIN)
    while not (directory / STOP).exists():
        if ended.poll(_POLL_MILLISECONDS):
            _end_at_once()
            return
    os.kill(os.getpid(), signal.SIGTERM)


def _end_at_once() -> None:
    start_cleaning_after(this_process())
    os.kill(os.getpid(), signal.SIGKILL)


def main(arguments: list[str]) -> int:
    """Runs one cell. Returns the exit code of the process."""
    directory = Path(arguments[0]).absolute()
    cell_type = next(one for one in CELL_TYPES if one.study == arguments[1])
    owner = ProcessIdentity(int(arguments[2]), int(arguments[3])) if len(arguments) > 2 else None
    try:
        request = CellRequest.decode(sys.stdin.buffer.read(), cell_type)
    except UserError as error:
        return _refused(error)
    directory.mkdir(parents=True, exist_ok=True)
    watch(directory, owner)
    try:
        with scratch_directory(), like_ctrl_c():
            attempt = _run(request, directory)
    except (CellInterruptedError, KeyboardInterrupt, QuickStop):
        sys.stderr.write(f"{request.cell.key}: interrupted\n")
        return ExitCode.INTERRUPTED
    except UserError as error:
        return _refused(error)
    sys.stdout.buffer.write(msgspec.json.encode(attempt))
    return ExitCode.CORRECT


def _refused(error: UserError) -> int:
    sys.stderr.write(f"{error}\n")
    return error.exit_code


def _run(request: AnyRequest, directory: Path) -> AnyAttempt:
    """Runs the cell; one in real time has this host to itself meanwhile."""
    console = Console(stderr=True, highlight=False)
    if request.runtime == SIMULATED:
        return run_cell(request, directory / RUNS, console)
    holder = HostLockHolder(
        campaign=request.study, command=request.command, cell=request.cell.key, process=this_process()
    )
    with hold_host_lock(holder):
        return run_cell(request, directory / RUNS, console)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
