"""A program that is the router of any built-in protocol behind the pipe: `host.py PROTOCOL OPTIONS`, options in JSON.

One process serves all brokers, each with a router of its own.
It keeps the broker's side of the contract from the other end: a `RouterContext` whose every reading is an ask.
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from broker_service.language import Advertisement, Subscription
from broker_service.language.content import decode_publication
from broker_service.links.flow import Flow
from broker_service.messages import KIND_WORDS, Message
from broker_service.routing import protocol_named, read_options
from broker_service.routing.interface import (
    CAPABILITIES,
    AnnounceLoss,
    AnnounceStart,
    CancelTimer,
    Cease,
    CompositeSurroundings,
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
    StoredValues,
)
from broker_service.routing.interface.matcher import Comparisons
from broker_service.routing.options import PlannedLink, Preparation, ProtocolOptions
from broker_service.routing.program import lines
from broker_service.routing.program.contents import (
    predicates_of,
    stamped_line,
    stamped_of,
    unit_line,
    unit_of,
)
from broker_service.routing.semi_probabilistic.router import SemiProbabilisticRouter
from broker_service.service import ServiceTotals

KINDS = {word: kind for kind, word in KIND_WORDS.items()}
ALL_CALLS = ("advertise", "unadvertise", "link_up", "link_down", "timer", "index", "declared", "tables")
_decode_call = msgspec.json.Decoder(lines.AnyCall).decode
_decode_reply = msgspec.json.Decoder(lines.Reply).decode
_encode = msgspec.json.Encoder().encode


def say(said: lines.Said) -> None:
    sys.stdout.buffer.write(_encode(said) + b"\n")


def ask(asked: lines.AnyAsk) -> lines.Reply:
    say(lines.Said(ask=asked))
    sys.stdout.buffer.flush()
    return _decode_reply(sys.stdin.buffer.readline())


class PipedRandom(random.Random):
    """The broker's own stream."""

    def random(self) -> float:
        numbers = ask(lines.RandomAsk()).numbers
        assert numbers is not UNSET
        return numbers[0]

    def getrandbits(self, k: int) -> int:
        bits = ask(lines.RandomBitsAsk(k)).bits
        assert bits is not UNSET
        return int(bits)

    def seed(self, *args: Any, **kwargs: Any) -> None:
        """The broker's stream has its seed."""


class PipedLink:
    """The status of a link, asked for at each reading."""

    def __init__(self, neighbour: str) -> None:
        self._neighbour = neighbour

    def _line(self, interval: float = 0.0) -> lines.LinkLine:
        link = ask(lines.LinkAsk(self._neighbour, interval)).link
        assert link is not UNSET
        return link

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._line(), name)
        if name == "utilisation":
            return float("inf") if value is None else value
        return int(value) if name == "waited" else value

    def flow(self, interval: float) -> Flow:
        flow = self._line(interval).flow
        assert flow is not None
        return Flow(*flow)


class PipedLinks(Mapping[str, Any]):
    """All links, a live view."""

    def __getitem__(self, neighbour: str) -> Any:
        if neighbour not in self._names():
            raise KeyError(neighbour)
        return PipedLink(neighbour)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def _names(self) -> list[str]:
        names = ask(lines.NeighboursAsk()).neighbours
        assert names is not UNSET
        return names


class PipedStorage(dict[str, bytes]):
    """Stable storage: what former incarnations stored is asked for, because it may be more than a line takes."""

    def __init__(self, keys: list[str]) -> None:
        super().__init__()
        for key in keys:
            value = ask(lines.StoredAsk(key)).value
            assert value is not UNSET
            self[key] = value


class PipedRecorder:
    """Tells the broker of comparisons."""

    def matched(self, id: str, matches: int, duration: int) -> None:
        say(lines.Said(tell=lines.MatchedTell(id, matches)))


class Host:
    """The router and what it is told."""

    def __init__(self, name: str, options: ProtocolOptions) -> None:
        self._name, self._options = name, options
        self._router: Any = None
        self._now = 0.0
        self._comparisons = Comparisons(lambda: 0, decode_publication, PipedRecorder())  # type: ignore[arg-type]
        self._keys: dict[str, Any] = {}
        self._names: dict[Any, str] = {}
        self._storage: PipedStorage = PipedStorage([])

    def answer(self, call: Any) -> lines.Said:
        self._now = call.now
        try:
            return self._answers(call)
        except NoRoomError as error:
            self._comparisons.discard()
            return lines.Said(no_room=str(error))
        except MalformedMessageError as error:
            self._comparisons.discard()
            return lines.Said(malformed=str(error))
        except RefusedPublicationError as error:
            return lines.Said(refuse=str(error))

    def _answers(self, call: Any) -> lines.Said:
        router = self._router
        match call:
            case lines.Declare():
                return lines.Said(declaration=self._declaration())
            case lines.Prepare():
                return self._prepare(call)
            case lines.Init():
                self._start(call)
                return self._said(())
            case lines.Tables():
                return lines.Said(tables=msgspec.to_builtins(router.tables()))
            case lines.DeclaredSizes():
                return lines.Said(declared=list(router.declared()))
            case lines.Buffers():
                held = [lines.BufferLine(*msgspec.structs.astuple(one)) for one in router.buffers()]
                return lines.Said(buffers=held)
            case lines.Index():
                router.index()
                return self._said(())
            case lines.Advertise():
                advertisement = Advertisement(predicates_of(call.advertisement))
                return self._said(router.advertise(call.client, call.id, advertisement))
            case lines.Subscribe():
                subscription = Subscription(predicates_of(call.subscription))
                return self._said(router.subscribe(call.client, call.id, subscription))
            case lines.Publish():
                message = _message(call.message)
                publication = self._comparisons.decode(message.body)
                return self._said(router.publish(call.client, message, publication, call.advertisement))
            case lines.Receive():
                return self._said(router.receive(call.neighbour, _message(call.message)))
            case lines.Returned():
                return self._said(router.returned(call.neighbour, list(map(_message, call.messages))))
            case lines.Timer():
                return self._said(router.timer(self._keys[call.key]))
            case lines.Compose():
                return self._said(router.compose(unit_of(call.unit)))
            case lines.Detected():
                return self._said(router.detected(call.unit, tuple(map(stamped_of, call.publications))))
        fields = [getattr(call, name) for name in type(call).__struct_fields__ if name not in ("now", "broker")]
        return self._said(getattr(router, call.__struct_config__.tag)(*fields))

    def _declaration(self) -> lines.Declaration:
        options = self._options
        router = protocol_named(self._name).router
        capabilities = capabilities_of_class(router)
        if capabilities and getattr(options, "composites", "simple") == "simple":
            capabilities -= {"composites"}
        return lines.Declaration(
            contract=lines.VERSION,
            capabilities=tuple(sorted(capabilities)),
            calls=ALL_CALLS,
            needs=("bodies",),
            multiplexed=True,
            attributes=options.attributes,
            counting_tables=tuple(options.counting_tables),
            recognises_repeats=options.recognises_repeats,
            neighbours_change=options.neighbours_change,
            prepares=True,
            promises=options.promises,
            follows_load=options.follows_load,
            reconciles_within=options.reconciles_within,
            settles_within=options.settles_within,
        )

    def _prepare(self, call: lines.Prepare) -> lines.Said:
        preparation = Preparation(
            brokers=call.brokers,
            links=[PlannedLink(link.a, link.b, link.delay, link.reverse_delay) for link in call.links],
            advertisements={
                broker: [Advertisement(predicates_of(one)) for one in those]
                for broker, those in call.advertisements.items()
            },
            subscriptions={
                broker: [Subscription(predicates_of(one)) for one in those]
                for broker, those in call.subscriptions.items()
            },
            seed=call.seed,
        )
        try:
            return lines.Said(prepared=dict(self._options.prepare(preparation)))
        except ValueError as error:
            return lines.Said(refuse=str(error))

    def _start(self, call: lines.Init) -> None:
        self._storage = PipedStorage(call.stored)
        context: RouterContext[Any] = RouterContext(
            broker=call.broker,
            incarnation=call.incarnation,
            attributes=call.attributes,
            links=PipedLinks(),
            options=self._options,
            started_at=int(call.started_at),
            now=lambda: self._now,
            prepared=call.prepared,
            random=PipedRandom(),
            matcher=lambda: Matcher(self._comparisons),
            report_dropped=lambda message, reason: say(lines.Said(tell=lines.DroppedTell(_leaving(message), reason))),
            latest_incarnation=_latest_incarnation,
            require_room=self._require_room,
            storage=StoredValues(self._storage, call.stored_bytes),
            composites=CompositeSurroundings(call.detection_lateness, _service),
        )
        self._router = protocol_named(self._name).router(context)

    def _require_room(self, size: int) -> None:
        reply = ask(lines.RoomAsk(size))
        if reply.sizes is not UNSET:
            reply = ask(lines.RoomAsk(size, list(self._router.declared())))
        if reply.no_room is not UNSET:
            raise NoRoomError(reply.no_room)

    def _said(self, actions: Any) -> lines.Said:
        self._comparisons.log()
        return lines.Said(actions=[self._line(action) for action in actions])

    def _line(self, action: Any) -> Any:
        match action:
            case Send():
                return lines.SendLine(action.neighbour, _leaving(action.message), action.label, action.ahead)
            case Deliver():
                return lines.DeliverLine(tuple(action.clients), _leaving(action.message), action.position)
            case SetTimer():
                return lines.SetTimerLine(self._key(action.key), action.after, action.awaited)
            case CancelTimer():
                return lines.CancelTimerLine(self._key(action.key))
            case Recall():
                return lines.RecallLine(action.neighbour)
            case Store():
                self._storage[action.key] = action.value
                return lines.StoreLine(action.key, action.value)
            case Erase():
                self._storage.pop(action.key, None)
                return lines.EraseLine(action.key)
            case HoldPublishers():
                return lines.HoldPublishersLine(action.reason)
            case ReleasePublishers():
                return lines.ReleasePublishersLine()
            case AnnounceStart():
                return lines.AnnounceStartLine(action.client, action.id)
            case AnnounceLoss():
                return lines.AnnounceLossLine(tuple(action.clients), action.position, action.end)
            case Detect():
                return lines.DetectLine(unit_line(action.unit), action.elsewhere)
            case Contribute():
                return lines.ContributeLine(action.unit, tuple(map(stamped_line, action.publications)))
            case Cease():
                return lines.CeaseLine(action.unit)
            case RecordPlacement():
                return lines.RecordPlacementLine(
                    action.event.value, unit_line(action.unit), action.placement, action.reason, action.peer
                )
            case Notify():
                return lines.NotifyLine(unit_line(action.unit), tuple(action.publications))
        raise AssertionError(action)

    def _key(self, key: Any) -> str:
        name = self._names.setdefault(key, str(len(self._names)))
        self._keys[name] = key
        return name


def _message(line: lines.ArrivingMessage) -> Message:
    assert line.body is not UNSET
    return Message(KINDS[line.kind], line.id, line.body, line.header, line.hops, line.label, int(line.published))


def _leaving(message: Message) -> lines.LeavingMessage:
    return lines.LeavingMessage(
        kind=KIND_WORDS[message.kind],
        id=message.id,
        header=message.header,
        hops=message.hops,
        label=message.label,
        published=str(message.published),
        body=message.body,
    )


def _latest_incarnation(broker: str) -> int | None:
    incarnation = ask(lines.LatestIncarnationAsk(broker)).incarnation
    return None if incarnation is UNSET else incarnation


def _service() -> ServiceTotals:
    service = ask(lines.ServiceAsk()).service
    assert service is not UNSET
    return ServiceTotals(*map(int, service))


def capabilities_of_class(router: Any) -> set[str]:
    """Capabilities of a router's class, or of what makes it."""
    made = router if isinstance(router, type) else SemiProbabilisticRouter
    return {name for name, one in CAPABILITIES.items() if issubclass(made, one.declared_by)}


def main() -> None:
    options = read_options(sys.argv[1], msgspec.json.decode(sys.argv[2]))
    hosts: dict[object, Host] = {}
    with contextlib.suppress(BrokenPipeError):
        for line in sys.stdin.buffer:
            call = _decode_call(line)
            if call.broker not in hosts or isinstance(call, lines.Init):
                hosts[call.broker] = Host(sys.argv[1], options)
            say(hosts[call.broker].answer(call))
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
