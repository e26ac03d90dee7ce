"""Identifiers of advertisements and subscriptions, the same at every broker: `<broker>.<incarnation>.<number>`.

The part before the number, the *home*, names one incarnation of one broker, so what a broker left behind when it failed
can be told from what it sends after a restart.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from broker_service.messages import BrokerId
from broker_service.routing.interface import MalformedMessageError

_BEYOND = 10**18
"""No number in an identifier is as large, so that each fits 64 bits."""
_KEPT = 4_096
"""Identifiers that are kept once they were divided, because each of them comes in several messages."""


class Home(msgspec.Struct, frozen=True, gc=False):
    """One incarnation of one broker."""

    broker: BrokerId
    incarnation: int

    def __str__(self) -> str:
        return f"{self.broker}.{self.incarnation}"


@lru_cache(maxsize=_KEPT)
def split_id(id: str) -> tuple[Home, int]:
    """The home and the number in an identifier. Raises `MalformedMessageError` when it has another form.

    Numbers are written in one way only, so that no two identifiers mean the same.
    """
    try:
        broker, former, latter = id.rsplit(".", 2)
        incarnation, number = int(former), int(latter)
    except ValueError:
        raise _malformed(id) from None
    if not (broker and 0 <= incarnation < _BEYOND and 0 <= number < _BEYOND):
        raise _malformed(id)
    if str(incarnation) != former or str(number) != latter:
        raise _malformed(id)
    return Home(broker, incarnation), number


def _malformed(id: str) -> MalformedMessageError:
    return MalformedMessageError(f"{id!r} is not an identifier <broker>.<incarnation>.<number>")
