"""One direction of an overlay link as a gRPC stream sees it: frames arrive whole, in order, and none is lost.

`emulation.shaping.Shaper` says when each packet leaves the link, as it does in the userspace link driver; TCP
makes a stream of them. What TCP adds is modelled, not emulated: a packet that the link drops comes again, after a probe
or a time-out as Linux takes them (RFC 8985 and RFC 6298, with their minimum of 200 ms), twice as late each time it is
dropped again, and everything behind it waits. Acknowledgements of TCP itself use none of the rate, and a window of TCP
is never full: a broker's own window is smaller.
"""

from __future__ import annotations

import random

from emulation.shaping import Shaper
from topology.model import LinkProperties

NANOSECONDS = 1_000_000_000

SEGMENT_BYTES = 1448
"""Payload of a packet: Ethernet's 1500 bytes less IP and TCP headers with time stamps."""
PACKET_OVERHEAD = 66
"""Bytes of Ethernet, IP and TCP headers."""
SHORTEST_TIMEOUT = 200_000_000
"""Nanoseconds that Linux waits at least for the acknowledgement of a single packet."""
MOST_TIMEOUT_DOUBLINGS = 8


class Direction:
    """From one broker to its neighbour."""

    def __init__(self, properties: LinkProperties, opposite: LinkProperties, seed: str) -> None:
        self.up = True
        """A direction that is cut holds what is sent; see `release`."""
        self._shaper = Shaper(properties, seed)
        self._random = random.Random(f"{seed}:retransmission")
        self._properties = properties
        self._round_trip = round((properties.delay + opposite.delay) * NANOSECONDS)
        self._last = 0

    def arrival(self, now: int, size: int, latency: int) -> int:
        """When a frame of `size` bytes, sent now, has arrived whole; `latency` is what its ends add (nanoseconds)."""
        arrival = now
        while size > 0:
            packet = min(size, SEGMENT_BYTES)
            size -= packet
            leaves = self._shaper.admit(now, packet + PACKET_OVERHEAD)
            if leaves < 0:
                leaves = self._again(now)
            arrival = max(arrival, leaves)
        self._last = max(self._last, arrival + latency)
        return self._last

    def _again(self, now: int) -> int:
        """When a packet that was dropped has arrived after all."""
        alone = self._last <= now
        wait = self._round_trip + SHORTEST_TIMEOUT if alone else 2 * self._round_trip
        dropped = 1
        while self._random.random() < self._properties.loss and dropped < MOST_TIMEOUT_DOUBLINGS:
            wait += (self._round_trip + SHORTEST_TIMEOUT) << dropped
            dropped += 1
        return now + wait + round(self._properties.delay * NANOSECONDS)
