"""Hosts of client programs: the contract between a run and whatever runs its client programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from emulation.host.processes import ProcessIdentity
from scenario.sections.clients import ProgramSection

LOG_BYTES = 64 << 20
"""Bytes of what a program prints that are kept."""


class StartedProgram(Protocol):
    """A client program that has been started, with all that it has started in turn."""

    @property
    def identity(self) -> ProcessIdentity | None:
        """The program's first process; None if that has ended at once."""

    def exit_code(self) -> int | None:
        """The exit code of one that has ended, negative for a signal; None while it runs."""

    def refusal(self) -> str:
        """A sentence, without its subject, on what was refused to a program that runs; empty where nothing was."""

    def ask_to_end(self) -> None:
        """Sends it SIGTERM, which a frozen one gets, too."""

    def pause(self) -> None:
        """Freezes it."""

    def resume(self) -> None:
        """Undoes `pause`."""

    def end(self) -> str:
        """Ends it at once, and returns when all that it has printed is in its file. Returns the remedy for its author
        where one is known for its end by itself; empty without."""


class ProgramHost(Protocol):
    """Starts client programs, each in a network namespace of its own."""

    def start(
        self, client: str, program: ProgramSection, environment: Mapping[str, str], output: Path
    ) -> StartedProgram:
        """Starts a program with these variables, whose output is added to a file. Raises `HostError`."""


def name_of(client: str) -> str:
    """The name of a client's program in the journal, and among users."""
    return f"client program {client}"


def field_of(client: str) -> str:
    """The part of the scenario that describes a client's program."""
    return f"clients.programs.{client}"
