"""A host-wide lock: campaign cells run one at a time, because two sets of brokers would slow each other down.

The lock is on the directory of this host's runs (flock(2)), and is lifted when the process that holds it ends, however
it ends. A note beside it names the holder, for processes that wait. The note of a holder that was killed stays until
the next holder or a clean-up removes it.
"""

from __future__ import annotations

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
from record.file_lock import take_lock

_NOTE = ".cell.json"
_POLL_INTERVAL = 0.3
_END_WITHIN = 120.0
"""Seconds in which a cell whose command has ended may remove its brokers."""


class HostLockHolder(msgspec.Struct, frozen=True, kw_only=True):
    """The campaign's cell that holds the host's lock."""

    campaign: str
    """Identifies the campaign; the same after it was resumed."""
    command: str
    """Identifies the command that runs the cell; a resumed campaign has another one."""
    cell: str
    process: ProcessIdentity


@contextmanager
def hold_host_lock(holder: HostLockHolder, root: Path = ROOT) -> Iterator[None]:
    """Waits until no other cell runs here, then holds the lock.

    It waits for a cell of the same command, which occurs if the inventory lists a host twice. It asks a cell that an
    earlier command of this campaign has left to end. Raises `HostError` for a cell of another campaign.
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
    """Removes the note of a holder that was killed; returns its cell, or None without such a note.

    A process that gets the lock, if only for an instant, knows that no other process has it: then the note is stale.
    """
    note = root / _NOTE
    if not note.exists():
        return None
    try:
        lock = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not take_lock(lock):
            return None
        left = _read(note)
        note.unlink(missing_ok=True)
        return "a cell" if left is None else f"the cell {left.cell}"
    finally:
        os.close(lock)


def _await_lock(lock: int, note: Path, wanted: HostLockHolder) -> None:
    asked: ProcessIdentity | None = None
    deadline = time.monotonic() + _END_WITHIN
    while not take_lock(lock):
        present = _read(note)
        if present is not None and not present.process.alive:  # the holder has not written its note yet
            present = None
        if present is not None and present.campaign != wanted.campaign:
            raise HostError(
                f"this host runs the cell {present.cell} of the campaign {present.campaign} (process "
                f"{present.process.pid}); wait until that is over, or end it"
            )
        if present is not None and present.command == wanted.command:
            deadline = time.monotonic() + _END_WITHIN
        elif time.monotonic() > deadline:
            left = f"the cell {present.cell} (process {present.process.pid})" if present else "an earlier cell"
            raise HostError(f"{left} does not end; end it, or restart this host")
        elif present is not None and present.process != asked:
            asked = present.process
            asked.kill(signal.SIGTERM)
        time.sleep(_POLL_INTERVAL)


def _read(note: Path) -> HostLockHolder | None:
    """The holder that the note names; None without a readable note."""
    try:
        return msgspec.json.decode(note.read_bytes(), type=HostLockHolder)
    except (OSError, msgspec.DecodeError):
        return None
