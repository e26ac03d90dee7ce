"""Ways round an aLink, by way of another cluster: beyond the paper, whose routing is dynamic between clusters only.

The clusters of a SCOT are copies of one tree. Where a publication should go from B(x, y) to B(x', y) and the link
between them is not fit, there is the same link in every other cluster k:

    B(x, y) -> B(x, k) -> B(x', k) -> B(x', y)

The copy takes it as a *detour*, which the brokers on the way pass on without looking at its content. B(x', y) then
treats it as though it had come from B(x, y), so it enters the same part of the tree as it would have, once.

*Round a dead broker.* B(x', k) may find that its own link to B(x', y) is down. If the aLink was down as well, two
neighbours do not reach B(x', y), and it counts as dead. B(x', k) then stands in for it: it sends a detour on to every
other region x'' next to x', from x' to x'', and so the parts of the tree behind the dead broker are entered, each once.
What the dead broker would have left out, for there is no subscriber behind it, is left out one broker later. Where the
aLink was merely overloaded, the copy waits for the broken iLink instead, as it would have for a broken aLink.

*Where the parallel link is down, too,* the detour is handed on in region x to the next cluster that has not been tried.

No detour goes on for ever: within a region it moves to clusters not tried, then into the next region, and from there
into parts of the tree that lie away from where it came from. Detours of one publication never meet, for each stands for
another link of the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from broker_service.messages import BrokerId
from broker_service.routing.congestion import LinkCondition
from broker_service.routing.interface import LinkStatus
from broker_service.routing.octopia_forwarding import Copy
from broker_service.routing.octopia_messages import Detour
from broker_service.routing.octopia_neighbourhood import Neighbourhood
from broker_service.routing.octopia_vector import bit, decode_vector, encode_vector


class Detours(Protocol):
    """When a detour is taken."""

    def round(self, neighbour: BrokerId) -> Copy | None:
        """The copy that goes round the aLink to a neighbour; None when the aLink itself is to be taken."""


class NoDetours:
    """The paper: publications keep to the tree of their cluster."""

    def round(self, neighbour: BrokerId) -> Copy | None:
        return None


class CongestionDetours:
    """Intra-cluster dynamic routing: an overloaded aLink is gone round, if some iLink is not overloaded."""

    def __init__(self, neighbourhood: Neighbourhood, condition: LinkCondition) -> None:
        self._neighbourhood = neighbourhood
        self._condition = condition

    def round(self, neighbour: BrokerId) -> Copy | None:
        condition = self._condition
        if not condition.is_overloaded(neighbour):
            return None
        free = [each for each in self._neighbourhood.secondary.values() if not condition.is_overloaded(each)]
        if not free:
            return None
        return Copy(min(free, key=condition.load), detour=_first(self._neighbourhood, neighbour, False))


class FailureDetours:
    """An aLink that is down is gone round, if some iLink works."""

    def __init__(
        self, neighbourhood: Neighbourhood, condition: LinkCondition, link_status: Mapping[BrokerId, LinkStatus]
    ) -> None:
        self._neighbourhood = neighbourhood
        self._condition = condition
        self._link_status = link_status

    def round(self, neighbour: BrokerId) -> Copy | None:
        if self._link_status[neighbour].up:
            return None
        working = [each for each in self._neighbourhood.secondary.values() if self._link_status[each].up]
        if not working:
            return None
        return Copy(min(working, key=self._condition.load), detour=_first(self._neighbourhood, neighbour, True))


class EitherDetours:
    """The first of several that has one."""

    def __init__(self, choices: Iterable[Detours]) -> None:
        self._choices = tuple(choices)

    def round(self, neighbour: BrokerId) -> Copy | None:
        return next((copy for each in self._choices if (copy := each.round(neighbour)) is not None), None)


def _first(neighbourhood: Neighbourhood, neighbour: BrokerId, failed: bool) -> Detour:
    own = neighbourhood.place
    return Detour(own.cluster, own.region, neighbourhood.places[neighbour].region, failed)


class DetourRelay:
    """What a broker does with detours of others."""

    def __init__(self, neighbourhood: Neighbourhood, link_status: Mapping[BrokerId, LinkStatus]) -> None:
        self._neighbourhood = neighbourhood
        self._link_status = link_status

    def arrived_from(self, detour: Detour) -> BrokerId | None:
        """The primary neighbour that this broker takes a copy to have come from; None when the copy is not at its end.
        Raises `ValueError` when there is no such neighbour."""
        own = self._neighbourhood.place
        if (detour.cluster, detour.towards) != (own.cluster, own.region):
            return None
        return self._primary(detour.origin)

    def pass_on(self, detour: Detour) -> list[Copy]:
        """The copies that go on from here, none when there is no way. Raises `ValueError` for a detour that cannot have
        come here."""
        own = self._neighbourhood.place
        if own.cluster == detour.cluster:
            raise ValueError(f"a detour from cluster {detour.cluster} into itself")
        if own.region == detour.origin:
            return self._to_the_other_region(detour)
        if own.region != detour.towards:
            raise ValueError(f"a detour from region {detour.origin} to {detour.towards} in region {own.region}")
        target = self._neighbourhood.secondary.get(detour.cluster)
        if target is None:
            return []
        if self._link_status[target].up or not detour.failed:
            return [Copy(target, detour=detour)]
        return [
            copy
            for region in self._neighbourhood.primary
            if region != detour.origin
            for copy in self._to_the_other_region(Detour(detour.cluster, own.region, region, failed=True))
        ]

    def _to_the_other_region(self, detour: Detour) -> list[Copy]:
        neighbour = self._primary(detour.towards)
        if self._link_status[neighbour].up or not detour.failed:
            return [Copy(neighbour, detour=detour)]
        tried = decode_vector(detour.tried) | bit(self._neighbourhood.place.cluster)
        for cluster, secondary in sorted(self._neighbourhood.secondary.items()):
            if cluster != detour.cluster and not tried & bit(cluster) and self._link_status[secondary].up:
                return [Copy(secondary, detour=msgspec.structs.replace(detour, tried=encode_vector(tried)))]
        return []

    def _primary(self, region: str) -> BrokerId:
        neighbour = self._neighbourhood.primary.get(region)
        if neighbour is None:
            raise ValueError(f"a detour by region {region}, which is not next to {self._neighbourhood.place.region}")
        return neighbour
