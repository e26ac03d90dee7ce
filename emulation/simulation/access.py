"""Access links in virtual time: the wire between a client's site and its broker, shared by the site's sessions.

A session is a TCP connection of its own (`emulation.simulation.links`), whose frames take their turns with those of the
site's other sessions. A stream has at most a window of bytes under way, as HTTP/2 begins with; what is beyond waits at
its sender, where the broker's bound for a client that does not read counts it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from broker_service.config import Limits
from broker_service.messages import BrokerFrame, ClientRequest
from broker_service.transport.wire import encode_broker_frame, encode_client_frames
from emulation.network.relay.shaping import Shaper
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.link_end import HEADERS
from emulation.simulation.links import Direction
from record.time_units import SECOND
from topology.link_properties import BrokerId, LinkDirection, LinkProperties
from topology.sites import Site

WINDOW_BYTES: Final = 65_535
"""Bytes of a stream that may be under way: HTTP/2's window before anybody enlarges it."""
Arrive = Callable[[int], None]
_LARGEST: Final = 1 << 30
"""Bytes of a frame that is never divided, because its size alone is asked for."""
_OPENING_ROUND_TRIPS: Final = 2
"""Round trips of TCP's handshake, and of the request for a stream with its answer."""


def session_opening(sites: Iterable[Site], limits: Limits) -> float:
    """Seconds that the slowest session over an access link takes to open, the last wait before an attempt included."""
    return limits.reconnect_last + max((AccessLink(site, "").opening for site in sites), default=0.0)


class AccessPath:
    """One direction of one session over an access link."""

    def __init__(self, latency: Callable[[], int], direction: Direction, way_back: float) -> None:
        """`latency` draws the time that a frame takes besides the link, in nanoseconds; `way_back` is the delay of the
        opposite direction, in seconds."""
        self.left_at = 0
        """The time at which the latest frame has left the link whole."""
        self._latency = latency
        self._direction = direction
        self._way_back = round(way_back * SECOND)
        self.cut = False
        """True while the direction carries nothing."""
        self._waiting: list[Callable[[], None]] = []
        """Calls to be made when it carries frames again."""
        self._under_way: deque[tuple[int, int]] = deque()
        """Frames: the time at which the sender knows that each has arrived, and its bytes."""
        self._bytes = 0

    def open_at(self, now: int) -> int:
        """The time from which the next frame may be written; `now` for at once."""
        under_way = self._under_way
        while under_way and under_way[0][0] <= now:
            self._bytes -= under_way.popleft()[1]
        return now if self._bytes < WINDOW_BYTES else under_way[0][0]

    def when_restored(self, call: Callable[[], None]) -> None:
        """Has a call made when the direction carries frames again."""
        self._waiting.append(call)

    def restored(self) -> Sequence[Callable[[], None]]:
        """The direction carries frames again. Returns the calls to be made."""
        self.cut = False
        waiting, self._waiting = self._waiting, []
        return waiting

    def change(self, properties: LinkProperties, way_back: LinkProperties) -> None:
        """Sets the properties of frames sent from now on; frames in flight keep their times."""
        self._direction.change(properties)
        self._direction.change_way_back(way_back)
        self._way_back = round(way_back.delay * SECOND)

    def corrupt(self, share: float) -> None:
        """Damages this share of packets."""
        self._direction.corrupt(share)

    def carry_requests(self, events: EventQueue, requests: Sequence[ClientRequest], arrive: Arrive) -> None:
        """Has `arrive` called when a frame with these requests has arrived, with the time at which it has left the
        link whole."""
        self._carry(events, encode_client_frames(requests, _LARGEST), arrive)

    def carry_frame(self, events: EventQueue, frame: BrokerFrame, arrive: Arrive) -> None:
        """Has `arrive` called when a frame of the broker has arrived, with the time at which it has left the link
        whole."""
        self._carry(events, encode_broker_frame(frame, _LARGEST), arrive)

    def end_at(self, now: int) -> int:
        """The time at which the end of the stream has arrived, behind all frames."""
        arrival = self._arrival(now, encode_client_frames((), _LARGEST))
        # A late frame may arrive at that very time, by an event that is begun after this one.
        return arrival + 1 if self._direction.late else arrival

    def frame_at(self, now: int, frame: BrokerFrame) -> int:
        """The time at which a frame of the broker has arrived, as long as the link stays as it is."""
        return self._arrival(now, encode_broker_frame(frame, _LARGEST))

    def read_at(self, time: int) -> None:
        """The latest frame is read at this time, and counts as under way until its sender knows that."""
        _, size = self._under_way.pop()
        self._under_way.append((time + self._way_back, size))

    def _carry(self, events: EventQueue, frames: Sequence[bytes], arrive: Arrive) -> None:
        size = _size(frames)
        self._direction.carry(events, size, self._latency(), arrive)
        self._note(size)

    def _arrival(self, now: int, frames: Sequence[bytes]) -> int:
        size = _size(frames)
        arrival = self._direction.arrival(now, size, self._latency())
        self._note(size)
        return arrival

    def _note(self, size: int) -> None:
        """A frame of this size is under way."""
        self.left_at = self._direction.left_at
        self._under_way.append((self.left_at + self._way_back, size))
        self._bytes += size


def _size(frames: Sequence[bytes]) -> int:
    return sum(HEADERS + len(frame) for frame in frames)


@dataclass(frozen=True, slots=True)
class AccessPaths:
    """The ways of one session over an access link."""

    to_broker: AccessPath
    to_client: AccessPath


class AccessLink:
    """The access link of one site, with the state that its sessions share."""

    def __init__(self, site: Site, seed: str) -> None:
        self.site = site
        self.abandoned: list[Callable[[], None]] = []
        """Calls that end, at the broker, the sessions of clients that ended while the link was cut."""
        self.changes = 0
        """Number of times that the link was cut, or carried packets both ways again."""
        self._up, self._down = site.up, site.down
        self._paths: list[AccessPaths] = []
        self._cut = {True: False, False: False}
        """Directions that are cut; True stands for the one to the broker."""
        self._corruption = {True: 0.0, False: 0.0}
        self._seed = f"{seed}:access:{site.name}"
        self._shapers = Shaper(site.up, f"{self._seed}:up"), Shaper(site.down, f"{self._seed}:down")

    @property
    def opening(self) -> float:
        """Seconds from the attempt to open a session to its first frame."""
        return _OPENING_ROUND_TRIPS * (self._up.delay + self._down.delay)

    @property
    def closing(self) -> float:
        """Seconds from the end of the broker until its clients notice."""
        return self._down.delay

    def paths(self, session: str, submit: Callable[[], int], notify: Callable[[], int]) -> AccessPaths:
        """The paths of one session, to the broker and back. `session` is its name, unique among the site's sessions.

        `submit` and `notify` draw the time in nanoseconds that a frame takes to the broker, or back, in addition to the
        link.
        """
        up, down = self._up, self._down
        there = Direction(up, down, f"{self._seed}:up:{session}", self._shapers[0])
        back = Direction(down, up, f"{self._seed}:down:{session}", self._shapers[1])
        paths = AccessPaths(AccessPath(submit, there, down.delay), AccessPath(notify, back, up.delay))
        self._paths.append(paths)
        return paths

    # Faults

    @property
    def whole(self) -> bool:
        """True while both directions carry packets. With one alone, TCP gets no answers."""
        return not any(self._cut.values())

    def twin(self, direction: LinkDirection, seed: str) -> Direction:
        """A direction in the same state, which draws from a stream of its own: what it carries changes nothing here."""
        is_up = self._is_up(direction)
        properties, opposite = (self._up, self._down) if is_up else (self._down, self._up)
        twin = Direction(properties, opposite, seed, self._shapers[not is_up].twin(seed))
        twin.up = not self._cut[is_up]
        twin.corrupt(self._corruption[is_up])
        return twin

    def cut(self, direction: LinkDirection) -> None:
        """Lets a direction carry nothing."""
        self.changes += self.whole
        self._cut[self._is_up(direction)] = True
        for path in self._of(direction):
            path.cut = True

    def restore(self, direction: LinkDirection) -> Sequence[Callable[[], None]]:
        """Undoes `cut`. Returns the calls of those that waited for it."""
        self._cut[self._is_up(direction)] = False
        self.changes += self.whole
        return [call for path in self._of(direction) for call in path.restored()]

    def change(self, direction: LinkDirection, properties: LinkProperties) -> None:
        """Gives a direction other properties."""
        if self._is_up(direction):
            self._up = properties
        else:
            self._down = properties
        for paths in self._paths:
            paths.to_broker.change(self._up, self._down)
            paths.to_client.change(self._down, self._up)

    def corrupt(self, direction: LinkDirection, share: float) -> None:
        """Damages this share of the packets of a direction."""
        self._corruption[self._is_up(direction)] = share
        for path in self._of(direction):
            path.corrupt(share)

    def _is_up(self, direction: LinkDirection) -> bool:
        return direction.source == self.site.name

    def _of(self, direction: LinkDirection) -> list[AccessPath]:
        return [paths.to_broker if self._is_up(direction) else paths.to_client for paths in self._paths]


class AccessLinks:
    """The access links that are there. A site may have several one after another, and two while it moves."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._links: dict[tuple[str, BrokerId], AccessLink] = {}
        """Links by site and broker."""
        self._made: Counter[str] = Counter()
        """Links that each site has had so far."""

    def of(self, site: Site) -> AccessLink:
        """The link of a site to its broker, made if it is not there."""
        key = site.name, site.broker
        if key not in self._links:
            former = self._made[site.name]
            self._links[key] = AccessLink(site, f"{self._seed}:{former}" if former else self._seed)
            self._made[site.name] += 1
        return self._links[key]

    def with_direction(self, direction: LinkDirection) -> AccessLink | None:
        """The link that has a direction; None for a link between brokers."""
        ends = direction.source, direction.target
        return self._links.get(ends) or self._links.get(ends[::-1])

    def latest_of(self, site: str) -> AccessLink | None:
        """The latest link of a site; None for one that is on its way."""
        return next((link for (name, _), link in reversed(self._links.items()) if name == site), None)

    def remove(self, site: Site) -> None:
        """The link of a site to its broker is not there any more."""
        self._links.pop((site.name, site.broker), None)
