"""Surroundings of a router: its broker, its links, its options, and what it may ask for beyond its calls."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from broker_service.links.flow import Flow
from broker_service.messages import BrokerId, ClientId, Message
from broker_service.routing.interface.matcher import Matcher
from broker_service.routing.options import ProtocolOptions
from broker_service.service import ServiceTotals, no_service
from record.callbacks import do_nothing


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
class StoredValues:
    """Stable storage as a router sees it. It is lost with the host and not with the broker process."""

    values: Mapping[str, bytes] = field(default_factory=dict)
    """A live view of what this and former incarnations of the broker have stored, in the order in which their keys were
    stored first."""
    most_bytes: int = 0
    """Bytes that its keys and values may take together (`limits.stored_bytes`)."""


@dataclass(frozen=True, slots=True)
class CompositeSurroundings:
    """Surroundings of a router that places the detection of composite subscriptions."""

    lateness: float = 0.0
    """Seconds for which detectors keep a match beyond its window (`limits.detection_lateness`)."""
    service: Callable[[], ServiceTotals] = no_service
    """This broker's work so far, on the clock of `RouterContext.now`; nothing in a simulation in which brokers take no
    time."""
    report_lost: Callable[[ClientId, str, str, str], None] = do_nothing
    """Records a detection that ends here: its client, the client's name for the composite subscription, the publication
    that completed it, and the reason."""


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
    prepared: bytes
    """The part of `ProtocolOptions.prepare`'s result that is this broker's; empty when there is none."""
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
    storage: StoredValues = field(default_factory=StoredValues)
    """For the capability `storage`."""
    composites: CompositeSurroundings = field(default_factory=CompositeSurroundings)
    """For the capability `composites`."""
