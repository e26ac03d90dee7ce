"""Identifiers of advertisements and subscriptions, the same at every broker: `<broker>.<incarnation>.<number>`.

The part before the number, the *home*, names one incarnation of one broker, so what a broker left behind when it failed
can be told from what it sends after a restart.
"""

from __future__ import annotations

import re

import msgspec

from broker_service.errors import MalformedMessageError
from broker_service.messages import BrokerId

_IDENTIFIER = re.compile(r"(.+)\.(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})", re.DOTALL).fullmatch
"""Numbers are written in one way only, so that no two identifiers mean the same."""


class Home(msgspec.Struct, frozen=True):
    """One incarnation of one broker."""

    broker: BrokerId
    incarnation: int

    def __str__(self) -> str:
        return f"{self.broker}.{self.incarnation}"


def split_id(id: str) -> tuple[Home, int]:
    """The home and the number in an identifier. Raises `MalformedMessageError` when it has another form."""
    match = _IDENTIFIER(id)
    if match is None:
        raise MalformedMessageError(f"{id!r} is not an identifier <broker>.<incarnation>.<number>")
    broker, incarnation, number = match.groups()
    return Home(broker, int(incarnation)), int(number)
