"""Routers of channelization, each wrong in one way, to see that the properties notice."""

from __future__ import annotations

from broker_service.language import Publication, Subscription
from broker_service.messages import BrokerId, ClientId, Message
from broker_service.routing.channelization import ChannelizationRouter
from broker_service.routing.channelization.messages import Leg
from broker_service.routing.interface import Actions, Deliver, Send


class DoesNotFilter(ChannelizationRouter):
    """Notifies all clients of a server in the channel."""

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        clients = tuple({client: None for client, _ in self._interests()})
        actions = [one for one in super()._receive_publication(neighbour, message) if not isinstance(one, Deliver)]
        return [Deliver(clients, message), *actions] if clients else actions

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        self._interests().append((client, id))
        return super().subscribe(client, id, subscription)

    def _interests(self) -> list[tuple[ClientId, str]]:
        return self.__dict__.setdefault("interests", [])


class ForwardsBack(ChannelizationRouter):
    """Sends a publication to all neighbours in the tree."""

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        actions = super()._receive_publication(neighbour, message)
        onward = [action for action in actions if isinstance(action, Send)]
        return [*actions, Send(neighbour, onward[0].message)] if onward else actions


class DropsWhatIsHanded(ChannelizationRouter):
    """Does not pass on publications of servers outside of the channel."""

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        actions = super().publish(client, message, publication, advertisement)
        return [one for one in actions if not (isinstance(one, Send) and one.message.header[6] == Leg.HANDED)]


class IsNeverLate(ChannelizationRouter):
    """Joins no channel that the plan does not have it in."""

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        super().subscribe(client, id, subscription)
        return ()


class NeverLeaves(ChannelizationRouter):
    """Does not leave channels that it has joined late."""

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        super().unsubscribe(client, id)
        return ()


class TellsRestartedNothing(ChannelizationRouter):
    """Does not tell a restarted server which channels it has joined late."""

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        super().link_up(neighbour, incarnation)
        return ()
