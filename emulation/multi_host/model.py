"""What a host is told of a run that it shares with others: `part.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from record.errors import BadInputError


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A host of the run."""

    name: str
    """As the inventory has it."""
    address: str
    """IPv4, on the underlay: where the other hosts reach it."""
    brokers: tuple[str, ...] = ()
    """Those that the inventory wants there; the others are placed."""


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One host's part of a run."""

    run_id: str
    """Of the whole run."""
    created: str
    """ISO 8601, UTC."""
    controller: str
    """The boot of the machine that controls the run: who may say that it is dead."""
    host: str
    """Which of the members this is for."""
    members: tuple[Member, ...]
    """All hosts of the run, the first of which keeps its clock."""
    scenario: dict[str, Any]
    """As its file has it, overrides applied."""
    runtime: str
    links: str
    vxlan_port: int
    echo_port: int
    token: str
    """Hex digits that only this run's hosts know."""
    patience: float
    """Seconds that a host waits for the others, beyond what they may take."""

    @property
    def part_id(self) -> str:
        """The run's id on this host: hosts may turn out to be one machine."""
        return part_id(self.run_id, self.number)

    @property
    def reference(self) -> Member:
        """The host whose clock is the run's."""
        return self.members[0]

    @property
    def number(self) -> int:
        """This host's place among the members."""
        return next(number for number, member in enumerate(self.members) if member.name == self.host)

    @property
    def member(self) -> Member:
        return self.members[self.number]


def part_id(run_id: str, number: int) -> str:
    """What a run is called on one of its hosts: short, as it is part of socket paths."""
    return f"{run_id}.{number + 1}"


def read_part(file: Path) -> Part:
    """Raises `BadInputError` naming the file."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Part)
    except OSError as error:
        raise BadInputError(f"{file}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise BadInputError(f"{file}: {error}") from error
