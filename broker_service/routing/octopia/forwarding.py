"""Which links a publication leaves a broker by, in OctopiA: static publication routing (Algorithm 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from broker_service.messages import BrokerId
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.octopia.messages import Alone, RelayHeader, Remaining
from broker_service.routing.octopia.vector import ClusterIndexVector, bit, clusters_of, encode_vector


class Onward(msgspec.Struct, frozen=True):
    """Where a publication must go from a broker, itself not counted."""

    a_links: tuple[BrokerId, ...]
    """The target aLinks: the primary neighbours with subscribers behind them."""
    civ: ClusterIndexVector
    """The clusters it is still to be forwarded to. The own one is never among them."""
    source: BrokerId | None
    """The neighbour it came from; None at the publisher's host broker."""


class Copy(msgspec.Struct, frozen=True):
    """A copy that leaves a broker."""

    neighbour: BrokerId
    civ: ClusterIndexVector = 0
    """CIV_p: the clusters that are left to whoever receives this copy; none in static routing."""
    role: RelayHeader | Alone | None = None
    """Set where the receiver is not to route the copy as any other."""

    @property
    def header(self) -> bytes:
        """What the copy has in its header: nothing, as long as routing is static."""
        if self.role is not None:
            return encode_header(self.role)
        return encode_header(Remaining(encode_vector(self.civ))) if self.civ else b""


class ForwardingDecision(msgspec.Struct, frozen=True):
    copies: list[Copy]
    unreachable: ClusterIndexVector = 0
    """The clusters that no link leads to from here."""


class Forwarding(Protocol):
    def route(self, onward: Onward) -> ForwardingDecision: ...


class StaticRouting:
    """SPR: a copy on every target aLink, and one on the iLink to every target secondary cluster.

    A publication enters each cluster once, at the broker of the host broker's region, and follows the subscription tree
    from there. The tree is acyclic and nothing is sent back, so no broker sees a publication twice, paths are at most
    diam(G_af) long within the host cluster and one longer to the others, and none but target clusters get it.
    """

    def __init__(self, i_links: Mapping[int, BrokerId]) -> None:
        self._i_links = i_links

    def route(self, onward: Onward) -> ForwardingDecision:
        copies = [Copy(neighbour) for neighbour in onward.a_links]
        unreachable = 0
        for cluster in clusters_of(onward.civ):
            neighbour = self._i_links.get(cluster)
            if neighbour is None:
                unreachable |= bit(cluster)
            else:
                copies.append(Copy(neighbour))
        return ForwardingDecision(copies, unreachable)
