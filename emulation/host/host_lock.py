"""Who has this host to itself: cells of campaigns run one after another, for brokers of two would slow each other down.

The lock is on the directory of this host's runs and ends with the process that holds it, however that ends. Beside the
lock stands a note of who holds it, for those who wait; the note of a holder that was killed stays until the next one,
or a clean-up, comes by.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from emulation.host.processes import ProcessIdentity
from emulation.host.registry import ROOT
from record.errors import HostError

_NOTE = ".cell.json"
_LOOK_INTERVAL = 0.3
_END_WITHIN = 120.0
"""Seconds that the cell of a command that is gone gets to remove its brokers."""


class Occupant(msgspec.Struct, frozen=True, kw_only=True):
    """The cell that has this host."""

    campaign: str
    """Which campaign this is of; the same for one that was resumed."""
    command: str
    """Which of its commands ordered it; another one for one that was resumed."""
    cell: str
    process: ProcessIdentity


@contextmanager
def host_to_itself(occupant: Occupant, root: Path = ROOT) -> Iterator[None]:
    """Waits until no other cell runs here.

    A cell of the same command (a host that the inventory has twice) is waited for; one that an earlier command of this
    campaign left behind is asked to end. Raises `HostError` for a cell of another campaign.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise HostError(f"cannot make {root}: {error.strerror}; a run keeps its sockets there") from error
    note = root / _NOTE
    try:
        _await_lock(lock, note, occupant)
        note.write_bytes(msgspec.json.encode(occupant))
        try:
            yield
        finally:
            note.unlink(missing_ok=True)
    finally:
        os.close(lock)


def forget_dead_occupant(root: Path = ROOT) -> str | None:
    """Removes the note of a holder that was killed; returns which cell that was, if there was one.

    Whoever holds the lock, if only for an instant, knows that nobody else does: the note is a dead one's.
    """
    note = root / _NOTE
    if not note.exists():
        return None
    try:
        lock = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not _locked(lock):
            return None
        left = _read(note)
        note.unlink(missing_ok=True)
        return "a cell" if left is None else f"the cell {left.cell}"
    finally:
        os.close(lock)


def _await_lock(lock: int, note: Path, occupant: Occupant) -> None:
    asked: ProcessIdentity | None = None
    deadline = time.monotonic() + _END_WITHIN
    while not _locked(lock):
        holder = _read(note)
        if holder is not None and not holder.process.alive:  # the one that has the lock has not said so yet
            holder = None
        if holder is not None and holder.campaign != occupant.campaign:
            raise HostError(
                f"this host runs the cell {holder.cell} of the campaign {holder.campaign} (process "
                f"{holder.process.pid}); wait until that is over, or end it"
            )
        if holder is not None and holder.command == occupant.command:
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


def _read(note: Path) -> Occupant | None:
    """None where there is no note, or none that can be read."""
    try:
        return msgspec.json.decode(note.read_bytes(), type=Occupant)
    except (OSError, msgspec.DecodeError):
        return None
