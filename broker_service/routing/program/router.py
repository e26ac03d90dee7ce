"""A program as the router of one broker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import UNSET, to_builtins

from broker_service.language import Advertisement, ContentError, Publication, Subscription
from broker_service.messages import BrokerId, ClientId, Message, StampedPublication
from broker_service.routing.interface import (
    Actions,
    Buffer,
    CompositeUnit,
    FollowsNeighbours,
    HoldsPublishers,
    KeepsStreams,
    MalformedMessageError,
    RecallsMessages,
    Router,
    RouterContext,
    RoutesComposites,
    StoresValues,
    TimerKey,
)
from broker_service.routing.options import ProtocolOptions
from broker_service.routing.program import lines
from broker_service.routing.program.channel import Channel, ProgramError
from broker_service.routing.program.contents import predicates_line, stamped_line, unit_line
from broker_service.routing.program.conversation import Conversation


class CoreProgramRouter(Router):
    """A program that answers the calls which every router has."""

    def __init__(
        self, context: RouterContext[ProtocolOptions], channel: Channel, declaration: lines.Declaration
    ) -> None:
        self._conversation = Conversation(context, channel, declaration)
        self._actions = self._conversation.actions
        self._wants = self._conversation.wants
        first = lines.Init(
            broker=context.broker,
            incarnation=context.incarnation,
            attributes=dict(context.attributes),
            neighbours=list(context.links),
            options=to_builtins(context.options),
            started_at=str(context.started_at),
            prepared=context.prepared,
            stored=list(context.storage.values),
            stored_bytes=context.storage.most_bytes,
            detection_lateness=context.composites.lateness,
        )
        if self._actions(first):
            raise ProgramError("the program answers call 'init' with actions, of which it may have none")

    def close(self) -> None:
        self._conversation.close()

    def processes(self) -> Sequence[int]:
        return self._conversation.processes()

    def advertise(self, client: ClientId, id: str, advertisement: Advertisement) -> Actions:
        if not self._wants("advertise"):
            return ()
        return self._actions(lines.Advertise(client, id, predicates_line(advertisement.predicates)))

    def unadvertise(self, client: ClientId, id: str) -> Actions:
        return self._actions(lines.Unadvertise(client, id)) if self._wants("unadvertise") else ()

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        return self._actions(lines.Subscribe(client, id, predicates_line(subscription.predicates)))

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        return self._actions(lines.Unsubscribe(client, id))

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        line = self._conversation.arriving(message)
        return self._actions(lines.Publish(client, line, advertisement), (message,))

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        try:
            line = self._conversation.arriving(message)
        except ContentError as error:
            raise MalformedMessageError(str(error)) from None
        return self._actions(lines.Receive(neighbour, line), (message,))

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        return self._actions(lines.LinkUp(neighbour, incarnation)) if self._wants("link_up") else ()

    def link_down(self, neighbour: BrokerId) -> Actions:
        return self._actions(lines.LinkDown(neighbour)) if self._wants("link_down") else ()

    def timer(self, key: TimerKey) -> Actions:
        return self._actions(lines.Timer(str(key))) if self._wants("timer") else ()

    def index(self) -> None:
        if self._wants("index"):
            self._actions(lines.Index())

    def declared(self) -> Iterable[int]:
        return self._conversation.declared()

    def tables(self) -> Mapping[str, object]:
        if not self._wants("tables"):
            return {}
        said = self._conversation.call(lines.Tables())
        if said.tables is UNSET:
            raise ProgramError("the program's answer to call 'tables' has no `tables`")
        return said.tables


class ProgramRouter(
    CoreProgramRouter,
    RecallsMessages,
    FollowsNeighbours,
    StoresValues,
    HoldsPublishers,
    KeepsStreams,
    RoutesComposites,
):
    """A program with all the capabilities that it declares; calls of others do not reach it."""

    def returned(self, neighbour: BrokerId, messages: Sequence[Message]) -> Actions:
        arriving = [self._conversation.arriving(message) for message in messages]
        return self._actions(lines.Returned(neighbour, arriving), messages)

    def neighbour_added(self, neighbour: BrokerId) -> Actions:
        return self._actions(lines.NeighbourAdded(neighbour)) if self._conversation.has("neighbours") else ()

    def neighbour_removed(self, neighbour: BrokerId) -> Actions:
        return self._actions(lines.NeighbourRemoved(neighbour)) if self._conversation.has("neighbours") else ()

    def buffers(self) -> Sequence[Buffer]:
        if not self._conversation.has("streams"):
            return ()
        said = self._conversation.call(lines.Buffers())
        if said.buffers is UNSET:
            raise ProgramError("the program's answer to call 'buffers' has no `buffers`")
        return [Buffer(one.name, one.bytes, one.publications, one.notified, one.waited) for one in said.buffers]

    @property
    def routes_units(self) -> bool:
        return self._conversation.has("composites")

    def compose(self, unit: CompositeUnit) -> Actions:
        return self._actions(lines.Compose(unit_line(unit)))

    def decompose(self, unit: str) -> Actions:
        return self._actions(lines.Decompose(unit))

    def detected(self, unit: str, publications: tuple[StampedPublication, ...]) -> Actions:
        return self._actions(lines.Detected(unit, list(map(stamped_line, publications))))
