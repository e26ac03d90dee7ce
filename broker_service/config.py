"""The configuration of a broker process: one JSON file, `python -m broker_service CONFIG`."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from record.contract import CONTRACT
from record.sample import PublicationSample
from record.service_time import SendingOrder, ServiceTime
from record.unread import UnreadPolicy


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of a broker, all above 0. Whatever exceeds one is dropped or refused, counted and logged."""

    window: int = 128
    """Messages in flight on a link before its peer must acknowledge some; more wait in the output queue."""
    window_bytes: int = 4 << 20
    """Bytes of them, though a single message of any size may be in flight."""
    batch: int = 64
    """Messages in one frame at most."""
    link_queue: int = 100_000
    """Publications that may wait for a link."""
    control_queue: int = 100_000
    """Other messages that may wait for a link. A broker that keeps running never repeats one that was dropped."""
    session_queue: int = 20_000
    """Notifications that may wait for a client session that does not read, and as many answers besides. What comes
    beyond is up to `unread`; a further answer ends the stream."""
    unread: UnreadPolicy = UnreadPolicy.DROP_NEWEST
    """The end of a notification that finds no room in its session."""
    queue_bytes: int = 64 << 20
    """Bytes that may wait for a link (publications and other messages each), for a session, and for service."""
    sessions: int = 1_000
    """Client sessions that may be open at a time; each may serve many clients."""
    clients: int = 100_000
    """Logical clients that may be attached at a time."""
    declared_bytes: int = 1 << 30
    """Memory, about, that the advertisements and subscriptions of all clients may take, and as much those of all
    neighbours."""
    stored_bytes: int = 64 << 20
    """Bytes that the router's keys and values in stable storage may take."""
    heartbeat: float = 1.0
    """Seconds between heartbeats; a neighbour that is silent for three of them has failed."""
    reconnect_first: float = 0.05
    """Seconds before a broken link is tried again; doubles up to `reconnect_last`. Each link waits a share of its own
    from a half of that to all of it, lest all links to a broker that failed are tried at the same moments."""
    reconnect_last: float = 1.0
    eager_mesh: int = 100
    """Brokers of the largest full mesh whose links are all opened when its brokers start. A simulated mesh of more
    brokers opens each link when a message waits for it."""
    idle_close: float = 60.0
    """Seconds after which a link that was opened for a message, and carried none since, is closed again."""
    resume: bool = True
    """True: what was in flight on a stream that broke, and what waited, travels on the next one. False: it is lost, as
    with an application that writes to plain TCP connections."""
    message_bytes: int = 1 << 20
    """Largest frame taken from a client or a neighbour."""
    stop_within: float = 2.0
    """Seconds that a broker which was asked to stop may take to pass on what waits."""
    utilisation_window: float = 1.0
    """Seconds over which the link status table takes its rates."""
    detection_window: float = 60.0
    """Seconds between the first and the last publication of a detection, where a composite subscription states none."""
    detection_lateness: float = 30.0
    """Seconds for which a publication is kept beyond the window, because a partner may still be on its way."""
    partial_matches: int = 100_000
    """Matches of publications and parts of composite subscriptions that may be kept; then the oldest are dropped."""
    partial_match_bytes: int = 64 << 20
    """Bytes of the contents of publications in matches that are kept, at most; then the oldest are dropped."""
    detections_at_once: int = 10_000
    """Detections of one composite subscription that one publication may complete."""
    candidates_at_once: int = 100_000
    """Matches that may be tried for one publication and one composite subscription."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for a bound or a time that is not above 0."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not isinstance(value, bool | str) and not 0 < value < math.inf:
                raise ValueError(f"{name}: must be more than 0, not {value}")


class Disturbance(msgspec.Struct, frozen=True, kw_only=True):
    """Disturbance of the messages on a link: chances of each to be lost, repeated or held back, at most one of them."""

    lose: float = 0.0
    """Share that is lost, 0 to 1, as are the other two."""
    repeat: float = 0.0
    """Share of the messages that comes twice."""
    hold: float = 0.0
    """Share that is held back, so that later messages overtake it."""
    held_for: float = 0.0
    """Seconds for which a message is held back."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for shares that are none or exceed 1 together, and for a hold without its time."""
        shares = (self.lose, self.repeat, self.hold)
        if not all(0.0 <= share <= 1.0 for share in shares) or sum(shares) > 1.0:
            raise ValueError("lose, repeat and hold are shares from 0 to 1, and 1 together at most")
        if not 0.0 <= self.held_for < float("inf") or (self.hold and not self.held_for):
            raise ValueError("messages are held back for a time above 0")

    def __bool__(self) -> bool:
        return bool(self.lose or self.repeat or self.hold)


class LinkConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One end of an overlay link, at the broker that is configured."""

    neighbour: str
    local: str
    """host:port to listen on, on the address of this very link."""
    remote: str
    """host:port of the neighbour's end."""
    dial: bool
    """True at the end that opens the stream (exactly one end does)."""
    attributes: dict[str, Any] = {}
    """The neighbour's overlay attributes."""
    appearance: int = 1
    """The number of times that the two brokers have been linked, this time included; equal at both ends. A stream
    between ends of different appearances is refused."""
    disturbance: Disturbance = Disturbance()
    """Disturbance of the messages that come from the neighbour."""
    send_time: ServiceTime = ServiceTime()
    """Time for which sending a message to the neighbour occupies the link, before the next one's sending begins."""


HOPS_BEYOND_BROKERS = 100
"""Hops by which `BrokerConfig.most_hops` exceeds the number of brokers."""

PROTOCOL_FOLDER = "protocol"
"""Folder beside a broker's configuration with the code of a protocol from outside."""


class BrokerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The whole configuration of a broker process."""

    id: str
    incarnation: int
    """1 for the first start in a run, one more for each restart."""
    contract: int = CONTRACT
    """The version of the contract that the configuration follows."""
    protocol: str
    """The routing protocol, as the scenario names it."""
    protocol_from: str = ""
    """Place of a protocol from outside: a path in the folder `PROTOCOL_FOLDER` beside this file, or `module:Name` of a
    module in it. Empty for a built-in one."""
    options: dict[str, Any] = {}
    """The scenario's `routing` section, less the protocol."""
    attributes: dict[str, Any] = {}
    prepared: bytes = b""
    """The part of the protocol's preparation that is this broker's (`ProtocolOptions.prepare`)."""
    listen: tuple[str, ...] = ()
    """Addresses for clients and control: `unix:/path` or `host:port`."""
    links: tuple[LinkConfig, ...] = ()
    log: str = ""
    """Path of its log; nothing is logged when empty."""
    stored: str = ""
    """Path of its stable storage, in a directory that outlives the process; when empty, what is stored is lost."""
    variant: str = "base"
    seed: int = 0
    sample: PublicationSample | None = None
    """The publications whose whole lives are logged; None: all."""
    service_time: ServiceTime = ServiceTime()
    """Work added to each message, to emulate slower hardware on purpose."""
    sending: SendingOrder = SendingOrder.SIDE_BY_SIDE
    """Order of the sendings over its links, of those with a send time."""
    limits: Limits = Limits()
    most_hops: int = 0
    """Hops beyond which a message is taken for one that goes in circles; 0: no bound."""
    starts: dict[str, int] | None = None
    """The number of times that brokers start, of those that are planned to start more than once. An incarnation beyond
    it is refused, whoever states it. None: not known."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for a version of the contract that this broker does not know."""
        if self.contract != CONTRACT:
            raise ValueError(f"contract: this broker keeps version {CONTRACT}, not {self.contract}")

    def latest_incarnation(self, broker: str) -> int | None:
        """The largest incarnation that a broker can have; None where it is not known."""
        return None if self.starts is None else self.starts.get(broker, 1)

    def service_times(self, service_time: ServiceTime | None = None) -> Callable[[], int]:
        """Draws this broker's service times in nanoseconds, from a stream of its own: the same on every runtime.

        `service_time` replaces the broker's own.
        """
        source = random.Random(f"{self.seed}:{self.id}:{self.incarnation}:service")
        return (self.service_time if service_time is None else service_time).sampler(source)

    def send_times(self, neighbour: str, appearance: int, send_time: ServiceTime) -> Callable[[], int] | None:
        """The function that draws send times, in nanoseconds, of one of this broker's links, from a stream of its own:
        the same on every runtime. None where sending takes no time."""
        if not send_time:
            return None
        source = random.Random(f"{self.seed}:{self.id}-{neighbour}:{self.incarnation}:{appearance}:send")
        return send_time.sampler(source)


def load(path: Path) -> BrokerConfig:
    """Reads a config file, in which fields that this version does not know are ignored (contract C-1). Raises
    `msgspec.ValidationError` (naming the field) or `OSError`."""
    return msgspec.json.decode(path.read_bytes(), type=BrokerConfig)
