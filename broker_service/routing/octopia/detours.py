"""Detours round links, on which brokers relay publications without matching them. This goes beyond the paper.

The clusters of a SCOT are copies of one tree. When a publication must go from B(x, y) to B(x', y) and the link between
them is down or overloaded, the same link exists in every other cluster k:

    B(x, y) -> B(x, k) -> B(x', k) -> B(x', y)

The copy takes it as a *detour*, which the brokers on it relay without looking at the content. B(x', y) then treats the
copy as though it had come from B(x, y), so it enters the same part of the tree as it would have, once.

*Failed brokers.* B(x', k) may find that its own link to B(x', y) is down. If the aLink was down as well, two neighbours
do not reach B(x', y), and it counts as failed. B(x', k) then stands in for it: it sends a detour to every other region
x'' next to x', from x' to x'', so the parts of the tree behind the failed broker are entered, each once. A part that
the failed broker would have skipped, because there is no subscriber behind it, is skipped one broker later. The broker
may not have failed but be frozen or cut off, so a copy for its own clients waits in the queue to it until it is back.
When the aLink was merely overloaded, the iLink alone proves nothing, and the copy is handed on as below.

*Further links that are down.* When a link on the detour is down, too, the copy is handed on within the region to the
next cluster that has not been tried. When none is left in region x and the aLink was merely overloaded, the copy goes
back to B(x, y) and takes the aLink; in all other cases it waits for a broken link, as publications do in static
routing.

*Backtracking from a dead end.* A broker that must serve a remaining cluster may find the iLink to it down, and no
primary neighbour to pass it to but the one that the publication came from. That neighbour has matched the publication
and must not do so again; so it gets a *backtrack*: it only sends the publication over its own iLink to the cluster or,
when that is down, too, passes it to a neighbour further away.

No detour goes on for ever: within a region it moves to clusters not tried, then into the next region, and from there
into parts of the tree that lie away from where it came from. Two detours of one publication never share a path, because
each replaces another link of the tree. A backtrack takes one step back and moves away from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from broker_service.messages import BrokerId
from broker_service.routing.common.congestion import LinkCondition
from broker_service.routing.interface import LinkStatus, MalformedMessageError
from broker_service.routing.octopia.forwarding import Copy
from broker_service.routing.octopia.messages import Backtrack, Detour, OwnClientsOnly, RelayHeader
from broker_service.routing.octopia.neighbourhood import Neighbourhood
from broker_service.routing.octopia.vector import ClusterIndexVector, bit, clusters_of, decode_vector, encode_vector


class Detours(Protocol):
    """A rule that decides when a detour is taken."""

    def round(self, neighbour: BrokerId) -> Copy | None:
        """The copy that avoids the aLink to a neighbour; None when it takes the aLink itself."""

    def back(self, source: BrokerId | None, left: ClusterIndexVector) -> Copy | None:
        """The copy that goes back to where the publication came from, to reach these clusters from there; None when the
        publication stays."""


class CongestionDetours:
    """Intra-cluster dynamic routing: an overloaded aLink is avoided, if some iLink is not overloaded."""

    def __init__(self, neighbourhood: Neighbourhood, condition: LinkCondition) -> None:
        self._neighbourhood = neighbourhood
        self._condition = condition

    def round(self, neighbour: BrokerId) -> Copy | None:
        condition = self._condition
        if not condition.is_overloaded(neighbour):
            return None
        free = [link for link in self._neighbourhood.secondary.values() if not condition.is_overloaded(link)]
        if not free:
            return None
        return Copy(min(free, key=condition.load), role=_first(self._neighbourhood, neighbour, False))

    def back(self, source: BrokerId | None, left: ClusterIndexVector) -> Copy | None:
        return None


class FailureDetours:
    """An aLink that is down is avoided, if some iLink works; from a dead end publications go back."""

    def __init__(
        self, neighbourhood: Neighbourhood, condition: LinkCondition, link_status: Mapping[BrokerId, LinkStatus]
    ) -> None:
        self._neighbourhood = neighbourhood
        self._condition = condition
        self._link_status = link_status

    def round(self, neighbour: BrokerId) -> Copy | None:
        if self._link_status[neighbour].up:
            return None
        working = [link for link in self._neighbourhood.secondary.values() if self._link_status[link].up]
        if not working:
            return None
        return Copy(min(working, key=self._condition.load), role=_first(self._neighbourhood, neighbour, True))

    def back(self, source: BrokerId | None, left: ClusterIndexVector) -> Copy | None:
        if source is None or not self._neighbourhood.is_primary(source) or not self._link_status[source].up:
            return None
        return Copy(source, role=Backtrack(encode_vector(left), self._neighbourhood.label.region))


class EitherDetours:
    """Several rules for detours, of which the first that finds a copy decides."""

    def __init__(self, choices: Iterable[Detours]) -> None:
        self._choices = tuple(choices)

    def round(self, neighbour: BrokerId) -> Copy | None:
        return next((copy for choice in self._choices if (copy := choice.round(neighbour)) is not None), None)

    def back(self, source: BrokerId | None, left: ClusterIndexVector) -> Copy | None:
        return next((copy for choice in self._choices if (copy := choice.back(source, left)) is not None), None)


def _first(neighbourhood: Neighbourhood, neighbour: BrokerId, failed: bool) -> Detour:
    own = neighbourhood.label
    return Detour(own.cluster, own.region, neighbourhood.labels[neighbour].region, failed)


class Relay:
    """Relays copies that a broker passes on without matching them."""

    def __init__(self, neighbourhood: Neighbourhood, link_status: Mapping[BrokerId, LinkStatus]) -> None:
        self._neighbourhood = neighbourhood
        self._link_status = link_status

    def arrived_from(self, header: RelayHeader) -> BrokerId | None:
        """The primary neighbour that a copy counts as having come from; None when it must be passed on.
        Raises `MalformedMessageError` when there is no such neighbour."""
        own = self._neighbourhood.label
        if isinstance(header, Backtrack) or (header.cluster, header.towards) != (own.cluster, own.region):
            return None
        return self._primary(header.origin)

    def pass_on(self, header: RelayHeader) -> list[Copy]:
        """The copies that leave this broker; none when no link leads further.

        Raises `MalformedMessageError` for a header that cannot arrive here.
        """
        return self._cross(header) if isinstance(header, Backtrack) else self._go_round(header)

    def _cross(self, backtrack: Backtrack) -> list[Copy]:
        copies = []
        broken = []
        left = 0
        for cluster in clusters_of(decode_vector(backtrack.civ, self._neighbourhood.clusters)):
            neighbour = self._neighbourhood.secondary.get(cluster)
            if neighbour is not None and self._link_status[neighbour].up:
                copies.append(Copy(neighbour))
                continue
            left |= bit(cluster)
            if neighbour is not None:
                broken.append(Copy(neighbour))
        if not left:
            return copies
        onward = Backtrack(encode_vector(left), self._neighbourhood.label.region)
        for region, neighbour in sorted(self._neighbourhood.primary.items()):
            if region != backtrack.origin and self._link_status[neighbour].up:
                return [*copies, Copy(neighbour, role=onward)]
        return [*copies, *broken]

    def _go_round(self, detour: Detour) -> list[Copy]:
        own = self._neighbourhood.label
        if own.region == detour.origin:
            return self._leave(detour)
        if own.region == detour.towards and own.cluster != detour.cluster:
            self._primary(detour.origin)
            return self._enter(detour)
        raise MalformedMessageError(f"a detour from region {detour.origin} to {detour.towards} in region {own.region}")

    def _leave(self, detour: Detour) -> list[Copy]:
        """Relays in the region where the detour begins."""
        neighbour = self._primary(detour.towards)
        if self._neighbourhood.label.cluster == detour.cluster:
            return [Copy(neighbour)]  # the detour has returned to its beginning
        if self._link_status[neighbour].up:
            return [Copy(neighbour, role=msgspec.structs.replace(detour, tried=b""))]
        if handed_on := self._hand_on(detour):
            return handed_on
        return [Copy(neighbour, role=detour)] if detour.failed else self._copies_to(detour.cluster, detour)

    def _enter(self, detour: Detour) -> list[Copy]:
        """Relays in the region where the detour ends."""
        back = self._copies_to(detour.cluster, detour)
        if any(self._link_status[copy.neighbour].up for copy in back):
            return back
        if not detour.failed:
            return self._hand_on(detour) or back
        here = self._neighbourhood.label.region
        behind = [region for region in self._neighbourhood.primary if region != detour.origin]
        copies = [copy for region in behind for copy in self._leave(Detour(detour.cluster, here, region, failed=True))]
        return [*self._copies_to(detour.cluster, OwnClientsOnly()), *copies]

    def _hand_on(self, detour: Detour) -> list[Copy]:
        """Copies to the next cluster that has not been tried in this region; none when all have."""
        tried = decode_vector(detour.tried, self._neighbourhood.clusters) | bit(self._neighbourhood.label.cluster)
        for cluster, secondary in sorted(self._neighbourhood.secondary.items()):
            if cluster != detour.cluster and not tried & bit(cluster) and self._link_status[secondary].up:
                return [Copy(secondary, role=msgspec.structs.replace(detour, tried=encode_vector(tried)))]
        return []

    def _copies_to(self, cluster: int, role: Detour | OwnClientsOnly) -> list[Copy]:
        """Copies over the iLink to a cluster; none when the overlay lacks the link."""
        neighbour = self._neighbourhood.secondary.get(cluster)
        return [] if neighbour is None else [Copy(neighbour, role=role)]

    def _primary(self, region: str) -> BrokerId:
        neighbour = self._neighbourhood.primary.get(region)
        if neighbour is None:
            raise MalformedMessageError(
                f"a detour by region {region}, which is not next to {self._neighbourhood.label.region}"
            )
        return neighbour
