"""The identifiers of advertisements and subscriptions, the same at every broker.

They have the form `<broker>.<incarnation>.<number>`; the part before the number, the *home*, names one life of one
broker, so whatever a broker left behind when it died can be told from what it says after a restart.
"""

from __future__ import annotations

import msgspec

from broker_service.messages import BrokerId


class Home(msgspec.Struct, frozen=True):
    """One life of one broker."""

    broker: BrokerId
    incarnation: int

    def __str__(self) -> str:
        return f"{self.broker}.{self.incarnation}"


def split_id(id: str) -> tuple[Home, int]:
    """The home and the number an identifier consists of. Raises `ValueError` when it has another form."""
    broker, incarnation, number = id.rsplit(".", 2)
    return Home(broker, int(incarnation)), int(number)
