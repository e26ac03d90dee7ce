"""The registry of runs: each has a directory under `/run/brokerlab` with its owner's identity and its sockets.

Users without rights, who can only simulate, have a registry of their own in the directory that the host gives each.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from emulation.host.processes import ProcessIdentity, boot_id, this_process
from record.errors import HostError

_OF_USER = Path(f"/run/user/{os.geteuid()}")
ROOT = (_OF_USER if os.geteuid() and _OF_USER.is_dir() else Path("/run")) / "brokerlab"
_OWNER_FILE = "owner.json"


class Owner(msgspec.Struct, frozen=True):
    """The process that executes a run."""

    run: str
    process: ProcessIdentity
    boot: str
    journal: str
    """Path of the run's journal."""

    @property
    def alive(self) -> bool:
        return self.boot == boot_id() and self.process.alive


def register(run_id: str, journal: Path, root: Path = ROOT) -> Path:
    """Makes the run's directory. It appears with its owner inside, so that no clean-up can take it for that of a dead
    run.

    Raises `HostError` if it cannot be made.
    """
    owner = Owner(run_id, this_process(), boot_id(), str(journal.absolute()))
    directory, preparation = root / run_id, root / f".new-{run_id}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        preparation.mkdir()
        (preparation / _OWNER_FILE).write_bytes(msgspec.json.encode(owner))
        preparation.rename(directory)
    except OSError as error:
        raise HostError(f"cannot make {directory}: {error.strerror}; a run keeps its sockets there") from error
    return directory


def unregister(run_id: str, root: Path = ROOT) -> None:
    """Removes the run's directory and everything in it."""
    shutil.rmtree(root / run_id, ignore_errors=True)


def runs(root: Path = ROOT) -> Iterator[tuple[str, Owner | None]]:
    """Every registered run and its owner; None if the owner's file is not readable, which makes it a dead run."""
    if not root.is_dir():
        return
    for directory in sorted(root.iterdir()):
        if directory.name.startswith(".") or not directory.is_dir():
            continue
        try:
            yield directory.name, msgspec.json.decode((directory / _OWNER_FILE).read_bytes(), type=Owner)
        except (OSError, msgspec.DecodeError):
            yield directory.name, None


def live_runs(root: Path = ROOT) -> frozenset[str]:
    """The runs whose owners still run; their resources must not be touched."""
    return frozenset(run_id for run_id, owner in runs(root) if owner is not None and owner.alive)
