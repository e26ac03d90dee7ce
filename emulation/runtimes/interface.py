"""The contract between a run and whatever hosts its brokers in real time.

A runtime owns broker processes and, where it has sandboxes, the network namespaces they run in. It knows nothing of
links, phases or workloads, so the same calls serve a run, its faults and the conformance cases. Calls block until done
and raise `HostError` when the host refuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import msgspec

from broker_service.config import PROTOCOL_FOLDER, BrokerConfig
from emulation.host.processes import ProcessIdentity
from emulation.live_overlay.configuration import BrokerFiles
from emulation.runtimes.protocol_code import given_code
from record.errors import BrokerDefectError
from record.exit_codes import ExitCode
from topology.link_properties import BrokerId

EXIT_CODE_WITHIN = 5.0
"""Seconds after the end of a broker within which its exit code is known."""

LAST_LINES = 40
"""Number of lines of a broker's output that are kept when it ends: enough for a defect's stack trace and sentence."""

BROKER_PROGRAM = "broker_service"
"""The module that each broker runs, with the path of its configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignProgram:
    """A broker that is not brokerlab's, and the way to start it (docs/broker-contract.md)."""

    level: int
    """Level of the contract that the broker keeps."""
    image: str | None = None
    """Image of the broker's container; None for a program on this host."""
    command: tuple[str, ...] = ()
    """The broker's command, to which the path of its configuration is appended; empty for the image's entry point."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the program, in addition to those that the contract prescribes."""
    system: str | None = None
    """Name of a deployed system, if the broker is its server with an adapter. brokerlab then finds image and
    command."""
    scratch: int = 0
    """Size in bytes of a file system in memory at `/tmp`; 0 for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Resources that one broker may use, and the files that it finds."""

    memory: int = 512 * 1024 * 1024
    """Bytes of memory that the broker may use."""
    processes: int = 64
    """Most processes, threads included."""
    log_bytes: int = 4 * 1024**3
    """Bytes that a file of the broker may have, its log above all."""
    cpu: float | None = None
    """CPUs, as a cgroup quota; unlimited when None."""
    image: str | None = None
    """Image of its container, built on brokerlab's own; the latter when None."""
    foreign: ForeignProgram | None = None
    """The broker in place of brokerlab's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One start of one broker."""

    config: BrokerConfig
    """Configuration with the paths that the broker itself will see."""
    config_directory: Path
    """Directory of `broker.json`, one for each broker and variant."""
    resources: Resources = Resources()

    @property
    def broker(self) -> BrokerId:
        return self.config.id

    def write_config(self) -> None:
        """Writes `broker.json`, readable by every user, and beside it the code of a protocol from outside."""
        self.config_directory.mkdir(parents=True, exist_ok=True)
        place = given_code(self.config.protocol, self.config_directory / PROTOCOL_FOLDER)
        config = msgspec.structs.replace(self.config, protocol_from=place)
        content = msgspec.json.format(msgspec.json.encode(config), indent=2)
        (self.config_directory / "broker.json").write_bytes(content)


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a broker process."""

    broker: BrokerId
    exit_code: int | None
    """Negative: the signal that ended it. None: not known."""
    last_lines: tuple[str, ...]
    """The last lines it wrote to its standard error."""
    remedy: str = ""
    """Remedy for its author, where one is known."""

    @property
    def is_defect(self) -> bool:
        """True when the broker ended because its own code failed, which its last line describes."""
        return self.exit_code == ExitCode.BROKER_DEFECT

    def defect(self) -> BrokerDefectError:
        """The error for a broker whose own code failed, with the stack trace that it printed."""
        return BrokerDefectError(self.broker, str(self), "".join(f"{line}\n" for line in self.last_lines[:-1]))

    def with_output(self) -> str:
        """The sentence, and below it what was written before the line that is in the sentence."""
        return "\n    ".join([str(self), *self.last_lines[:-1]])

    def __str__(self) -> str:
        if self.is_defect and self.last_lines:
            return self.last_lines[-1]
        how = "ended"
        if self.exit_code is not None:
            how = f"ended with exit code {self.exit_code}" if self.exit_code >= 0 else f"got signal {-self.exit_code}"
        output = f": {self.last_lines[-1]}" if self.last_lines else " without output"
        return f"broker {self.broker} {how}{output}" + (f"; {self.remedy}" if self.remedy else "")


class Runtime(Protocol):
    """Hosts brokers. Used as a context manager: leaving it removes everything it made."""

    @property
    def name(self) -> str: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def sandboxes(self, brokers: Sequence[BrokerId]) -> Mapping[BrokerId, int]:
        """Makes a network namespace for each broker, which outlives the broker's own processes.

        Returns the pid that holds each; nothing when the network's own hosts are to hold them.
        """

    def files(self, broker: BrokerId) -> BrokerFiles:
        """Paths of a broker's files, as the broker itself sees them."""

    def start(self, launches: Sequence[Launch], namespaces: Mapping[BrokerId, int]) -> None:
        """Starts brokers side by side, each in the network namespace of the given pid."""

    def stop(self, brokers: Sequence[BrokerId], within: float) -> None:
        """Ends brokers in order, side by side; those that have not ended after `within` seconds are killed."""

    def kill(self, broker: BrokerId) -> None:
        """Ends a broker at once, as a crash would. Its namespace and its links stay."""

    def pause(self, broker: BrokerId) -> None:
        """Freezes a broker as it is: it does nothing any more, and its sockets stay open."""

    def resume(self, broker: BrokerId) -> None:
        """Undoes `pause`; does nothing to a broker that has ended since."""

    def throttle(self, broker: BrokerId, cores: float | None) -> None:
        """Lets a broker use that many cores from now on; None: as many as it was launched with.

        Does nothing to a broker that has ended. Raises `HostError` where the runtime cannot.
        """

    def processes(self) -> Mapping[BrokerId, ProcessIdentity]:
        """The brokers started and not yet stopped or killed through this interface."""

    def ending(self, broker: BrokerId) -> Ending:
        """Exit code and last output of a broker that ended by itself."""
