"""The paths of a run: the run directory, which stays, and the sockets, which are removed with the run."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from emulation.host.registry import ROOT
from emulation.host.users import BrokerUsers
from record.errors import HostError, unusable_directory
from record.files import JOURNAL, LOGS, log_file
from topology.link_properties import BrokerId

_NEW_LOG = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_NEEDED = 200 * 1024 * 1024
"""Free bytes on the disk below which a run does not begin."""


@dataclass(frozen=True, slots=True)
class RunPaths:
    """The paths of one run, absolute."""

    run_id: str
    directory: Path
    sockets: Path
    users: BrokerUsers = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "users", BrokerUsers(self.run_id))

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
        new = [path for path in (self.directory, *self.directory.parents) if not path.exists()]
        try:
            self.logs.mkdir(parents=True)
            room = os.statvfs(self.directory)
        except OSError as error:
            raise unusable_directory(self.directory.parent, error) from error
        if room.f_bavail * room.f_frsize < _NEEDED:
            for made in (self.logs, *new):
                made.rmdir()
            remedy = "make room or choose another directory with --out"
            raise HostError(f"less than {_NEEDED >> 20} MB are free below {self.directory}; {remedy}")

    def provide_log(self, broker: BrokerId) -> Path:
        """Makes a broker's log, where it is missing, and returns its path.

        The broker's user may write to the file and not to the folder, so that it can neither replace its own log nor
        reach another. Raises `HostError` where something else stands in its place.
        """
        path, user = log_file(self.logs, broker), self.users.of(broker)
        try:
            descriptor = os.open(path, _NEW_LOG, 0o644)
            try:
                os.fchown(descriptor, user, user)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise HostError(f"cannot make the log {path}: {error.strerror}") from error
        return path

    def make_socket_directories(self, brokers: list[BrokerId]) -> None:
        """One directory for each broker, which only the broker's user may enter. The run must be registered."""
        for broker in brokers:
            directory, user = self.socket(broker).parent, self.users.of(broker)
            directory.mkdir(mode=0o700, exist_ok=True)
            os.chown(directory, user, user)
