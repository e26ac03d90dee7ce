"""Contents and messages in lines: what calls, actions, asks and answers have in common."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType


class BigInteger(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An integer that a JSON number need not keep."""

    int: str


ValueLine = str | int | float | BigInteger
PredicateLine = tuple[str, str, ValueLine]
"""Attribute, operator and value: `["price", ">", 80]`."""
PredicatesLine = tuple[PredicateLine, ...]
PublicationLine = dict[str, ValueLine]


class ArrivingMessage(msgspec.Struct, omit_defaults=True):
    """A message as the program gets it."""

    kind: str
    id: str
    header: bytes = b""
    hops: int = 0
    label: str = ""
    published: str = "0"
    body: bytes | UnsetType = UNSET
    """For programs that need `bodies`."""
    publication: PublicationLine | UnsetType = UNSET
    """For programs that need `contents`: the content of a publication."""
    predicates: PredicatesLine | UnsetType = UNSET
    """For them, too: the predicates of an advertisement or a subscription."""


class LeavingMessage(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A message of an action. Fields that are left out are those of the message that `same` names, if it does."""

    same: int | UnsetType = UNSET
    """Number of a message of this call, from 0."""
    kind: str | UnsetType = UNSET
    id: str | UnsetType = UNSET
    header: bytes | UnsetType = UNSET
    hops: int | UnsetType = UNSET
    label: str | UnsetType = UNSET
    published: str | UnsetType = UNSET
    body: bytes | UnsetType = UNSET
    predicates: PredicatesLine | UnsetType = UNSET
    """In place of `body`: encoded as brokers encode advertisements and subscriptions."""


class UnitLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A composite subscription that is routed as a whole."""

    id: str
    client: str
    name: str
    composite: bytes
    """Encoded as `proto/content.proto` says."""


class StampedLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A publication of a detection."""

    id: str
    body: bytes
    stamp: str
