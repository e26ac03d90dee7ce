"""The contract between a broker and a routing protocol.

Three rules hold for every router:

1. It does no I/O, never sleeps and never reads the time of day: everything it may know is in its `RouterContext`.
2. Every call returns the actions it wants done, in order; it performs none itself.
3. It shares nothing with other routers. What neighbours need to know travels in messages.

A router hears of its own clients' operations through one method each, with the content already decoded and checked by
the broker, and of its neighbours through `receive`. To add a protocol, write one module with one class that meets
`Router`, and name it in `routing/registry.py`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from broker_service.language import Advertisement, Publication, Subscription
from broker_service.language.wire import decode_publication
from broker_service.links.flow import Flow
from broker_service.messages import BrokerId, ClientId, Message


class Send(msgspec.Struct, frozen=True):
    """Put a message into the output queue of a neighbour."""

    neighbour: BrokerId
    message: Message


class Deliver(msgspec.Struct, frozen=True):
    """Notify clients of this broker of a publication, each once."""

    clients: tuple[ClientId, ...]
    message: Message


class SetTimer(msgspec.Struct, frozen=True):
    """Call `Router.timer(name)` after so many seconds; a timer of the same name that still runs is replaced."""

    name: str
    after: float


Action = Send | Deliver | SetTimer
Actions = Sequence[Action]


class LinkStatus(Protocol):
    """What a broker knows of the link to one neighbour (a row of the link status table)."""

    @property
    def up(self) -> bool: ...

    @property
    def queue_length(self) -> int:
        """Messages waiting in the output queue."""

    @property
    def flow(self) -> Flow:
        """What entered and left the output queue in the last complete interval (`Protocol.status_interval`)."""

    @property
    def utilisation(self) -> float:
        """U = rate into the output queue / rate sent, over the window; 1.0 when nothing moved, infinite when down."""


class RouterTrace(Protocol):
    """Where a router reports what only it can see. Durations are of the context's clock, in nanoseconds."""

    def matched(self, publication: str, matches: int, duration: int, reading: int = 0) -> None:
        """Content was compared with the subscriptions stored here, and before that decoded, if the router had to do
        that, in the time `reading`. It is logged when the router has done, and so costs it next to nothing."""

    def dropped_message(self, message: Message, reason: str) -> None:
        """A message ended here without reaching a destination it was meant for."""


@dataclass(frozen=True, slots=True)
class RouterContext:
    """Everything a router may know of the world."""

    broker: BrokerId
    incarnation: int
    """Grows with every start of this broker, so that identifiers made before a crash are never made again."""
    neighbours: Mapping[BrokerId, Mapping[str, object]]
    """The overlay neighbours and their attributes: SCOT coordinates, tree level, position."""
    attributes: Mapping[str, object]
    """This broker's own overlay attributes."""
    clock: Callable[[], int]
    """Nanoseconds, monotonic, for the durations it reports and nothing else; virtual when simulated, unless asked to be
    the host's."""
    random: random.Random
    link_status: Mapping[BrokerId, LinkStatus]
    trace: RouterTrace
    decode: Callable[[bytes], Publication] = decode_publication
    """Reads the content of a publication. Raises `ContentError`."""
    options: Mapping[str, object] = field(default_factory=dict)
    """The scenario's `routing` section, less the protocol's name."""


class Router(Protocol):
    """A content-based routing protocol at one broker."""

    def advertise(self, client: ClientId, id: str, advertisement: Advertisement) -> Actions: ...

    def unadvertise(self, client: ClientId, id: str) -> Actions: ...

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions: ...

    def unsubscribe(self, client: ClientId, id: str) -> Actions: ...

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        """Route a publication of a client of this broker.

        `message` carries its id and its encoded content, `publication` is the decoded content, `advertisement` the id
        of the oldest advertisement of this client that it conforms to.
        """

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        """Handle a message from a neighbour.

        Raises `MalformedMessageError` when its id, header or body cannot be decoded, or when no correct neighbour sends
        it here. Nothing may have changed then. Any other error is taken for a defect of the router and ends the broker.
        """

    def link_up(self, neighbour: BrokerId, incarnation: int) -> Actions:
        """The link works (again); a greater incarnation than before means that the neighbour has lost its state."""

    def link_down(self, neighbour: BrokerId) -> Actions: ...

    def timer(self, name: str) -> Actions: ...

    def tables(self) -> Mapping[str, object]:
        """The routing tables, JSON-ready, for people and for the conformance checks."""
