"""Answers: the lines of a program, and what it declares of itself."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from broker_service.routing.program.lines.actions import AnyAction
from broker_service.routing.program.lines.asks import AnyAsk, AnyTell
from record.promises import Promises

MOST_LINE = 16 << 20
"""Bytes of a line."""


class Declaration(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """The answer to `declare`. All but `contract` may be left out. Most fields are those of `ProtocolOptions`."""

    contract: int
    """Version of the contract that the program keeps."""
    capabilities: tuple[str, ...] = ()
    calls: tuple[str, ...] = ("advertise", "unadvertise", "link_up", "link_down", "timer")
    """Calls that the program wants besides those that every router has: subscribe, unsubscribe, publish, receive."""
    needs: tuple[Literal["bodies", "contents"], ...] = ()
    """Parts of messages that the program needs."""
    multiplexed: bool = False
    """True when one process of the program may be the router of many brokers."""
    options: dict[str, bool | int | float | str] = {}
    """Names of the options that a scenario may choose, with their defaults."""
    times: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    counting_tables: tuple[str, ...] = ()
    recognises_repeats: bool = False
    neighbours_change: bool = False
    deterministic: bool = True
    prepares: bool = False
    """True when the program answers the call `prepare`."""
    promises: Promises = msgspec.field(default_factory=Promises)
    follows_load: bool = False
    reconciles_within: float = 0.0
    settles_within: float = 0.0


class BufferLine(msgspec.Struct, forbid_unknown_fields=True):
    """Counterpart of `Buffer`."""

    name: str
    bytes: int
    publications: int
    notified: int = 0
    waited: float = 0.0


class Said(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A line of the program: an ask, a tell, or the answer to the call; one of the fields."""

    actions: list[AnyAction] | UnsetType = UNSET
    ask: AnyAsk | UnsetType = UNSET
    tell: AnyTell | UnsetType = UNSET
    refuse: str | UnsetType = UNSET
    """Answer to `publish` or `prepare`: the reason, for the client or for the user."""
    malformed: str | UnsetType = UNSET
    """Answer to `receive`: the message cannot be read, or no correct neighbour sends it."""
    no_room: str | UnsetType = UNSET
    """Answer to `receive`: the reply to an ask for room, passed on."""
    tables: dict[str, Any] | UnsetType = UNSET
    declared: list[int] | UnsetType = UNSET
    buffers: list[BufferLine] | UnsetType = UNSET
    prepared: dict[str, bytes] | UnsetType = UNSET
    declaration: Declaration | UnsetType = UNSET
