"""Semi-probabilistic routers that recognise events or notify clients wrongly."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from broker_service.language import Publication
from broker_service.messages import BrokerId, ClientId, Message
from broker_service.routing.common.recognition import RecognisedPublications
from broker_service.routing.interface import Actions, Deliver, Send
from broker_service.routing.semi_probabilistic.messages import EventHeader
from broker_service.routing.semi_probabilistic.subscriptions import Pattern
from tests.properties.semi_probabilistic.mutants.mutant import Context, Mutant


class _NoMemory(RecognisedPublications[tuple[str, int], bool]):
    def note(self, key: tuple[str, int]) -> None:
        return None


class RemembersNoEvents(Mutant):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._seen = _NoMemory(1, context.incarnation, context.started_at)


class NotifiesOnDuplicates(Mutant):
    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        interest = self._table.interest(self._patterns.match(message))
        actions = super()._receive_publication(neighbour, message)
        return [Deliver(interest.clients, message), *(action for action in actions if isinstance(action, Send))]


class KnowsEventsByTheClientsName(Mutant):
    def _spread(
        self, message: Message, header: EventHeader, matched: Iterable[Pattern], source: BrokerId | None
    ) -> Actions:
        return super()._spread(
            message, msgspec.structs.replace(header, publisher=message.id, number=1), matched, source
        )


class NotifiesAllLocalClients(Mutant):
    """All clients of a broker where one is interested."""

    def _spread(
        self, message: Message, header: EventHeader, matched: Iterable[Pattern], source: BrokerId | None
    ) -> Actions:
        every = self._everyone()
        actions = super()._spread(message, header, matched, source)
        return [Deliver(every, message) if isinstance(action, Deliver) else action for action in actions]

    def _everyone(self) -> tuple[ClientId, ...]:
        rows = self._table._rows.values()
        return tuple(dict.fromkeys(row.client for row in rows if row.client is not None))


class NotifiesEveryoneOnTheWay(NotifiesAllLocalClients):
    """All clients of every broker that has the event."""

    def _spread(
        self, message: Message, header: EventHeader, matched: Iterable[Pattern], source: BrokerId | None
    ) -> Actions:
        actions = super()._spread(message, header, matched, source)
        sends = [action for action in actions if isinstance(action, Send)]
        return [Deliver(self._everyone(), message), *sends]


class NotifiesNobody(Mutant):
    """Passes events on, and does not notify its own clients of those that came over a link."""

    def _receive_publication(self, neighbour: BrokerId, message: Message) -> Actions:
        actions = super()._receive_publication(neighbour, message)
        return [action for action in actions if isinstance(action, Send)]


class StopsMatchingAfterThreeHops(Mutant):
    def _spread(
        self, message: Message, header: EventHeader, matched: Iterable[Pattern], source: BrokerId | None
    ) -> Actions:
        return super()._spread(message, header, matched if message.hops <= 3 else (), source)


class PublishesWithoutEffectOnItself(Mutant):
    """Does not notify its own clients of what another of them publishes."""

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        actions = super().publish(client, message, publication, advertisement)
        return [action for action in actions if isinstance(action, Send)]
