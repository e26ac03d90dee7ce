"""Mesh unicast, broken in one way each. `README.md` names what catches each of them."""

from __future__ import annotations

from collections.abc import Sequence

from broker_service.messages import BrokerId, ClientId, Kind, Message
from broker_service.routing.interface import Action, Actions, Send
from tests.contracts.routers.mesh_unicast import MeshUnicastRouter, Route


class LeavesPublicationsToTheQueue(MeshUnicastRouter):
    """Does not take back what waits for a dead link."""

    def link_down(self, neighbour: BrokerId) -> Actions:
        return ()


class LosesWhatIsHandedBack(MeshUnicastRouter):
    """Ignores what a dead link gives back."""

    def returned(self, neighbour: BrokerId, messages: Sequence[Message]) -> Actions:
        return ()


class LosesAnnouncementsHandedBack(MeshUnicastRouter):
    """Sends publications that come back by another way, and nothing else."""

    def returned(self, neighbour: BrokerId, messages: Sequence[Message]) -> Actions:
        return super().returned(neighbour, [message for message in messages if message.kind is Kind.PUBLISH])


class RecognisesNoCopies(MeshUnicastRouter):
    """Notifies clients of every copy that arrives."""

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        self._seen.clear()
        return super()._receive_publication(neighbour, message)


class DetoursForEver(MeshUnicastRouter):
    """Sends a copy by way of another broker as often as its link is down, also at brokers on the way."""

    def _relay(self, message: Message, route: Route) -> Action:
        action = super()._relay(message, route)
        assert isinstance(action, Send)
        return self._send(action.message, Route(route.copy, route.destination))


class TakesTheFarthestDetour(MeshUnicastRouter):
    """Takes detours over the broker with the longest round trip."""

    def _distance(self, neighbour: BrokerId) -> float:
        return -super()._distance(neighbour)


class WaitsInLongQueues(MeshUnicastRouter):
    """Takes detours round links that are down alone."""

    def _is_free(self, neighbour: BrokerId) -> bool:
        return self._context.links[neighbour].up


class DoesNotRelay(MeshUnicastRouter):
    """Takes every copy for one of its own."""

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        return [self._notification(message)]


class AnnouncesToNewcomersNothing(MeshUnicastRouter):
    """Does not announce its clients' subscriptions to a restarted broker."""

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        super().link_up(neighbour, incarnation)
        return ()


class AnnouncesNoEnds(MeshUnicastRouter):
    """Does not announce that a subscription has ended."""

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        super().unsubscribe(client, id)
        return ()


class SendsToEveryBroker(MeshUnicastRouter):
    """Sends a publication to brokers without a matching subscription, too."""

    def _destinations(self, message: Message) -> Sequence[BrokerId]:
        return list(self._context.links)
