"""Declarations of a routing protocol: the base of every protocol's options.

The rest of the tree relies on these declarations and on nothing else of a protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from broker_service.messages import BrokerId
from broker_service.routing.preparation import Preparation
from record.promises import Promises

MOST_PREPARED = 16 << 20
"""Bytes that may be prepared for a broker."""


class ProtocolOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The scenario's `routing` section, less the protocol's name; its fields are what a scenario may choose.

    Unknown options and values of the wrong type are refused with file and line. A value out of range is refused by
    `__post_init__` with a `ValueError` that names the option.
    """

    times: ClassVar[tuple[str, ...]] = ()
    """Names of the options that are times, in seconds: scenarios may give them units, time dilation stretches them."""
    attributes: ClassVar[tuple[str, ...]] = ()
    """Attributes that the overlay must give every broker, such as its place in a structured overlay."""
    counting_tables: ClassVar[frozenset[str]] = frozenset()
    """Names of the tables of its routers that count what has happened, and stand for no client. They need not be as
    before when all clients have left."""
    recognises_repeats: ClassVar[bool] = False
    """True when a router recognises, by what is in stable storage, publications that a former incarnation of its broker
    has accepted. Clients then repeat unacknowledged ones after a restart of their broker, too."""

    neighbours_change: ClassVar[bool] = False
    """True for a protocol whose brokers may get and lose neighbours while they run. Others are refused overlays that
    change."""

    @property
    def promises(self) -> Promises:
        """The promises that the delivery oracle holds the protocol to with these options."""
        return Promises()

    def prepare(self, preparation: Preparation) -> Mapping[BrokerId, bytes]:
        """Computes once, before the brokers start, what each router finds as `RouterContext.prepared`.

        Brokers that are not in the result find nothing; each may get `MOST_PREPARED` bytes. Raises `ValueError`, with
        the reason for the user, when the protocol cannot serve this overlay or these clients.
        """
        return {}

    @property
    def follows_load(self) -> bool:
        """True where routers decide by how busy links or brokers were, so that a host that is too busy changes what
        they decide, and not delays alone."""
        return False

    @property
    def reconciles_within(self) -> float:
        """Seconds from the return of a link or a neighbour until all tables are right again.

        The delivery oracle excuses losses by evidence until then at the latest.
        """
        return 0.0

    @property
    def settles_within(self) -> float:
        """Seconds for which a (un)subscription or (un)advertisement may wait at brokers on its way through the overlay,
        over and above the delays of links: the intervals at which the protocol announces changes."""
        return 0.0
