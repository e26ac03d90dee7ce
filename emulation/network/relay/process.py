"""The relay: one process that carries frames between pairs of TAP interfaces and gives links their properties.

    python -m emulation.network.relay.process --seed SEED --control DESCRIPTOR

It is started by `RelayProcess`, exchanges `messages` on the descriptor it inherits, and decides nothing: `Shaper`
determines when a frame leaves. The loop is plain epoll over the TAPs, one timerfd and the control socket; a heap holds
the frames in flight.

A frame that is read late arrives late. The relay therefore asks for round-robin real-time scheduling, else for a better
nice value. With three busy processes on two CPUs, 99 of 100 frames left within 0.1 ms of their time with real-time
scheduling, and within 20 ms with nice -15. The relay never collects garbage, because its objects form no cycles. It
ends when the control socket is closed or its parent has ended, and its TAP interfaces end with it.
"""

from __future__ import annotations

import argparse
import functools
import gc
import heapq
import os
import random
import resource
import select
import signal
import socket
import time
from collections.abc import Callable

import msgspec

from broker_service.transport.timer_file import TimerFile
from emulation.host.priority import LINKS
from emulation.network.model import NetworkError
from emulation.network.namespaces import enter_namespace, enter_open_namespace
from emulation.network.relay.messages import (
    LATENESS_BUCKETS,
    LATENESS_UNIT,
    MAXIMUM_MESSAGE,
    AddLink,
    AskPunctuality,
    AskStatistics,
    ChangeDirection,
    Corrupt,
    DirectionCounters,
    Done,
    LinkCounters,
    Punctuality,
    Refused,
    Reply,
    Request,
    SetUp,
)
from emulation.network.relay.shaping import DropReason, Shaper, needs_single_frames
from emulation.network.relay.tap import HEADER_SIZE, damaged, expect_frames, expect_segments, open_tap
from topology.link_properties import LinkProperties

MAXIMUM_IN_FLIGHT = 250_000
"""Limit of frames in flight on all links together: under 400 MB if each has full size."""

LEAD = 30_000
"""Nanoseconds that a frame may leave early: about the time of a wake-up, so that frames are late as often as early."""

_GREATEST_COUNTED = LATENESS_UNIT * LATENESS_BUCKETS
_BATCH = 16
"""Frames that are read from one interface before the others and the due frames get their turn."""


TICK = 10_000_000
"""Nanoseconds between two ticks, by which the relay measures its own delays. Frames that wait to be read have no time
stamp, so that they cannot show that the relay was held up."""
HELD_UP = 1_000_000
"""Lateness of a tick, in nanoseconds, above which the relay counts as held up."""


class RelayDirection:
    """One direction of a link: frames that enter at one TAP and leave at the other."""

    __slots__ = (
        "broken",
        "corruption",
        "damaged",
        "frames",
        "generator",
        "octets",
        "output",
        "read",
        "shaper",
        "single_frames",
        "source",
        "tallies",
        "turn",
        "undeliverable",
    )

    def __init__(self, source: int, output: int, properties: LinkProperties, seed: str) -> None:
        self.source = source
        self.output = output
        self.shaper = Shaper(properties, seed)
        self.tallies = dict.fromkeys(map(int, DropReason), 0)
        self.frames = 0
        self.octets = 0
        self.undeliverable = 0
        self.damaged = 0
        self.broken = False
        self.turn = 0
        self.corruption = 0.0
        self.generator = random.Random(f"{seed}/corruption")
        self.single_frames = needs_single_frames(properties)
        self.read: Callable[[], bytes]
        self.offload()

    def offload(self) -> None:
        """Accepts segments of a TCP stream as one frame where neither rate nor loss is set, which makes such links
        fast."""
        if self.corruption:
            self.read = functools.partial(self._read_and_damage, expect_frames(self.source))
        elif self.single_frames:
            self.read = expect_frames(self.source)
        else:
            self.read = expect_segments(self.source)

    def change(self, properties: LinkProperties) -> None:
        self.shaper.change(properties)
        self.single_frames = needs_single_frames(properties)
        self.offload()

    def corrupt(self, share: float) -> None:
        """Damage this share of the frames that arrive from now on."""
        self.corruption = share
        self.offload()

    def _read_and_damage(self, read: Callable[[], bytes]) -> bytes:
        frame = read()
        if self.generator.random() >= self.corruption:
            return frame
        self.damaged += 1
        return damaged(frame, self.generator.getrandbits(16))

    def counters(self) -> DirectionCounters:
        """A copy of the counts so far."""
        return DirectionCounters(
            frames=self.frames,
            octets=self.octets - self.frames * HEADER_SIZE,
            lost=self.tallies[DropReason.LOSS],
            queue_full=self.tallies[DropReason.QUEUE],
            down=self.tallies[DropReason.DOWN],
            undeliverable=self.undeliverable,
            damaged=self.damaged,
            broken=self.broken,
        )


class LinkRelay:
    """All links of a run."""

    def __init__(self, control: socket.socket, seed: str) -> None:
        self._control = control
        self._seed = seed
        self._links: dict[int, tuple[RelayDirection, RelayDirection]] = {}
        self._by_source: dict[int, RelayDirection] = {}
        self._in_flight: list[tuple[int, int, RelayDirection, bytes]] = []
        self._timer = TimerFile()
        self._lateness = [0] * LATENESS_BUCKETS
        self._ticks = TimerFile()
        self._tick_due = time.monotonic_ns() + TICK
        self._held_up = 0
        self._home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self._epoll = select.epoll()
        self._epoll.register(control, select.EPOLLIN)
        for timer in (self._timer, self._ticks):
            self._epoll.register(timer.descriptor, select.EPOLLIN | select.EPOLLET)
        self._ticks.set(self._tick_due)
        self._parent = os.pidfd_open(os.getppid())
        self._epoll.register(self._parent, select.EPOLLIN)
        self._running = True
        self._decoder = msgspec.json.Decoder(Request)

    def run(self) -> None:
        """Carry frames until the relay is to end."""
        poll, by_source, timer, clock = self._epoll.poll, self._by_source, self._timer.descriptor, time.monotonic_ns
        in_flight, push = self._in_flight, heapq.heappush
        again = BlockingIOError
        turn = sequence = armed = 0
        while self._running:
            turn += 1
            for descriptor, _ in poll():
                direction = by_source.get(descriptor)
                if direction is None:
                    if descriptor == self._ticks.descriptor:
                        self._tick()
                    elif descriptor != timer:
                        self._attend(descriptor)
                    continue
                admit, read = direction.shaper.admit, direction.read
                # Reading until nothing is left costs a call that fails, which is worthwhile only if there was more last
                # time.
                batch = _BATCH if direction.turn == turn - 1 else 1
                direction.turn = turn
                now = clock()
                try:
                    while batch:
                        batch -= 1
                        frame = read()
                        due = admit(now, len(frame) - HEADER_SIZE)
                        if due < 0:
                            direction.tallies[due] += 1
                        else:
                            sequence += 1
                            push(in_flight, (due, sequence, direction, frame))
                except again:
                    pass
                except OSError:
                    self._break(direction)
            if in_flight:
                self._send_what_is_due()
                if in_flight and in_flight[0][0] != armed:
                    armed = in_flight[0][0]
                    self._timer.set(armed - LEAD)

    def _send_what_is_due(self) -> None:
        in_flight, pop, write, clock = self._in_flight, heapq.heappop, os.write, time.monotonic_ns
        lateness = self._lateness
        now = clock()
        while in_flight and in_flight[0][0] <= now + LEAD:
            due, _, direction, frame = pop(in_flight)
            try:
                write(direction.output, frame)
            except OSError:
                direction.undeliverable += 1
                continue
            now = clock()
            late = now - due
            direction.frames += 1
            direction.octets += len(frame)
            bucket = late // LATENESS_UNIT if 0 < late < _GREATEST_COUNTED else -(late > 0)
            lateness[bucket] += 1
        if len(in_flight) > MAXIMUM_IN_FLIGHT:
            self._shed()

    def _shed(self) -> None:
        """Drops the frames that would arrive last, until half of the limit is in flight."""
        in_flight = self._in_flight
        in_flight.sort()
        for _, _, direction, _ in in_flight[MAXIMUM_IN_FLIGHT // 2 :]:
            direction.undeliverable += 1
        del in_flight[MAXIMUM_IN_FLIGHT // 2 :]

    def _break(self, direction: RelayDirection) -> None:
        """Stops reading from a TAP whose interface is gone, because its namespace has ended."""
        direction.broken = True
        del self._by_source[direction.source]
        self._epoll.unregister(direction.source)

    def _tick(self) -> None:
        """Counts the time in which the relay was held up."""
        now = time.monotonic_ns()
        if (late := now - self._tick_due) > HELD_UP:
            self._held_up += late
        self._tick_due = now + TICK
        self._ticks.set(self._tick_due)

    def _attend(self, descriptor: int) -> None:
        """Reply to a request, or end when the emulator has ended."""
        message = b"" if descriptor == self._parent else self._control.recv(MAXIMUM_MESSAGE)
        if not message:
            self._running = False
            return
        try:
            reply = self._carry_out(self._decoder.decode(message))
        except (NetworkError, OSError, KeyError, msgspec.MsgspecError) as error:
            reply = Refused(str(error))
        self._control.send(msgspec.json.encode(reply))

    def _carry_out(self, request: Request) -> Reply:
        match request:
            case AddLink():
                self._add(request)
            case ChangeDirection(index, side, properties):
                self._links[index][side].change(properties)
            case SetUp(index, side, up):
                self._links[index][side].shaper.up = up
            case Corrupt(index, side, share):
                self._links[index][side].corrupt(share)
            case AskStatistics(index):
                first, second = self._links[index]
                return LinkCounters((first.counters(), second.counters()))
            case AskPunctuality():
                return Punctuality(
                    {bucket: count for bucket, count in enumerate(self._lateness) if count}, self._held_up
                )
        return Done()

    def _add(self, request: AddLink) -> None:
        first, second = (self._open(*end) for end in zip(request.processes, request.interfaces, strict=True))
        ends = ((first, second), (second, first))
        directions = [
            RelayDirection(*ends[side], request.properties[side], f"{self._seed}/{request.index}/{side}")
            for side in (0, 1)
        ]
        self._links[request.index] = (directions[0], directions[1])
        for direction in directions:
            self._by_source[direction.source] = direction
            self._epoll.register(direction.source, select.EPOLLIN)

    def _open(self, process: int, interface: str) -> int:
        enter_namespace(process)
        try:
            return open_tap(interface)
        except OSError as error:
            raise NetworkError(f"cannot open TAP interface {interface}: {error.strerror}") from error
        finally:
            enter_open_namespace(self._home)


def main() -> None:
    """Runs the relay of the emulator that holds the other end of the control socket."""
    parser = argparse.ArgumentParser(description="Carries frames for an emulated network; started by the emulator.")
    parser.add_argument("--seed", required=True, help="what loss and jitter are drawn from")
    parser.add_argument("--control", type=int, required=True, help="descriptor of the control socket")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the emulator handles Ctrl-C, and still needs its links
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    control = socket.socket(fileno=options.control)
    relay = LinkRelay(control, options.seed)
    gc.collect()
    gc.freeze()
    gc.disable()
    control.send(msgspec.json.encode(Done(LINKS.take())))
    relay.run()


if __name__ == "__main__":
    main()
