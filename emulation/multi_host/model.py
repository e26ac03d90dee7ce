"""`share.json`: the request to a host to run its share of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from emulation.runtimes.protocol_code import PackedProtocol
from record.errors import BadInputError
from record.manifest import ChosenDilation


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A host of the run."""

    name: str
    """The host's name in the inventory."""
    address: str
    """IPv4 address at which the other hosts reach it."""
    brokers: tuple[str, ...] = ()
    """The brokers that the inventory puts there; the others are placed automatically."""
    weight: float = 1.0
    """The host's share of the brokers, relative to the weights of the other hosts."""


class ShareRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The request to run one host's share of a run."""

    run_id: str
    """The id of the whole run."""
    created: str
    """ISO 8601, UTC."""
    controller: str
    """Boot id of the controlling machine. Only a process of the same boot can detect that the controller has ended."""
    host: str
    """The name of the member that this request is for."""
    members: tuple[Member, ...]
    """All hosts of the run. The clock of the first one is the run's clock."""
    scenario: dict[str, Any]
    """The scenario of its file with overrides applied."""
    protocols: tuple[PackedProtocol, ...] = ()
    """The scenario's protocols from outside, with their code."""
    dilation: ChosenDilation | msgspec.UnsetType = msgspec.UNSET
    """The time dilation of all variants, where rehearsals chose it."""
    runtime: str
    links: str
    vxlan_port: int
    echo_port: int
    token: str
    """Hex digits that only this run's hosts know."""
    patience: float
    """Seconds that a host waits for the others at a stage, beyond the time that the stage itself takes."""

    @property
    def share_id(self) -> str:
        """The id of the run on this host. It differs on each host, because two hosts may be one machine."""
        return share_id(self.run_id, self.number)

    @property
    def reference(self) -> Member:
        """The host whose clock is the run's."""
        return self.members[0]

    @property
    def number(self) -> int:
        """The index of this host among the members."""
        return next(number for number, member in enumerate(self.members) if member.name == self.host)

    @property
    def member(self) -> Member:
        return self.members[self.number]


def share_id(run_id: str, number: int) -> str:
    """The id of a run on one of its hosts. It is short, because socket paths contain it."""
    return f"{run_id}.{number + 1}"


def read_share_request(file: Path) -> ShareRequest:
    """Raises `BadInputError` naming the file."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=ShareRequest)
    except OSError as error:
        raise BadInputError(f"{file}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise BadInputError(f"{file}: {error}") from error
