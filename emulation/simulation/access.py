"""Access links in virtual time: the wire between a client's site and its broker, shared by the site's sessions.

A session is a TCP connection of its own (`emulation.simulation.links`), whose frames take their turns with those of the
site's other sessions. A stream has at most a window of bytes under way, as HTTP/2 begins with; what is beyond waits at
its sender, where the broker's bound for a client that does not read counts it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from broker_service.messages import BrokerFrame, ClientRequest
from broker_service.transport.wire import encode_broker_frame, encode_client_frames
from emulation.network.relay.shaping import Shaper
from emulation.simulation.link_end import HEADERS
from emulation.simulation.links import Direction
from record.time_units import SECOND
from topology.sites import Site

WINDOW_BYTES: Final = 65_535
"""Bytes of a stream that may be under way: HTTP/2's window before anybody enlarges it."""
_LARGEST: Final = 1 << 30
"""Bytes of a frame that is never divided, because its size alone is asked for."""
_OPENING_ROUND_TRIPS: Final = 2
"""Round trips of TCP's handshake, and of the request for a stream with its answer."""


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
        self._under_way: deque[tuple[int, int]] = deque()
        """Frames: the time at which the sender knows that each has arrived, and its bytes."""
        self._bytes = 0

    def open_at(self, now: int) -> int:
        """The time from which the next frame may be written; `now` for at once."""
        under_way = self._under_way
        while under_way and under_way[0][0] <= now:
            self._bytes -= under_way.popleft()[1]
        return now if self._bytes < WINDOW_BYTES else under_way[0][0]

    def carry_requests(self, now: int, requests: Sequence[ClientRequest]) -> int:
        """The time at which a frame with these requests has arrived; without any, the end of the stream."""
        return self._arrival(now, encode_client_frames(requests, _LARGEST))

    def carry_frame(self, now: int, frame: BrokerFrame) -> int:
        """The time at which a frame of the broker has arrived."""
        return self._arrival(now, encode_broker_frame(frame, _LARGEST))

    def _arrival(self, now: int, frames: Sequence[bytes]) -> int:
        size, direction = sum(HEADERS + len(frame) for frame in frames), self._direction
        arrival = direction.arrival(now, size, self._latency())
        self.left_at = direction.left_at
        self._under_way.append((direction.left_at + self._way_back, size))
        self._bytes += size
        return arrival


@dataclass(frozen=True, slots=True)
class AccessPaths:
    """The ways of one session over an access link."""

    to_broker: AccessPath
    to_client: AccessPath


class AccessLink:
    """The access link of one site, with the state that its sessions share."""

    def __init__(self, site: Site, seed: str) -> None:
        self._up, self._down = site.up, site.down
        self._seed = f"{seed}:access:{site.name}"
        self._shapers = Shaper(site.up, f"{self._seed}:up"), Shaper(site.down, f"{self._seed}:down")

    @property
    def opening(self) -> float:
        """Seconds from the attempt to open a session to its first frame."""
        return _OPENING_ROUND_TRIPS * (self._up.delay + self._down.delay)

    @property
    def closing(self) -> float:
        """Seconds after which clients know that their broker has ended."""
        return self._down.delay

    def paths(self, session: str, submit: Callable[[], int], notify: Callable[[], int]) -> AccessPaths:
        """The ways of one session, of which `session` is the name among those of the site. `submit` and `notify` draw
        the times that a frame takes to the broker and back besides the link."""
        up, down = self._up, self._down
        there = Direction(up, down, f"{self._seed}:up:{session}", self._shapers[0])
        back = Direction(down, up, f"{self._seed}:down:{session}", self._shapers[1])
        return AccessPaths(AccessPath(submit, there, down.delay), AccessPath(notify, back, up.delay))
