"""Lines between a broker and a router's program: one JSON object each.

1. The broker writes a call. The program writes any number of asks and tells, and then one answer. The broker answers an
   ask with one line, a tell with none.
2. Calls and actions have the names of those of `Router`, and the fields have the names of its parameters. A message's
   `body` stays at the broker unless the program declares that it needs bodies; an action refers to a message of its
   call by number (`same`).
3. Bytes are Base64. Times in nanoseconds are strings of digits, because a JSON number need not keep 64 bits. So are
   integers beyond 2**53 in contents: `{"int": "12345678901234567890"}`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from broker_service.messages import ConstituentPublication, StreamPosition
from record.log import PlacementRecord
from record.promises import Promises

VERSION = 1
"""Version of the contract. Fields may be added within a version."""
MOST_LINE = 16 << 20
"""Bytes of a line."""


class BigInteger(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An integer that a JSON number need not keep."""

    int: str


ValueLine = str | int | float | BigInteger
PredicateLine = tuple[str, str, ValueLine]
"""Attribute, operator and value: `["price", ">", 80]`."""
PredicatesLine = tuple[PredicateLine, ...]
PublicationLine = dict[str, ValueLine]


class ArrivingMessage(msgspec.Struct, omit_defaults=True):
    """A message as the program gets it."""

    kind: str
    id: str
    header: bytes = b""
    hops: int = 0
    label: str = ""
    published: str = "0"
    body: bytes | UnsetType = UNSET
    """For programs that need `bodies`."""
    publication: PublicationLine | UnsetType = UNSET
    """For programs that need `contents`: the content of a publication."""
    predicates: PredicatesLine | UnsetType = UNSET
    """For them, too: the predicates of an advertisement or a subscription."""


class LeavingMessage(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A message of an action. Fields that are left out are those of the message that `same` names, if it does."""

    same: int | UnsetType = UNSET
    """Number of a message of this call, from 0."""
    kind: str | UnsetType = UNSET
    id: str | UnsetType = UNSET
    header: bytes | UnsetType = UNSET
    hops: int | UnsetType = UNSET
    label: str | UnsetType = UNSET
    published: str | UnsetType = UNSET
    body: bytes | UnsetType = UNSET
    predicates: PredicatesLine | UnsetType = UNSET
    """In place of `body`: encoded as brokers encode advertisements and subscriptions."""


class UnitLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A composite subscription that is routed as a whole."""

    id: str
    client: str
    name: str
    composite: bytes
    """Encoded as `proto/content.proto` says."""


class StampedLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A publication of a detection."""

    id: str
    body: bytes
    stamp: str


# Calls


class Call(msgspec.Struct, omit_defaults=True, tag_field="call", tag=str.lower, kw_only=True):
    """A call of the program."""

    now: float = 0.0
    """Seconds since the broker started."""
    broker: str | UnsetType = UNSET
    """The broker at which the router is called, for programs that are `multiplexed`."""


class Declare(Call, tag="declare"):
    """The first and only call of a process at planning: what the protocol is."""

    contract: int = 0


class PrepareLink(msgspec.Struct, array_like=True):
    """A link between two brokers, with the delays in seconds."""

    a: str
    b: str
    delay: float
    reverse_delay: float


class Prepare(Call, tag="prepare"):
    """A call of a process at planning: what each router finds as `prepared`."""

    options: dict[str, Any]
    brokers: dict[str, dict[str, Any]]
    links: list[PrepareLink]
    advertisements: dict[str, list[PredicatesLine]]
    subscriptions: dict[str, list[PredicatesLine]]
    seed: int


class Init(Call, tag="init", omit_defaults=False):
    """The first call of a router: its surroundings."""

    broker: str
    incarnation: int
    attributes: dict[str, Any]
    neighbours: list[str]
    options: dict[str, Any]
    started_at: str
    prepared: bytes
    stored: list[str]
    """Keys in stable storage."""
    stored_bytes: int
    detection_lateness: float
    contract: int = VERSION


class Advertise(Call, tag="advertise"):
    """Call `Router.advertise`."""

    client: str
    id: str
    advertisement: PredicatesLine


class Unadvertise(Call, tag="unadvertise"):
    """Call `Router.unadvertise`."""

    client: str
    id: str


class Subscribe(Call, tag="subscribe"):
    """Call `Router.subscribe`."""

    client: str
    id: str
    subscription: PredicatesLine


class Unsubscribe(Call, tag="unsubscribe"):
    """Call `Router.unsubscribe`."""

    client: str
    id: str


class Publish(Call, tag="publish"):
    """Call `Router.publish`; the content is in the message."""

    client: str
    message: ArrivingMessage
    advertisement: str


class Receive(Call, tag="receive"):
    """Call `Router.receive`."""

    neighbour: str
    message: ArrivingMessage


class LinkUp(Call, tag="link_up"):
    """Call `Router.link_up`."""

    neighbour: str
    incarnation: int


class LinkDown(Call, tag="link_down"):
    """Call `Router.link_down`."""

    neighbour: str


class Timer(Call, tag="timer"):
    """Call `Router.timer`."""

    key: str


class Index(Call, tag="index"):
    """Call `Router.index`."""


class DeclaredSizes(Call, tag="declared"):
    """Call `Router.declared`."""


class Tables(Call, tag="tables"):
    """Call `Router.tables`."""


class Returned(Call, tag="returned"):
    """Call `RecallsMessages.returned`."""

    neighbour: str
    messages: list[ArrivingMessage]


class NeighbourAdded(Call, tag="neighbour_added"):
    """Call `FollowsNeighbours.neighbour_added`."""

    neighbour: str


class NeighbourRemoved(Call, tag="neighbour_removed"):
    """Call `FollowsNeighbours.neighbour_removed`."""

    neighbour: str


class Buffers(Call, tag="buffers"):
    """Call `KeepsStreams.buffers`."""


class Compose(Call, tag="compose"):
    """Call `RoutesComposites.compose`."""

    unit: UnitLine


class Decompose(Call, tag="decompose"):
    """Call `RoutesComposites.decompose`."""

    unit: str


class Detected(Call, tag="detected"):
    """Call `RoutesComposites.detected`."""

    unit: str
    publications: list[StampedLine]


AnyCall = (
    Declare
    | Prepare
    | Init
    | Advertise
    | Unadvertise
    | Subscribe
    | Unsubscribe
    | Publish
    | Receive
    | LinkUp
    | LinkDown
    | Timer
    | Index
    | DeclaredSizes
    | Tables
    | Returned
    | NeighbourAdded
    | NeighbourRemoved
    | Buffers
    | Compose
    | Decompose
    | Detected
)

# Actions


class ActionLine(msgspec.Struct, tag_field="do", forbid_unknown_fields=True, omit_defaults=True):
    """An action of the program."""


class SendLine(ActionLine, tag="send"):
    """Action `Send`."""

    neighbour: str
    message: LeavingMessage
    label: str = ""
    ahead: bool = False


class DeliverLine(ActionLine, tag="deliver"):
    """Action `Deliver`."""

    clients: tuple[str, ...]
    message: LeavingMessage
    position: StreamPosition | None = None


class SetTimerLine(ActionLine, tag="set_timer"):
    """Action `SetTimer`."""

    key: str
    after: float
    awaited: bool = False


class CancelTimerLine(ActionLine, tag="cancel_timer"):
    """Action `CancelTimer`."""

    key: str


class RecallLine(ActionLine, tag="recall"):
    """Action `Recall`."""

    neighbour: str


class StoreLine(ActionLine, tag="store"):
    """Action `Store`."""

    key: str
    value: bytes


class EraseLine(ActionLine, tag="erase"):
    """Action `Erase`."""

    key: str


class HoldPublishersLine(ActionLine, tag="hold_publishers"):
    """Action `HoldPublishers`."""

    reason: str


class ReleasePublishersLine(ActionLine, tag="release_publishers"):
    """Action `ReleasePublishers`."""


class AnnounceStartLine(ActionLine, tag="announce_start"):
    """Action `AnnounceStart`."""

    client: str
    id: str


class AnnounceLossLine(ActionLine, tag="announce_loss"):
    """Action `AnnounceLoss`."""

    clients: tuple[str, ...]
    position: StreamPosition
    end: int


class DetectLine(ActionLine, tag="detect"):
    """Action `Detect`."""

    unit: UnitLine
    elsewhere: frozenset[int] = frozenset()


class ContributeLine(ActionLine, tag="contribute"):
    """Action `Contribute`."""

    unit: str
    publications: tuple[StampedLine, ...]


class CeaseLine(ActionLine, tag="cease"):
    """Action `Cease`."""

    unit: str


class RecordPlacementLine(ActionLine, tag="record_placement"):
    """Action `RecordPlacement`."""

    event: str
    unit: UnitLine
    placement: PlacementRecord
    reason: str
    peer: str | None = None


class NotifyLine(ActionLine, tag="notify"):
    """Action `Notify`."""

    unit: UnitLine
    publications: tuple[ConstituentPublication, ...]


AnyAction = (
    SendLine
    | DeliverLine
    | SetTimerLine
    | CancelTimerLine
    | RecallLine
    | StoreLine
    | EraseLine
    | HoldPublishersLine
    | ReleasePublishersLine
    | AnnounceStartLine
    | AnnounceLossLine
    | DetectLine
    | ContributeLine
    | CeaseLine
    | RecordPlacementLine
    | NotifyLine
)

# Asks and tells


class Ask(msgspec.Struct, tag_field="for", forbid_unknown_fields=True, omit_defaults=True):
    """A question of the program, which the broker answers with one line."""


class MatchAsk(Ask, tag="match"):
    """Keys of the index that a message's publication matches; the comparison is logged. Answer: `keys`."""

    message: int = 0
    """Number of the message in this call."""
    matcher: int = 0
    """Number of the index; there are as many as are named."""


class NeighboursAsk(Ask, tag="neighbours"):
    """The present neighbours. Answer: `neighbours`."""


class LinkAsk(Ask, tag="link"):
    """The status of the link to a neighbour. Answer: `link`."""

    neighbour: str
    interval: float = 0.0
    """Seconds over which `flow` counts; 0: no flow is wanted."""


class RandomAsk(Ask, tag="random"):
    """Random numbers of the broker's own stream, between 0 and 1. Answer: `numbers`."""

    count: int = 1


class RandomBitsAsk(Ask, tag="random_bits"):
    """A random integer of so many bits. Answer: `bits`, a string of digits."""

    bits: int


class StoredAsk(Ask, tag="stored"):
    """A value in stable storage. Answer: `value`."""

    key: str


class ServiceAsk(Ask, tag="service"):
    """The broker's work so far. Answer: `service`, three strings of digits: messages, waited, occupied."""


class LatestIncarnationAsk(Ask, tag="latest_incarnation"):
    """The largest incarnation that a broker can have. Answer: `incarnation`, or nothing where it is not known."""

    broker: str


class RoomAsk(Ask, tag="room"):
    """Room for a control message that declares something.

    Answer: nothing when there is room, `no_room` with the reason when there is none, and `sizes` when the broker wants
    the question again with `declared`, the sizes that `Router.declared` lists.
    """

    size: int
    declared: list[int] | UnsetType = UNSET


AnyAsk = (
    MatchAsk
    | NeighboursAsk
    | LinkAsk
    | RandomAsk
    | RandomBitsAsk
    | StoredAsk
    | ServiceAsk
    | LatestIncarnationAsk
    | RoomAsk
)


class LinkLine(msgspec.Struct, omit_defaults=True):
    """The status of a link: `LinkStatus`."""

    attributes: dict[str, Any]
    up: bool
    queue_length: int
    sent: int
    waited: str
    round_trip: float | None = None
    utilisation: float | None = None
    """The rate in over the rate out; left out when infinite."""
    flow: tuple[int, int] | None = None


class Reply(msgspec.Struct, omit_defaults=True):
    """The broker's answer to an ask."""

    keys: list[str] | UnsetType = UNSET
    neighbours: list[str] | UnsetType = UNSET
    link: LinkLine | UnsetType = UNSET
    numbers: list[float] | UnsetType = UNSET
    bits: str | UnsetType = UNSET
    value: bytes | UnsetType = UNSET
    service: tuple[str, str, str] | UnsetType = UNSET
    incarnation: int | UnsetType = UNSET
    no_room: str | UnsetType = UNSET
    sizes: bool | UnsetType = UNSET


class Tell(msgspec.Struct, tag_field="of", forbid_unknown_fields=True, omit_defaults=True):
    """A statement of the program, which the broker does not answer."""


class IndexTell(Tell, tag="index"):
    """Puts a subscription into an index under a key that is not in it."""

    key: str
    predicates: PredicatesLine
    matcher: int = 0


class UnindexTell(Tell, tag="unindex"):
    """Removes a key from an index."""

    key: str
    matcher: int = 0


class MatchedTell(Tell, tag="matched"):
    """A comparison that the program has made itself, for the log."""

    id: str
    matches: int


class DroppedTell(Tell, tag="dropped"):
    """Counterpart of `RouterContext.report_dropped`."""

    message: LeavingMessage
    reason: str


AnyTell = IndexTell | UnindexTell | MatchedTell | DroppedTell

# Answers


class Declaration(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """The answer to `declare`. All but `contract` may be left out. Most fields are those of `ProtocolOptions`."""

    contract: int
    """Version of the contract that the program keeps."""
    capabilities: tuple[str, ...] = ()
    calls: tuple[str, ...] = ("advertise", "unadvertise", "link_up", "link_down", "timer")
    """Calls that the program wants besides those that every router has: subscribe, unsubscribe, publish, receive."""
    needs: tuple[Literal["bodies", "contents"], ...] = ()
    """Parts of messages that the program needs."""
    multiplexed: bool = False
    """True when one process of the program may be the router of many brokers."""
    options: dict[str, bool | int | float | str] = {}
    """Names of the options that a scenario may choose, with their defaults."""
    times: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    counting_tables: tuple[str, ...] = ()
    recognises_repeats: bool = False
    neighbours_change: bool = False
    prepares: bool = False
    """True when the program answers the call `prepare`."""
    promises: Promises = msgspec.field(default_factory=Promises)
    follows_load: bool = False
    reconciles_within: float = 0.0
    settles_within: float = 0.0


class BufferLine(msgspec.Struct, forbid_unknown_fields=True):
    """Counterpart of `Buffer`."""

    name: str
    bytes: int
    publications: int
    notified: int = 0
    waited: float = 0.0


class Said(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A line of the program: an ask, a tell, or the answer to the call; one of the fields."""

    actions: list[AnyAction] | UnsetType = UNSET
    ask: AnyAsk | UnsetType = UNSET
    tell: AnyTell | UnsetType = UNSET
    refuse: str | UnsetType = UNSET
    """Answer to `publish` or `prepare`: the reason, for the client or for the user."""
    malformed: str | UnsetType = UNSET
    """Answer to `receive`: the message cannot be read, or no correct neighbour sends it."""
    no_room: str | UnsetType = UNSET
    """Answer to `receive`: the reply to an ask for room, passed on."""
    tables: dict[str, Any] | UnsetType = UNSET
    declared: list[int] | UnsetType = UNSET
    buffers: list[BufferLine] | UnsetType = UNSET
    prepared: dict[str, bytes] | UnsetType = UNSET
    declaration: Declaration | UnsetType = UNSET
