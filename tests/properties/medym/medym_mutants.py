"""MEDYM's routers, each wrong in one way, to see that the properties notice. `test_medym_mutants` is the table of which
property catches each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from unittest import mock

import msgspec
import numpy as np

from broker_service.language import Subscription
from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.common.distances import Distances, Servers
from broker_service.routing.common.recognition import RecognisedPublications
from broker_service.routing.interface import Actions, Deliver, Matcher, RouterContext, Send
from broker_service.routing.medym import MedymOptions, MedymRouter, router
from broker_service.routing.medym.announcements.relay import Applied, Neighbours, Relay, ServerStates
from broker_service.routing.medym.locations.round_trips import RoundTripLocations
from broker_service.routing.medym.messages import Announcement, State, Version
from broker_service.routing.medym.multicast import decisions
from broker_service.routing.medym.multicast.routing_functions import Branch
from broker_service.routing.medym.subscriptions import advertised_exchange
from broker_service.routing.medym.subscriptions.advertisements import KnownAdvertisements
from broker_service.routing.medym.sums import KnownSums, SumChange
from tests.properties.mutants import in_place_of

Function = Callable[..., list[Branch]]

# Routing functions: each takes a right one and is wrong in one way.


def keeps_itself(right: Function) -> Function:
    """The server stays in the list of a next hop."""

    def wrong(distances: Distances, server: int, listed: Servers, **options: int) -> list[Branch]:
        first, *others = right(distances, server, listed, **options)
        return [Branch(first.next_hop, np.sort(np.append(first.destinations, np.uint16(server)))), *others]

    return wrong


def shares_a_destination(right: Function) -> Function:
    """Two lists share a destination."""

    def wrong(distances: Distances, server: int, listed: Servers, **options: int) -> list[Branch]:
        first, *others = right(distances, server, listed, **options)
        return [first, *(Branch(hop, np.union1d(branch, first.destinations[:1])) for hop, branch in others)]

    return wrong


def leaves_the_next_hop_out(right: Function) -> Function:
    """A next hop is not in its own list."""

    def wrong(distances: Distances, server: int, listed: Servers, **options: int) -> list[Branch]:
        return [Branch(hop, branch[branch != hop]) for hop, branch in right(distances, server, listed, **options)]

    return wrong


def drops_the_tail(right: Function) -> Function:
    """Destinations beyond the candidates are in no list."""

    def wrong(distances: Distances, server: int, listed: Servers, **options: int) -> list[Branch]:
        return right(distances, server, listed[np.argsort(distances.ranks[server].take(listed))[:2]])

    return wrong


def sends_to_each(right: Function) -> Function:
    """Every destination is a next hop."""

    def wrong(distances: Distances, server: int, listed: Servers, **options: int) -> list[Branch]:
        return [Branch(int(hop), listed[place : place + 1]) for place, hop in enumerate(listed)]

    return wrong


# Failures


class RemembersNothing(MedymRouter):
    """Notifies clients of every copy."""

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        self._publications._received = RecognisedPublications(1, 1, 0)
        return super().receive(neighbour, message)


class LosesWhatIsHandedBack(MedymRouter):
    """Ignores the publications that a failed neighbour did not take."""

    def returned(self, neighbour: BrokerId, messages: Sequence[Message]) -> Actions:
        return super().returned(neighbour, [message for message in messages if message.kind is not Kind.PUBLISH])


class LeavesListsToTheQueue(MedymRouter):
    """Takes nothing back from the queue of a failed neighbour."""

    def link_down(self, neighbour: BrokerId) -> Actions:
        return super().link_down(neighbour)[1:]


class ForgetsTheRestOfTheList(MedymRouter):
    """Sends what is handed back to the failed neighbour alone, without the rest of its list."""

    def returned(self, neighbour: BrokerId, messages: Sequence[Message]) -> Actions:
        return [send for send in super().returned(neighbour, messages) if send.neighbour == neighbour]


class ForgetsTheNeighbour(MedymRouter):
    """Sends what is handed back to the rest of the list, and never to the neighbour whose link failed."""

    def returned(self, neighbour: BrokerId, messages: Sequence[Message]) -> Actions:
        return [send for send in super().returned(neighbour, messages) if send.neighbour != neighbour]


class SendsToTheDead(MedymRouter):
    """Leaves failed servers in destination lists."""

    def link_down(self, neighbour: BrokerId) -> Actions:
        return ()


class AnnouncesNothingToTheRestarted(MedymRouter):
    """Sends a restarted neighbour no sum."""

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        actions = super().link_up(neighbour, incarnation)
        return [action for action in actions if not isinstance(action, Send)]


# Subscriptions


class AnnouncesNoWithdrawals(KnownSums):
    """Keeps what other servers have withdrawn."""

    def change(self, server: int, change: SumChange) -> None:
        super().change(server, dataclasses.replace(change, withdrawn=()))


class SendsToEverybody(KnownSums):
    """Takes all servers for destinations."""

    def __init__(self, matcher: Matcher[bytes], servers: int, own: int) -> None:
        super().__init__(matcher, servers, own)
        self._servers = servers

    def matching(self, message: Message, publication_server: int) -> Servers:
        super().matching(message, publication_server)
        return np.arange(self._servers, dtype=np.uint16)


class MatchesAtTheDestinationOnly(KnownSums):
    """Takes no other server for a destination."""

    def matching(self, message: Message, publication_server: int) -> Servers:
        return super().matching(message, publication_server)[:1]


class PassesNothingOn(Relay):
    """Sends neighbours in the tree its own announcements alone."""

    def add(self, announcement: Announcement, source: int) -> None:
        if source == self._own:
            super().add(announcement, source)


class KnowsNoWayRound(Relay):
    """Sends announcements to no server in place of a failed neighbour."""

    def set_failed(self, server: int, failed: bool) -> Neighbours:
        return Neighbours(set(), set())


class TurnsGuestsAway(Relay):
    """Sends nothing to servers that take this one for their neighbour."""

    def admit(self, server: int) -> None:
        pass


class TakesEachForTheLatest(ServerStates):
    """Applies announcements in the order in which they come."""

    def apply(self, announcement: Announcement) -> Applied:
        self.versions.pop(announcement.server, None)
        return super().apply(msgspec.structs.replace(announcement, version=Version(1, 1)))


class KeepsFormerSums(ServerStates):
    """Keeps the sum of a former incarnation."""

    def apply(self, announcement: Announcement) -> Applied:
        if isinstance(announcement, State) and not announcement.contents:
            return Applied.KNOWN
        return super().apply(announcement)


class NotifiesAllClients(MedymRouter):
    """Notifies all of its clients that ever subscribed of whatever comes."""

    def __init__(self, context: RouterContext[MedymOptions]) -> None:
        super().__init__(context)
        self._ever: dict[ClientId, None] = {}
        self._notify = self._publications._notification
        self._publications._notification = self._notification  # type: ignore[method-assign]

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        self._ever[client] = None
        return super().subscribe(client, id, subscription)

    def _notification(self, message: Message) -> Deliver:
        self._notify(message)
        return Deliver(tuple(self._ever), message)


# Subscriptions that go to advertisers alone


class TellsEveryAdvertiser(KnownAdvertisements):
    """Sends each subscription to all servers that advertise anything."""

    def match(self, server: int, subscription: bytes) -> bool:
        return bool(self.held_by(server))


class IgnoresLateAdvertisements(KnownAdvertisements):
    """Tells a server that advertises later than others subscribe of nothing."""

    def take_changed(self) -> Iterable[int]:
        super().take_changed()
        return ()


class KeepsFormerAdvertisements(KnownAdvertisements):
    """Takes no withdrawal of an advertisement."""

    def change(self, server: int, change: SumChange) -> None:
        super().change(server, dataclasses.replace(change, withdrawn=()))


# Servers and locations


class NumbersItsNeighbours(MedymRouter):
    """Numbers its neighbours, and itself last."""

    def __init__(self, context: RouterContext[MedymOptions]) -> None:
        prepared = msgspec.msgpack.encode([[*sorted(context.links), context.broker]])
        super().__init__(dataclasses.replace(context, prepared=prepared))


class BelievesTheFirst(RoundTripLocations):
    """Takes no other server's round trips."""

    def learn(self, server: int, round_trips: bytes) -> bool:
        return False


# Their place

Part = type[KnownSums] | type[RoundTripLocations] | type[Relay] | type[KnownAdvertisements]
Variant = Callable[[Function], Function] | type[MedymRouter] | Part


@contextmanager
def in_place_of_the_right(variant: Variant) -> Iterator[None]:
    """All brokers of MEDYM run with this variant; one of a routing function takes the place of MST and CloseMST."""
    with ExitStack() as patches:
        if not isinstance(variant, type):
            for name in ("mst", "close_mst"):
                patches.enter_context(mock.patch.object(decisions, name, variant(getattr(decisions, name))))
        elif issubclass(variant, MedymRouter):
            patches.enter_context(in_place_of("medym", variant))
        else:
            name = variant.__base__.__name__
            used_in = router if hasattr(router, name) else advertised_exchange
            patches.enter_context(mock.patch.object(used_in, name, variant))
        yield
