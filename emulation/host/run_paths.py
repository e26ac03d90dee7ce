"""The paths of a run: the run directory, which stays, and the sockets, which are removed with the run."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from emulation.host.registry import ROOT
from record.errors import HostError, unusable_directory
from record.files import JOURNAL, LOGS
from topology.link_properties import BrokerId

BROKER_UID = 10001
"""User and group id of broker processes: no user of the host has it, and in the image it is the broker's own."""

_NEEDED = 200 * 1024 * 1024
"""Free bytes on the disk below which a run does not begin."""


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
        """The directory with the inputs of a variant's brokers and drivers."""
        return self.directory / "variants" / re.sub(r"[^A-Za-z0-9=,_-]", "_", name)

    @property
    def storage(self) -> Path:
        """Parent of the directories with the brokers' stable storage, while the run lasts."""
        return self.directory / "stored"

    def stored(self, broker: BrokerId) -> Path:
        """The directory with the stable storage of a broker's router."""
        return self.storage / broker

    def socket(self, broker: BrokerId) -> Path:
        """The path of the broker's socket on the host."""
        return self.sockets / broker / "broker.sock"

    def make(self) -> None:
        """Makes the run directory. Raises `BadInputError` if it cannot be made, `HostError` if the disk is full."""
        try:
            self.logs.mkdir(parents=True)
            room = os.statvfs(self.directory)
        except OSError as error:
            raise unusable_directory(self.directory.parent, error) from error
        if room.f_bavail * room.f_frsize < _NEEDED:
            self.logs.rmdir()
            self.directory.rmdir()
            remedy = "make room or choose another directory with --out"
            raise HostError(f"less than {_NEEDED >> 20} MB are free below {self.directory}; {remedy}")

    def give_logs_to_brokers(self) -> None:
        """Lets broker processes, which run under a user of their own, write their logs."""
        os.chown(self.logs, BROKER_UID, BROKER_UID)

    def make_socket_directories(self, brokers: list[BrokerId]) -> None:
        """One directory for each broker, owned by the brokers' user. The run must be registered."""
        for broker in brokers:
            directory = self.socket(broker).parent
            directory.mkdir(exist_ok=True)
            os.chown(directory, BROKER_UID, BROKER_UID)
