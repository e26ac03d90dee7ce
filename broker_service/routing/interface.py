"""The contract between a broker and a routing protocol.

Three rules hold for every router:

1. It does no I/O, never sleeps and never reads the time of day: all its input is in its `RouterContext` and its calls.
2. Every call returns the actions it wants done, in order; it performs none itself.
3. It shares no state with other routers. Knowledge for neighbours travels in messages.

A broker calls one method for each operation of its own clients, with the content already decoded and checked, and
`receive` for each message of a neighbour. To add a protocol, write a subclass of `Router` and a struct of its options,
and name both in `routing/registry.py`.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from broker_service.language import Advertisement, Publication, Subscription
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.links.flow import Flow
from broker_service.messages import (
    BrokerId,
    ClientId,
    ConstituentPublication,
    Message,
    StampedPublication,
    StreamPosition,
)
from broker_service.routing.matcher import Matcher
from broker_service.routing.options import ProtocolOptions
from broker_service.service import ServiceTotals
from record.log import SUB_UNIT, Event, PlacementRecord

TimerKey = Hashable
"""Identifies a timer of a router: a value of the router's own, such as a frozen struct that names a neighbour."""


class Send(msgspec.Struct, frozen=True, gc=False):
    """Put a message into the output queue of a neighbour."""

    neighbour: BrokerId
    message: Message
    label: str = ""
    """Purpose of the message in a word or two ("change", "nack"), logged at both ends; empty: the message's own label,
    which a message that is passed on keeps."""
    ahead: bool = False
    """True: before all waiting messages that are not `ahead`, behind those that are."""


class Deliver(msgspec.Struct, frozen=True, gc=False):
    """Notify clients of this broker of a publication, each once."""

    clients: tuple[ClientId, ...]
    message: Message
    position: StreamPosition | None = None
    """Place of the publication in a stream, which clients are told and which is logged."""


class AnnounceStart(msgspec.Struct, frozen=True, gc=False):
    """Notify a client of this broker that a subscription of its has started, as `Promises.announces_starts` defines it.

    A composite subscription starts when all of its parts have. Never an action of `Router.subscribe` itself, because
    the client takes an announcement only for a subscription that was confirmed before.
    """

    client: ClientId
    id: str
    """The name of the subscription in the whole overlay."""


class AnnounceLoss(msgspec.Struct, frozen=True, gc=False):
    """Notify clients of this broker that positions of a stream are lost: the protocol gave up what was among them for
    these clients, as `Promises.gives_up` allows. It takes its place among the notifications of the stream."""

    clients: tuple[ClientId, ...]
    position: StreamPosition
    """First lost position."""
    end: int
    """Position behind the last lost one."""


class SetTimer(msgspec.Struct, frozen=True):
    """Call `Router.timer(key)` after `after` seconds; a timer of the same key that still runs is replaced."""

    key: TimerKey
    after: float
    awaited: bool = False
    """True for work that is yet to be done, such as a retransmission: while the timer runs, the overlay is not settled,
    and a run does not end early. A timer for housekeeping, which would run for ever, is not awaited."""


class CancelTimer(msgspec.Struct, frozen=True):
    """End the timer of this key; has no effect when none runs."""

    key: TimerKey


class Recall(msgspec.Struct, frozen=True):
    """Take back the messages that wait for a neighbour, and hand them to `Router.returned` at this very point.

    While the link is down, messages in flight are taken back, too: some of them the neighbour may have handled.
    """

    neighbour: BrokerId


class Store(msgspec.Struct, frozen=True, gc=False):
    """Keep a value in the broker's stable storage, before what the actions behind this one send leaves the broker.

    The broker ends as for a defect when the value does not fit (`RouterContext.stored_bytes`) or cannot be written,
    because a router that took it for stable could not keep its promises.
    """

    key: str
    value: bytes


class Erase(msgspec.Struct, frozen=True, gc=False):
    """Remove a value from stable storage; has no effect when there is none."""

    key: str


class HoldPublishers(msgspec.Struct, frozen=True):
    """Take no further publications from clients of this broker; they wait in their sessions and, behind those, at the
    clients. Publications that wait are work that is yet to be done, as an awaited timer is."""

    reason: str


class ReleasePublishers(msgspec.Struct, frozen=True):
    """Take publications again, those that waited first; has no effect when publishers are not held."""


class CompositeUnit(msgspec.Struct, frozen=True):
    """A composite subscription that the protocol routes as a whole."""

    id: str
    """Name of the unit in the whole overlay; for a part of a unit that is a unit itself, `<that unit>/<name>`."""
    client: ClientId
    name: str
    """The client's own name for the whole composite subscription."""
    composite: CompositeSubscription
    """The composite subscription, which has a window."""

    @property
    def parent(self) -> str | None:
        """The unit of which this one is a part; None for a whole composite subscription."""
        return self.id.rpartition(SUB_UNIT)[0] or None


class Detect(msgspec.Struct, frozen=True):
    """Detect a unit at this broker from now on: its parts become subscriptions of this broker, in calls of
    `Router.subscribe`, and what they complete is passed to `Router.detected`."""

    unit: CompositeUnit
    elsewhere: frozenset[int] = frozenset()
    """Parts, counted from 0 on the left, that are detected elsewhere. The broker does not subscribe to them; their
    publications come in sets (`Contribute`)."""


class Contribute(msgspec.Struct, frozen=True):
    """Pass a set of publications, which were detected together elsewhere, to the detector of a unit at this broker.

    What they complete is passed to `Router.detected`. Has no effect on a unit that is not detected here, nor when the
    set came before.
    """

    unit: str
    publications: tuple[StampedPublication, ...]


class Cease(msgspec.Struct, frozen=True):
    """Detect a unit no more; its parts are withdrawn. Has no effect for one that is not detected here."""

    unit: str


class RecordPlacement(msgspec.Struct, frozen=True):
    """Log an event in the life of a unit: `joined`, `moved` or `left`."""

    event: Event
    unit: CompositeUnit
    placement: PlacementRecord
    """The latest decision about its place that was made at this broker."""
    reason: str
    peer: BrokerId | None = None


class Notify(msgspec.Struct, frozen=True):
    """Notify a client of this broker of a detection; has no effect when it is attached no more."""

    unit: CompositeUnit
    publications: tuple[ConstituentPublication, ...]


class Buffer(msgspec.Struct, frozen=True, gc=False):
    """The content of a buffer in which a router keeps publications, for the log (`Event.BUFFER`)."""

    name: str
    bytes: int
    publications: int
    notified: int = 0
    """Publications that have waited in it before clients were notified of them, since the broker started."""
    waited: float = 0.0
    """The seconds that these waited, all together."""


Action = (
    Send
    | Deliver
    | AnnounceStart
    | AnnounceLoss
    | SetTimer
    | CancelTimer
    | Recall
    | Store
    | Erase
    | HoldPublishers
    | ReleasePublishers
    | Detect
    | Contribute
    | Cease
    | RecordPlacement
    | Notify
)
Actions = Sequence[Action]


class LinkStatus(Protocol):
    """Status of the link to one neighbour (a row of the link status table)."""

    @property
    def attributes(self) -> Mapping[str, object]:
        """The neighbour's overlay attributes: SCOT coordinates, tree level, position."""

    @property
    def up(self) -> bool:
        """True when the neighbour is within reach, as far as is known.

        In a mesh whose links are made on demand (`broker_service.links.on_demand`), a link without a stream is up until
        one that was wanted could not be opened.
        """

    @property
    def round_trip(self) -> float | None:
        """Shortest time in seconds that a frame to the neighbour and its answer took; None before the first answer.

        Hellos and heartbeats measure it (`broker_service.links.session`), so that it needs no messages of the router.
        """

    @property
    def queue_length(self) -> int:
        """Messages waiting in the output queue."""

    def flow(self, interval: float) -> Flow:
        """Messages that entered and left the output queue in the last complete interval of this many seconds.

        Intervals of one length follow one another from the first call on; messages before it are not counted.
        """

    @property
    def sent(self) -> int:
        """Messages that have left the output queue so far; those that travel again count once."""

    @property
    def waited(self) -> int:
        """Nanoseconds that these spent in the output queue, all together.

        The differences of `sent` and `waited` between two readings give the mean wait of the time between them.
        """

    @property
    def utilisation(self) -> float:
        """U = rate into the output queue / rate sent, over the window; 1.0 when nothing moved, infinite when down."""


Options = TypeVar("Options", bound=ProtocolOptions)


def _any_room(_size: int) -> None:
    pass


def _not_known(_broker: BrokerId) -> int | None:
    return None


@dataclass(frozen=True, slots=True)
class RouterContext(Generic[Options]):
    """Everything that a router may know beyond its calls."""

    broker: BrokerId
    incarnation: int
    """Grows with every start of this broker, so that identifiers made before a crash are never made again."""
    attributes: Mapping[str, object]
    """This broker's own overlay attributes."""
    links: Mapping[BrokerId, LinkStatus]
    """The links to all present neighbours, a live view."""
    options: Options
    started_at: int
    """The start of this incarnation in nanoseconds of the run's clock, on which publications are stamped
    (`Message.published`)."""
    now: Callable[[], float]
    """Seconds since this broker started, on the clock by which timers run; virtual time in the simulator."""
    service: Callable[[], ServiceTotals]
    """This broker's work so far, on the same clock; nothing in a simulation in which brokers take no time."""
    prepared: bytes
    """The part of `ProtocolOptions.prepare`'s result that is this broker's; empty when there is none."""
    stored: Mapping[str, bytes]
    """Stable storage, a live view: the values that this and former incarnations of the broker have stored, in the order
    in which their keys were stored first. It is lost with the host and not with the broker process."""
    stored_bytes: int
    """Bytes that its keys and values may take together (`limits.stored_bytes`)."""
    detection_lateness: float
    """Seconds for which detectors keep a match beyond its window (`limits.detection_lateness`)."""
    random: random.Random
    matcher: Callable[[], Matcher[Any]]
    """Makes an empty index of subscriptions, which logs its own comparisons."""
    report_dropped: Callable[[Message, str], None]
    """Reports, with the reason, that a message ended here without reaching a destination it was meant for."""
    latest_incarnation: Callable[[BrokerId], int | None] = _not_known
    """The largest incarnation that a broker can have, whatever a neighbour says of it; None where it is not known."""
    require_room: Callable[[int], None] = _any_room
    """Called with the size of a control message that declares something for a neighbour, before anything has changed.
    Raises `NoRoomError` when the broker has no room (`limits.declared_bytes`). Messages of the kinds `ADVERTISE`,
    `SUBSCRIBE` and `COMPOSE` reach the router only when there is."""


class Router(ABC):
    """A content-based routing protocol at one broker. Methods that a protocol does not override do nothing."""

    def advertise(self, client: ClientId, id: str, advertisement: Advertisement) -> Actions:
        """A client of this broker advertises; `id` names the advertisement in the whole overlay."""
        return ()

    def unadvertise(self, client: ClientId, id: str) -> Actions:
        """A client of this broker withdraws an advertisement."""
        return ()

    @abstractmethod
    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        """A client of this broker subscribes; `id` names the subscription in the whole overlay."""

    @abstractmethod
    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        """A client of this broker withdraws a subscription."""

    @property
    def routes_units(self) -> bool:
        """True when the protocol routes composite subscriptions as units. Otherwise the subscriber's broker splits them
        (simple routing), and the router is given their parts only."""
        return False

    def compose(self, unit: CompositeUnit) -> Actions:
        """A client of this broker makes a composite subscription."""
        return ()

    def decompose(self, unit: str) -> Actions:
        """A client of this broker withdraws a composite subscription."""
        return ()

    def detected(self, unit: str, publications: tuple[StampedPublication, ...]) -> Actions:
        """Publications, in the order of their publishing, fulfil a unit that is detected at this broker."""
        return ()

    @abstractmethod
    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        """Route a publication of a client of this broker.

        `message` carries its id and its encoded content, `publication` is the decoded content, `advertisement` the id
        of the oldest advertisement of this client that it conforms to.

        Raises `RefusedPublicationError`, with the reason for the client, when the protocol does not accept it. Nothing
        may have changed then.
        """

    @abstractmethod
    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        """Handle a message from a neighbour.

        Raises `MalformedMessageError` when its id, header or body cannot be decoded, or when no correct neighbour sends
        it here. Nothing may have changed then. Any other error is taken for a defect of the router and ends the broker.
        """

    def neighbour_added(self, neighbour: BrokerId) -> Actions:
        """A broker has become a neighbour; `link_up` follows when a stream to it is open.

        Neighbours that the broker started with are not announced: they are in `RouterContext.links` from the beginning.
        """
        return ()

    def neighbour_removed(self, neighbour: BrokerId) -> Actions:
        """A broker is a neighbour no more; `link_down` came before if the link was up.

        Whatever waited for it or was in flight is dropped. If it becomes a neighbour again, both ends begin anew.
        """
        return ()

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        """The link works (again); a greater incarnation than before means that the neighbour has lost its state.

        A link that is made on demand is up before this call, which comes with its first stream.
        """
        return ()

    def link_down(self, neighbour: BrokerId) -> Actions:
        """The link carries nothing any more; what is queued for it waits until it is up again."""
        return ()

    def returned(self, neighbour: BrokerId, messages: Sequence[Message]) -> Actions:
        """Messages that a `Recall` took back, at least one, in the order in which they were sent."""
        return ()

    def timer(self, key: TimerKey) -> Actions:
        """A timer that this router set has run out."""
        return ()

    def buffers(self) -> Sequence[Buffer]:
        """The buffers in which publications are kept, always the same ones."""
        return ()

    def index(self) -> None:  # noqa: B027 - the index of most routers never lags
        """Brings a matching index that lags behind the tables in line with them, as the next publication would."""

    def declared(self) -> Iterable[int]:
        """Bytes of each advertisement and subscription that this router holds because of neighbours' messages."""
        return ()

    def tables(self) -> Mapping[str, object]:
        """The routing tables, JSON-ready, for people and for the conformance checks."""
        return {}
