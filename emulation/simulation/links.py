"""One direction of an overlay link as a gRPC stream sees it: frames arrive whole, in order, and none is lost.

`emulation.network.shaping.Shaper` says when each packet leaves the link, as it does in the userspace link driver; TCP
makes a stream of them. What TCP adds is modelled, not emulated: a packet that the link drops comes again, after a probe
or a time-out as Linux takes them (RFC 8985 and RFC 6298, with their minimum of 200 ms), twice as late each time it is
dropped again, and everything behind it waits. Acknowledgements of TCP itself use none of the rate, and a window of TCP
is never full: a broker's own window is smaller.
"""

from __future__ import annotations

import random
from dataclasses import replace

from emulation.network.shaping import Shaper
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
        self._way_back = opposite.delay
        self._corruption = 0.0
        self._dropped = properties.loss
        """The share of packets that have to be sent again."""
        self._round_trip = round((properties.delay + opposite.delay) * NANOSECONDS)
        self._last = 0

    @property
    def delay(self) -> float:
        """Seconds, one way."""
        return self._properties.delay

    def change(self, properties: LinkProperties) -> None:
        """What is sent from now on has these properties; what is under way keeps its time."""
        self._properties = properties
        self._adjust()

    def change_way_back(self, properties: LinkProperties) -> None:
        """The opposite direction, which acknowledges, has these properties from now on."""
        self._way_back = properties.delay
        self._adjust()

    def corrupt(self, share: float) -> None:
        """This share of packets arrives damaged: TCP drops them, as if they were lost."""
        self._corruption = share
        self._adjust()

    def _adjust(self) -> None:
        properties = self._properties
        self._dropped = 1 - (1 - properties.loss) * (1 - self._corruption)
        self._shaper.change(replace(properties, loss=self._dropped))
        self._round_trip = round((properties.delay + self._way_back) * NANOSECONDS)

    def arrival(self, now: int, size: int, latency: int) -> int:
        """When a frame of `size` bytes, sent now, has arrived whole; `latency` is what its ends add (nanoseconds)."""
        arrival = self._packet(now, size if size < SEGMENT_BYTES else SEGMENT_BYTES)
        while (size := size - SEGMENT_BYTES) > 0:
            arrival = max(arrival, self._packet(now, min(size, SEGMENT_BYTES)))
        arrival += latency
        self._last = arrival = arrival if arrival > self._last else self._last
        return arrival

    def _packet(self, now: int, size: int) -> int:
        """When so many bytes in one packet have arrived."""
        leaves = self._shaper.admit(now, size + PACKET_OVERHEAD)
        return leaves if leaves >= 0 else self._again(now)

    def _again(self, now: int) -> int:
        """When a packet that was dropped has arrived after all."""
        alone = self._last <= now
        wait = self._round_trip + SHORTEST_TIMEOUT if alone else 2 * self._round_trip
        dropped = 1
        while self._random.random() < self._dropped and dropped < MOST_TIMEOUT_DOUBLINGS:
            wait += (self._round_trip + SHORTEST_TIMEOUT) << dropped
            dropped += 1
        return now + wait + round(self._properties.delay * NANOSECONDS)
