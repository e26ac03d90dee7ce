"""The conversation of one broker with its router's program: asks answered, tells heard, actions read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from msgspec import UNSET, convert

from broker_service.language import Subscription
from broker_service.language.content import decode_predicates, decode_publication
from broker_service.messages import Kind, Message
from broker_service.routing.interface import (
    Action,
    Actions,
    AnnounceLoss,
    AnnounceStart,
    CancelTimer,
    Cease,
    Contribute,
    Deliver,
    Detect,
    Erase,
    HoldPublishers,
    MalformedMessageError,
    Matcher,
    NoRoomError,
    Notify,
    Recall,
    RecordPlacement,
    RefusedPublicationError,
    ReleasePublishers,
    RouterContext,
    Send,
    SetTimer,
    Store,
    capability_for,
)
from broker_service.routing.options import ProtocolOptions
from broker_service.routing.program import lines
from broker_service.routing.program.channel import Channel, ProgramError
from broker_service.routing.program.contents import (
    UnfitLineError,
    arriving,
    leaving,
    predicates_line,
    predicates_of,
    publication_line,
    stamped_of,
    unit_of,
)
from record.log import Event

_DECLARATIONS = frozenset({Kind.ADVERTISE, Kind.SUBSCRIBE})


class _DeclaredWantedError(Exception):
    """The broker counts what the router holds, while the program asks for room."""


class Conversation:
    """The conversation at one broker; `channel` may serve others, too."""

    def __init__(
        self, context: RouterContext[ProtocolOptions], channel: Channel, declaration: lines.Declaration
    ) -> None:
        self.declaration = declaration
        self._context = context
        self._channel: Channel | None = channel
        self._broker = context.broker if declaration.multiplexed else UNSET
        self._bodies = "bodies" in declaration.needs
        self._contents = "contents" in declaration.needs
        self._calls = frozenset(declaration.calls)
        self._capabilities = frozenset(declaration.capabilities)
        self._messages: Sequence[Message] = ()
        """The messages of the call that is answered at present."""
        self._matchers: list[Matcher[str]] = []
        self._own = context.matcher()
        """Logs the comparisons that the program makes itself."""
        self._sizes: list[int] | None = None
        """Sizes that the program has sent with an ask for room."""
        self._is_asked = False
        self._handlers: Mapping[type[lines.Ask | lines.Tell], Callable[[Any], lines.Reply | None]] = {
            lines.MatchAsk: self._match,
            lines.NeighboursAsk: lambda _: lines.Reply(neighbours=list(context.links)),
            lines.LinkAsk: self._link,
            lines.RandomAsk: lambda ask: lines.Reply(numbers=[context.random.random() for _ in range(ask.count)]),
            lines.RandomBitsAsk: lambda ask: lines.Reply(bits=str(context.random.getrandbits(ask.bits))),
            lines.StoredAsk: lambda ask: lines.Reply(value=context.storage.values.get(ask.key, UNSET)),
            lines.ServiceAsk: self._service,
            lines.LatestIncarnationAsk: self._latest_incarnation,
            lines.RoomAsk: self._room,
            lines.IndexTell: self._index,
            lines.UnindexTell: lambda tell: self._matcher(tell.matcher).remove(tell.key),
            lines.MatchedTell: lambda tell: self._own.note(tell.id, tell.matches),
            lines.DroppedTell: lambda tell: context.report_dropped(leaving(tell.message, self._messages), tell.reason),
        }

    def close(self) -> None:
        """Ends the program, unless it serves other brokers."""
        if self._channel is not None and not self.declaration.multiplexed:
            self._channel.close()
        self._channel = None

    def processes(self) -> Sequence[int]:
        """The program's process, until it is closed."""
        return () if self._channel is None else (self._channel.pid,)

    def wants(self, call: str) -> bool:
        """True when the program wants calls of this name."""
        return call in self._calls

    def has(self, capability: str) -> bool:
        """True when the program has declared a capability."""
        return capability in self._capabilities

    def call(self, call: lines.AnyCall, messages: Sequence[Message] = ()) -> lines.Said:
        """The program's answer to a call with these messages. Raises `ProgramError`."""
        if self._channel is None:
            raise ProgramError("the program has ended with its broker")
        call.now, call.broker = self._context.now(), self._broker if call.broker is UNSET else call.broker
        self._messages = messages
        try:
            return self._channel.call(call, self._asked)
        except (UnfitLineError, ValueError, KeyError) as error:
            raise self._objection(call, error) from None

    def actions(self, call: lines.AnyCall, messages: Sequence[Message] = ()) -> Actions:
        """The actions by which the program answers a call.

        Raises `ProgramError`, and the errors by which routers refuse publications and messages.
        """
        said = self.call(call, messages)
        if said.actions is UNSET:
            raise self._refusal(call, said)
        try:
            return [self._action(line) for line in said.actions]
        except (UnfitLineError, ValueError) as error:
            raise self._objection(call, error) from None

    def arriving(self, message: Message) -> lines.ArrivingMessage:
        """A message for the program, with what it needs of it. Raises `ContentError` where its body is malformed."""
        line = arriving(message, message.body if self._bodies else UNSET)
        if self._contents:
            if message.kind is Kind.PUBLISH:
                line.publication = publication_line(decode_publication(message.body))
            elif message.kind in _DECLARATIONS:
                line.predicates = predicates_line(decode_predicates(message.body))
        return line

    def _objection(self, call: lines.AnyCall, error: Exception) -> ProgramError:
        return ProgramError(f"the program's answer to call {call.__struct_config__.tag!r} is unfit: {error}")

    def _refusal(self, call: lines.AnyCall, said: lines.Said) -> Exception:
        if said.refuse is not UNSET and isinstance(call, lines.Publish):
            return RefusedPublicationError(said.refuse)
        if said.malformed is not UNSET and isinstance(call, lines.Receive):
            return MalformedMessageError(said.malformed)
        if said.no_room is not UNSET and isinstance(call, lines.Receive):
            return NoRoomError(said.no_room)
        return self._objection(call, UnfitLineError("it has no `actions`"))

    # Actions

    def _action(self, line: lines.AnyAction) -> Action:
        if isinstance(line, lines.SendLine):
            return Send(line.neighbour, leaving(line.message, self._messages), line.label, line.ahead)
        if isinstance(line, lines.DeliverLine):
            return Deliver(line.clients, leaving(line.message, self._messages), line.position)
        action = _ACTIONS[type(line)](line)
        capability = capability_for(type(action))
        if capability is not None and capability not in self._capabilities:
            name = line.__struct_config__.tag
            raise UnfitLineError(f"the action {name!r} needs the capability {capability!r}, which was not declared")
        return action

    # Asks and tells

    def _asked(self, said: lines.Said) -> lines.Reply | None:
        spoken = said.ask if said.ask is not UNSET else said.tell
        assert spoken is not UNSET
        return self._handlers[type(spoken)](spoken)

    def _matcher(self, number: int) -> Matcher[str]:
        if not 0 <= number <= len(self._matchers):
            raise UnfitLineError(f"it names index {number} before index {len(self._matchers)}")
        if number == len(self._matchers):
            self._matchers.append(self._context.matcher())
        return self._matchers[number]

    def _index(self, tell: lines.IndexTell) -> None:
        self._matcher(tell.matcher).add(tell.key, Subscription(predicates_of(tell.predicates)))

    def _match(self, ask: lines.MatchAsk) -> lines.Reply:
        if not 0 <= ask.message < len(self._messages):
            raise UnfitLineError(f"it names message {ask.message} of a call with {len(self._messages)}")
        return lines.Reply(keys=self._matcher(ask.matcher).match(self._messages[ask.message]))

    def _link(self, ask: lines.LinkAsk) -> lines.Reply:
        if ask.neighbour not in self._context.links:
            raise UnfitLineError(f"it asks for the link to {ask.neighbour!r}, which is no neighbour")
        link = self._context.links[ask.neighbour]
        utilisation = link.utilisation
        return lines.Reply(
            link=lines.LinkLine(
                attributes=dict(link.attributes),
                up=link.up,
                queue_length=link.queue_length,
                sent=link.sent,
                waited=str(link.waited),
                round_trip=link.round_trip,
                utilisation=utilisation if isfinite(utilisation) else None,
                flow=link.flow(ask.interval) if ask.interval else None,
            )
        )

    def _service(self, _ask: lines.ServiceAsk) -> lines.Reply:
        totals = self._context.composites.service()
        return lines.Reply(service=(str(totals.messages), str(totals.waited), str(totals.occupied)))

    def _latest_incarnation(self, ask: lines.LatestIncarnationAsk) -> lines.Reply:
        latest = self._context.latest_incarnation(ask.broker)
        return lines.Reply() if latest is None else lines.Reply(incarnation=latest)

    def _room(self, ask: lines.RoomAsk) -> lines.Reply:
        """Asks again for sizes where the account wants to count, because the program cannot be called while it asks."""
        self._sizes, self._is_asked = (None if ask.declared is UNSET else ask.declared), True
        try:
            self._context.require_room(0 if self._sizes is not None else ask.size)
        except _DeclaredWantedError:
            return lines.Reply(sizes=True)
        except NoRoomError as error:
            return lines.Reply(no_room=str(error))
        finally:
            self._sizes, self._is_asked = None, False
        return lines.Reply()

    def declared(self) -> Sequence[int]:
        """The sizes that the router holds for neighbours."""
        if self._is_asked:
            if self._sizes is None:
                raise _DeclaredWantedError
            return self._sizes
        if not self.wants("declared"):
            return ()
        said = self.call(lines.DeclaredSizes())
        if said.declared is UNSET:
            raise self._objection(lines.DeclaredSizes(), UnfitLineError("it has no `declared`"))
        return said.declared


_ACTIONS: Mapping[type[lines.ActionLine], Callable[[Any], Action]] = {
    lines.SetTimerLine: lambda line: SetTimer(line.key, line.after, line.awaited),
    lines.CancelTimerLine: lambda line: CancelTimer(line.key),
    lines.RecallLine: lambda line: Recall(line.neighbour),
    lines.StoreLine: lambda line: Store(line.key, line.value),
    lines.EraseLine: lambda line: Erase(line.key),
    lines.HoldPublishersLine: lambda line: HoldPublishers(line.reason),
    lines.ReleasePublishersLine: lambda _: ReleasePublishers(),
    lines.AnnounceStartLine: lambda line: AnnounceStart(line.client, line.id),
    lines.AnnounceLossLine: lambda line: AnnounceLoss(line.clients, line.position, line.end),
    lines.DetectLine: lambda line: Detect(unit_of(line.unit), line.elsewhere),
    lines.ContributeLine: lambda line: Contribute(line.unit, tuple(map(stamped_of, line.publications))),
    lines.CeaseLine: lambda line: Cease(line.unit),
    lines.RecordPlacementLine: lambda line: RecordPlacement(
        convert(line.event, Event), unit_of(line.unit), line.placement, line.reason, line.peer
    ),
    lines.NotifyLine: lambda line: Notify(unit_of(line.unit), line.publications),
}
