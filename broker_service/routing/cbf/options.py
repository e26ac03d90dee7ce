"""Options of content-based forwarding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, Literal

from broker_service.messages import BrokerId
from broker_service.routing.cbf.tree import cbf_tree, encode_neighbours
from broker_service.routing.options import Preparation, ProtocolOptions
from record.promises import Order, Promises

_MOST_ON_THE_WAY: Final = 16
"""Servers on the way of a change through the tree that may each gather changes, in the largest overlays measured."""


class CbfOptions(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The scenario's `routing` section for this protocol."""

    times: ClassVar = ("announce_after", "reconcile_after")

    advertisements: bool = False
    """Advertisements are broadcast, and subscriptions go towards intersecting ones only (section 2.1: optional)."""
    aggregation: Literal["identical", "covering"] = "identical"
    """Subscriptions that a neighbour is not told of: those that equal one it knows, or all that such a one covers."""
    announce_after: float = 0.0
    """Seconds for which a server gathers changes of its sums, of which it then tells each neighbour together. With 0 it
    tells each change at once, in a message of its own."""
    reconcile_after: float = 5.0
    """Seconds that a restarted neighbour has to announce again the state that came through it."""

    def __post_init__(self) -> None:
        if self.reconcile_after <= 0:
            raise ValueError("reconcile_after must be more than 0 seconds")
        if not 0 <= self.announce_after < self.reconcile_after:
            raise ValueError("announce_after must be from 0 to less than reconcile_after")

    @property
    def awaits_advertisements(self) -> bool:
        return self.advertisements

    @property
    def promises(self) -> Promises:
        """One tree is one path to each subscriber, and links keep order."""
        return Promises(order=Order.ADVERTISEMENT)

    @property
    def reconciles_within(self) -> float:
        return self.reconcile_after + self.announce_after

    @property
    def settles_within(self) -> float:
        """Each server on the way, of which a tree of N servers has a few, gathers changes for `announce_after`."""
        return _MOST_ON_THE_WAY * self.announce_after

    def prepare(self, preparation: Preparation) -> Mapping[BrokerId, bytes]:
        """Each broker's neighbours in the CBF tree. Raises `ValueError` when the overlay is not connected."""
        tree = cbf_tree(preparation.brokers, preparation.links)
        return {broker: encode_neighbours(neighbours) for broker, neighbours in tree.items()}
