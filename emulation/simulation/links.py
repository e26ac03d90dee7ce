"""One direction of an overlay link as a gRPC stream uses it: frames arrive whole, in order, and none is lost.

`emulation.network.relay.shaping.Shaper` computes when each packet leaves the link, as it does in the userspace link
driver; TCP makes a stream of the packets. TCP itself is modelled, not emulated: a packet that the link drops is sent
again after a probe or a time-out of Linux (RFC 8985 and RFC 6298, with their minimum of 200 ms), twice as late each
time it is dropped again, and everything behind it waits. Acknowledgements of TCP use none of the rate, and a window of
TCP is never full, because a broker's own window is smaller. When fewer packets are dropped from some time on, frames
that wait for TCP arrive sooner (`late_frames`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from emulation.network.relay.shaping import DropReason, Shaper
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.late_frames import LateFrame, LateFrames, Repetitions
from record.time_units import SECOND
from topology.link_properties import LinkProperties

SEGMENT_BYTES: Final = 1448
"""Payload of a packet: Ethernet's 1500 bytes less IP and TCP headers with time stamps."""
PACKET_OVERHEAD: Final = 66
"""Bytes of Ethernet, IP and TCP headers."""
SHORTEST_TIMEOUT = 200_000_000
"""The shortest time in nanoseconds that Linux waits for the acknowledgement of a single packet."""
MOST_TIMEOUT_DOUBLINGS = 8


class Direction:
    """The direction from one broker to its neighbour."""

    def __init__(
        self, properties: LinkProperties, opposite: LinkProperties, seed: str, shaper: Shaper | None = None
    ) -> None:
        """`shaper` is given where several streams share a link."""
        self.up = True
        """True while frames arrive; `OpenStream` keeps those that are sent while a direction is cut."""
        self._shaper = Shaper(properties, seed) if shaper is None else shaper
        self._seed = seed
        self._random: random.Random | None = None
        """Made when it is needed first, because most links drop nothing."""
        self._properties = properties
        self._way_back = opposite.delay
        self._corruption = 0.0
        self._dropped = properties.loss
        """The share of packets that have to be sent again."""
        self._round_trip = round((properties.delay + opposite.delay) * SECOND)
        self._last = 0
        self.late: LateFrames | None = None
        """Frames that wait for TCP, once there was one."""
        self.repetitions: list[Repetitions] = []
        """Packets of the latest frame that were dropped."""
        self.left_at = 0
        """The time at which the latest frame has left the link whole, without the time that its ends add."""

    @property
    def delay(self) -> float:
        """Seconds, one way."""
        return self._properties.delay

    def change(self, properties: LinkProperties) -> None:
        """Sets the properties of frames sent from now on; frames in flight keep their times."""
        self._properties = properties
        self._adjust()

    def change_way_back(self, properties: LinkProperties) -> None:
        """Sets the properties of the opposite direction, which carries TCP's acknowledgements."""
        self._way_back = properties.delay
        self._adjust()

    def corrupt(self, share: float) -> None:
        """Damages this share of packets: TCP drops them, as if they were lost."""
        self._corruption = share
        self._adjust()

    def _adjust(self) -> None:
        properties, before = self._properties, self._dropped
        self._dropped = 1 - (1 - properties.loss) * (1 - self._corruption)
        if self._dropped < before and self.late and self._random is not None:
            latest = self.late.draw_anew(self._dropped, self._random)
            self._last, self.left_at = latest.at, latest.left_at
        self._shaper.change(replace(properties, loss=self._dropped))
        self._round_trip = round((properties.delay + self._way_back) * SECOND)

    @property
    def last_arrival(self) -> int:
        """The time at which the latest frame that was sent has arrived or will, of all streams that share the link."""
        return max(self._last, self._shaper.last_leaves)

    def carry(self, events: EventQueue, size: int, latency: int, arrive: Callable[[int], None]) -> None:
        """Has `arrive` called when a frame of `size` bytes, sent now, has arrived whole, with the time at which it has
        left the link. `latency` is that of `arrival`."""
        at = self.arrival(events.now, size, latency)
        if self.repetitions or self.late:
            self.keep(events, at, latency, arrive)
        else:
            events.at(at, partial(arrive, self.left_at))

    def keep(self, events: EventQueue, at: int, latency: int, arrive: Callable[[int], None]) -> None:
        """Has the latest frame arrive at this time, or sooner: packets of it are sent again, or frames before it wait
        for that."""
        if self.late is None:
            self.late = LateFrames(events)
        self.late.add(LateFrame(at, self.left_at, self._shaper.last_leaves, latency, self.repetitions, arrive))

    def follow(self, events: EventQueue, arrive: Callable[[], None]) -> None:
        """Has `arrive` called when all frames that were sent have arrived."""
        if self.late:
            self.late.add(LateFrame(self._last, self._last, 0, 0, [], lambda _: arrive()))
        elif self.last_arrival > events.now:
            events.at(self.last_arrival, arrive)
        else:
            events.soon(arrive)

    def arrival(self, now: int, size: int, latency: int) -> int:
        """The time at which a frame of `size` bytes, sent now, has arrived whole, as long as the link stays as it is.

        `latency` is the time that its ends add, in nanoseconds.
        """
        if self.repetitions:
            self.repetitions = []
        packet = size if size < SEGMENT_BYTES else SEGMENT_BYTES
        arrival = leaves if (leaves := self._shaper.admit(now, packet + PACKET_OVERHEAD)) >= 0 else self._again(now)
        while (size := size - SEGMENT_BYTES) > 0:
            arrival = max(arrival, self._packet(now, min(size, SEGMENT_BYTES)))
        self.left_at = arrival if arrival > self.left_at else self.left_at
        arrival += latency
        self._last = arrival = arrival if arrival > self._last else self._last
        return arrival

    def twin(self, seed: str) -> Direction:
        """A direction in the same state, which draws from a stream of its own: what it carries changes nothing here."""
        twin = Direction(self._properties, LinkProperties(), seed)
        twin.up, twin._last, twin._shaper = self.up, self._last, self._shaper.twin(seed)
        twin._corruption, twin._dropped = self._corruption, self._dropped
        twin._way_back, twin._round_trip = self._way_back, self._round_trip
        return twin

    def datagram(self, now: int, size: int) -> int:
        """The time at which a packet has arrived that nobody sends again; negative for one that is dropped."""
        return self._shaper.admit(now, size + PACKET_OVERHEAD) if self.up else int(DropReason.DOWN)

    def _packet(self, now: int, size: int) -> int:
        """The time at which a packet with this many bytes of payload has arrived."""
        leaves = self._shaper.admit(now, size + PACKET_OVERHEAD)
        return leaves if leaves >= 0 else self._again(now)

    def _again(self, now: int) -> int:
        """The time at which a packet that was dropped has arrived after all."""
        alone = self._last <= now
        wait = self._round_trip + SHORTEST_TIMEOUT if alone else 2 * self._round_trip
        sent = [now + wait]
        if self._random is None:
            self._random = random.Random(f"{self._seed}:retransmission")
        while self._random.random() < self._dropped and len(sent) < MOST_TIMEOUT_DOUBLINGS:
            sent.append(sent[-1] + ((self._round_trip + SHORTEST_TIMEOUT) << len(sent)))
        again = Repetitions(sent, round(self._properties.delay * SECOND))
        self.repetitions.append(again)
        return again.arrival
