"""OctopiA's routers, each wrong in one way, to see that the properties notice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from unittest import mock

from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.common.congestion import Congestion
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.interface import Actions, Deliver, LinkStatus, Send
from broker_service.routing.octopia import OctopiaOptions, OctopiaRouter, router
from broker_service.routing.octopia.dynamic import InterClusterDynamicRouting
from broker_service.routing.octopia.forwarding import Copy, Forwarding, ForwardingDecision, Onward, StaticRouting
from broker_service.routing.octopia.messages import CivSetForSubscription, decode_control
from broker_service.routing.octopia.neighbourhood import Neighbourhood
from broker_service.routing.octopia.tables import AdvertisementRow, SubscriptionRow
from broker_service.routing.octopia.vector import ClusterIndexVector, bit, clusters_of
from tests.properties.mutants import in_place_of

# Tables


class NotifiesTwice(OctopiaRouter):
    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        actions = super().receive(neighbour, message)
        return [*actions, *(action for action in actions if isinstance(action, Deliver))]


class HoldsBackEverySecond(OctopiaRouter):
    """Holds back publications of neighbours until the next one has left."""

    _held: Actions | None = None

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        actions = super().receive(neighbour, message)
        if message.kind is not Kind.PUBLISH:
            return actions
        if self._held is None:
            self._held = actions
            return []
        held, self._held = self._held, None
        return [*actions, *held]


class IgnoresWhoHasSubscribers(OctopiaRouter):
    """A host broker that takes no CIV_SET and no CIV_UNSET."""

    def _receive_control(self, neighbour: BrokerId, message: Message) -> Actions:
        return []


class NeverUnsets(OctopiaRouter):
    """Once a target cluster, always a target cluster."""

    def _unset(self, rows: Iterable[AdvertisementRow]) -> list[Send]:
        return []


class UnsetsWithTheFirstThatLeaves(OctopiaRouter):
    """It does not look whether others in the cluster match the advertisement."""

    def _withdraw_subscription(self, row: SubscriptionRow, hops: int) -> list[Send]:
        actions = super()._withdraw_subscription(row, hops)
        for advertised in self._advertisements:
            advertised.witness = None
        return [*actions, *self._unset(list(self._advertisements))]


class SetsForOneAdvertisementOnly(OctopiaRouter):
    """It finds one advertisement that the subscription of a CIV_SET matches, and looks no further."""

    def _receive_control(self, neighbour: BrokerId, message: Message) -> Actions:
        before = {row.id: row.civ for row in self._advertisements.local()}
        actions = super()._receive_control(neighbour, message)
        changed = [row for row in self._advertisements.local() if row.civ != before[row.id]]
        for row in changed[1:]:
            row.civ = before[row.id]
        return actions


class SetsForLaterAdvertisementsToo(OctopiaRouter):
    """It takes a CIV_SET to be about advertisements that its sender cannot have heard of yet."""

    def _receive_control(self, neighbour: BrokerId, message: Message) -> Actions:
        if isinstance(decode_control(message.header), CivSetForSubscription):
            newest = max(self._advertisements.local(), key=lambda row: row.number, default=None)
            header = encode_header(CivSetForSubscription(newest.id)) if newest else message.header
            message = Message(message.kind, message.id, message.body, header, message.hops)
        return super()._receive_control(neighbour, message)


class TellsTheRestartedNothing(OctopiaRouter):
    """A neighbour that has lost its tables does not get them again."""

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        return []


class KeepsSubscriptionsToItself(OctopiaRouter):
    """It does not broadcast them in its cluster."""

    def _add_subscription(self, row: SubscriptionRow, hops: int) -> Actions:
        actions = super()._add_subscription(row, hops)
        return [one for one in actions if not (isinstance(one, Send) and one.message.kind is Kind.SUBSCRIBE)]


class IgnoresUnadvertisements(OctopiaRouter):
    def _receive_unadvertisement(self, neighbour: BrokerId, message: Message) -> Actions:
        return []


class KeepsWithdrawalsToItself(OctopiaRouter):
    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        super().unsubscribe(client, id)
        return []


# Static routing


class Mutant:
    """A way to forward, made from what the real ones are made from."""

    def __init__(self, neighbourhood: Neighbourhood, congestion: Congestion) -> None:
        self._neighbourhood = neighbourhood
        self._congestion = congestion
        self._static = StaticRouting(neighbourhood.secondary)
        self._dynamic = InterClusterDynamicRouting(neighbourhood.secondary, congestion)

    def route(self, onward: Onward) -> ForwardingDecision:
        raise NotImplementedError


class GoesToAllClusters(Mutant):
    """The naive approach of section 8."""

    def route(self, onward: Onward) -> ForwardingDecision:
        copies = self._static.route(onward).copies
        others = self._neighbourhood.secondary.values() if onward.source is None else ()
        return ForwardingDecision(
            [
                *copies,
                *(Copy(neighbour) for neighbour in others if neighbour not in {copy.neighbour for copy in copies}),
            ]
        )


class TellsItsWholeCluster(Mutant):
    """Within a cluster it broadcasts, subscribers or not."""

    def route(self, onward: Onward) -> ForwardingDecision:
        copies = self._static.route(onward).copies
        others = [neighbour for neighbour in self._neighbourhood.primary.values() if neighbour != onward.source]
        return ForwardingDecision(
            [*copies, *(Copy(neighbour) for neighbour in others if neighbour not in onward.a_links)]
        )


class GoesFromClusterToCluster(Mutant):
    """A copy visits one target cluster after the other, each over one link at most."""

    def route(self, onward: Onward) -> ForwardingDecision:
        copies = [Copy(neighbour) for neighbour in onward.a_links]
        clusters = [*clusters_of(onward.civ)]
        if clusters:
            nearest = self._neighbourhood.secondary[clusters[0]]
            copies.append(Copy(nearest, onward.civ & ~bit(clusters[0])))
        return ForwardingDecision(copies)


class LeavesWhatItHasDoneToOthersToo(Mutant):
    """The brokers next to the host broker are to forward to other clusters as well."""

    def route(self, onward: Onward) -> ForwardingDecision:
        copies = self._static.route(onward).copies
        return ForwardingDecision(
            [Copy(copy.neighbour, onward.civ) if copy.neighbour in onward.a_links else copy for copy in copies]
        )


# Dynamic routing


class ForgetsWhatIsLeft(Mutant):
    """Clusters behind congested iLinks get nothing."""

    def route(self, onward: Onward) -> ForwardingDecision:
        return ForwardingDecision([Copy(copy.neighbour) for copy in self._dynamic.route(onward).copies])


class LeavesItToAll(Mutant):
    """Every copy carries the vector of what is left."""

    def route(self, onward: Onward) -> ForwardingDecision:
        route = self._dynamic.route(onward)
        left = sum(copy.civ for copy in route.copies)
        return ForwardingDecision([Copy(copy.neighbour, left) for copy in route.copies], route.unreachable)


class ClearsNoBits(Mutant):
    """A copy keeps the bits of clusters that it has been forwarded to."""

    def route(self, onward: Onward) -> ForwardingDecision:
        copies = self._dynamic.route(onward).copies
        carried: ClusterIndexVector = onward.civ
        return ForwardingDecision([Copy(copy.neighbour, carried) if copy.civ else copy for copy in copies])


class LeavesItToAnyCluster(Mutant):
    """Takes an iLink to a cluster that is not a target when all target iLinks are congested."""

    def route(self, onward: Onward) -> ForwardingDecision:
        route = self._dynamic.route(onward)
        left = sum(copy.civ for copy in route.copies)
        idle = [
            neighbour for cluster, neighbour in self._neighbourhood.secondary.items() if not onward.civ & bit(cluster)
        ]
        idle = [neighbour for neighbour in idle if neighbour != onward.source]
        if not left or not idle:
            return route
        return ForwardingDecision(
            [*(Copy(copy.neighbour) for copy in route.copies), Copy(idle[0], left)], route.unreachable
        )


class SendsItBack(Mutant):
    """Sends remaining clusters back to where the publication came from, when no better link remains."""

    def route(self, onward: Onward) -> ForwardingDecision:
        route = self._dynamic.route(onward)
        left = sum(copy.civ for copy in route.copies)
        if not left or onward.source is None:
            return route
        return ForwardingDecision([*(Copy(copy.neighbour) for copy in route.copies), Copy(onward.source, onward.civ)])


@contextmanager
def in_place_of_octopia(broken: type[OctopiaRouter] | type[Mutant]) -> Iterator[None]:
    """All brokers run this router, or forward publications in this way."""
    if issubclass(broken, Mutant):
        with mock.patch.object(router, "make_forwarding", _maker(broken)):
            yield
        return
    with in_place_of("octopia", broken):
        yield


def _maker(
    broken: type[Mutant],
) -> Callable[[OctopiaOptions, Neighbourhood, Mapping[BrokerId, LinkStatus]], Forwarding]:
    def make(
        options: OctopiaOptions, neighbourhood: Neighbourhood, link_status: Mapping[BrokerId, LinkStatus]
    ) -> Forwarding:
        return broken(neighbourhood, Congestion(link_status, options.congestion_threshold, options.status_interval))

    return make
