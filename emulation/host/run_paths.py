"""Where a run keeps its files: the run directory, which stays, and the sockets, which go with the run."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from emulation.host.registry import ROOT
from record.errors import HostError
from record.files import JOURNAL, LOGS
from topology.model import BrokerId

BROKER_UID = 10001
"""User and group id of broker processes: nobody's on the host, and the image's own user."""

_NEEDED = 200 * 1024 * 1024
"""Bytes of room on the disk below which a run is not begun."""


@dataclass(frozen=True, slots=True)
class RunPaths:
    """The paths of one run, absolute."""

    run_id: str
    directory: Path
    sockets: Path

    @classmethod
    def of(cls, run_id: str, out: Path) -> RunPaths:
        return cls(run_id, (out / run_id).absolute(), ROOT / run_id)

    @property
    def logs(self) -> Path:
        return self.directory / LOGS

    @property
    def journal(self) -> Path:
        return self.directory / JOURNAL

    def variant(self, name: str) -> Path:
        """Where the inputs of a variant's brokers and drivers are kept."""
        return self.directory / "variants" / re.sub(r"[^A-Za-z0-9=,_-]", "_", name)

    def socket(self, broker: BrokerId) -> Path:
        """The broker's socket, as seen from the host."""
        return self.sockets / broker / "broker.sock"

    def make(self) -> None:
        """Makes the run directory. Raises `HostError` when that cannot be done or the disk is full."""
        try:
            self.logs.mkdir(parents=True)
            room = os.statvfs(self.directory)
        except OSError as error:
            raise HostError(
                f"cannot make the run directory {self.directory}: {error.strerror}; choose another place with --out"
            ) from error
        if room.f_bavail * room.f_frsize < _NEEDED:
            self.logs.rmdir()
            self.directory.rmdir()
            remedy = "make room or choose another place with --out"
            raise HostError(f"less than {_NEEDED >> 20} MB are free below {self.directory}; {remedy}")

    def give_logs_to_brokers(self) -> None:
        """Lets broker processes write their logs, which run under a user of their own."""
        os.chown(self.logs, BROKER_UID, BROKER_UID)

    def make_socket_directories(self, brokers: list[BrokerId]) -> None:
        """One directory for each broker, owned by the brokers' user. The run must be registered."""
        for broker in brokers:
            directory = self.socket(broker).parent
            directory.mkdir(exist_ok=True)
            os.chown(directory, BROKER_UID, BROKER_UID)
