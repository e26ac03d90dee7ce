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


class HostLockHolder(msgspec.Struct, frozen=True, kw_only=True):
    """The cell that has this host."""

    campaign: str
    """Which campaign this is of; the same for one that was resumed."""
    command: str
    """Which of its commands ordered it; another one for one that was resumed."""
    cell: str
    process: ProcessIdentity


@contextmanager
def hold_host_lock(holder: HostLockHolder, root: Path = ROOT) -> Iterator[None]:
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
        _await_lock(lock, note, holder)
        note.write_bytes(msgspec.json.encode(holder))
        try:
            yield
        finally:
            note.unlink(missing_ok=True)
    finally:
        os.close(lock)


def remove_stale_holder(root: Path = ROOT) -> str | None:
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


def _await_lock(lock: int, note: Path, wanted: HostLockHolder) -> None:
    asked: ProcessIdentity | None = None
    deadline = time.monotonic() + _END_WITHIN
    while not _locked(lock):
        present = _read(note)
        if present is not None and not present.process.alive:  # the one that has the lock has not said so yet
            present = None
        if present is not None and present.campaign != wanted.campaign:
            raise HostError(
                f"this host runs the cell {present.cell} of the campaign {present.campaign} (process "
                f"{present.process.pid}); wait until that is over, or end it"
            )
        if present is not None and present.command == wanted.command:
            deadline = time.monotonic() + _END_WITHIN
        elif time.monotonic() > deadline:
            left = f"the cell {present.cell} (process {present.process.pid})" if present else "what was left behind"
            raise HostError(f"{left} does not end; end it, or restart this host")
        elif present is not None and present.process != asked:
            asked = present.process
            asked.kill(signal.SIGTERM)
        time.sleep(_LOOK_INTERVAL)


def _locked(lock: int) -> bool:
    """Whether the lock is this process's now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(note: Path) -> HostLockHolder | None:
    """None where there is no note, or none that can be read."""
    try:
        return msgspec.json.decode(note.read_bytes(), type=HostLockHolder)
    except (OSError, msgspec.DecodeError):
        return None
