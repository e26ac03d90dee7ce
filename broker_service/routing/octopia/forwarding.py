"""Static publication routing in OctopiA (SPR, Algorithm 3), and the data that dynamic routing shares with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from broker_service.messages import BrokerId
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.octopia.messages import OwnClientsOnly, RelayHeader, Remaining
from broker_service.routing.octopia.vector import ClusterIndexVector, bit, clusters_of, encode_vector


class Onward(msgspec.Struct, frozen=True):
    """Targets of a publication at a broker, other than the broker's own clients."""

    a_links: tuple[BrokerId, ...]
    """The target aLinks: the primary neighbours with subscribers behind them."""
    civ: ClusterIndexVector
    """The clusters that it has yet to be forwarded to. The own one is never among them."""
    source: BrokerId | None
    """The neighbour that it came from; None at the publisher's host broker."""


class Copy(msgspec.Struct, frozen=True):
    """A copy of a publication that leaves a broker."""

    neighbour: BrokerId
    civ: ClusterIndexVector = 0
    """CIV_p: the clusters that the receiver of this copy must take care of; none in static routing."""
    role: RelayHeader | OwnClientsOnly | None = None
    """Header for a receiver that must not route the copy in the ordinary way; None for any other."""

    @property
    def header(self) -> bytes:
        """The header of the message: empty as long as routing is static."""
        if self.role is not None:
            return encode_header(self.role)
        return encode_header(Remaining(encode_vector(self.civ))) if self.civ else b""


class ForwardingDecision(msgspec.Struct, frozen=True):
    """The copies of a publication that leave a broker."""

    copies: list[Copy]
    unreachable: ClusterIndexVector = 0
    """The clusters that no link of this broker leads to."""


class Forwarding(Protocol):
    """A rule that chooses the links by which a publication leaves a broker."""

    def route(self, onward: Onward) -> ForwardingDecision: ...


class StaticRouting:
    """SPR: a copy on every target aLink, and one on the iLink to every target secondary cluster.

    A publication enters each cluster once, at the broker of the host broker's region, and follows the subscription tree
    from there. The tree is acyclic and no copy is sent back, so no broker receives a publication twice, paths are at
    most diam(G_af) long within the host cluster and one hop longer to the others, and only target clusters receive it.
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
