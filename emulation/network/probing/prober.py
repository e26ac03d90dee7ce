"""The prober: sends UDP packets over links and measures their delays.

    python -m emulation.network.probing.prober < TASK > SAMPLES

It is a process of its own, so that measurements do not include the emulator's work. It opens a socket for each end of a
link inside that end's namespace. A packet holds the time at which it was sent, and the kernel stamps it on arrival
(SO_TIMESTAMPNS) by the same clock, so that a prober that wakes late measures no longer delays. That clock is
CLOCK_REALTIME, the kernel's choice.

If a link ends on another host, that host's responder receives the packets. The prober requests the arrivals from it,
and the offset of its clock (`echo`).
"""

from __future__ import annotations

import contextlib
import secrets
import select
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from emulation.network.model import NetworkError
from emulation.network.namespaces import in_namespace
from emulation.network.probing.echo import PROBE, PROBE_PORT, Clock, ClockReading, FarHost
from emulation.network.probing.messages import (
    LARGE_PAYLOAD,
    OVERHEAD,
    SMALL_PAYLOAD,
    DirectionSamples,
    FarResponder,
    ProbedDirection,
    ProbeTask,
)
from record.time_units import SECOND

TRAIN_BUDGET = 15_000
"""Limit in frames per second for all trains that are sent at the same time; a fraction of what the relay can carry."""
VOLLEY_BUDGET = 20_000
"""Limit in frames per second for all volleys, which measure loss, that are sent at the same time."""

_TIMESTAMP_OPTION = 35  # SO_TIMESTAMPNS
_SEND_BUFFER_FORCE, _RECEIVE_BUFFER_FORCE = 32, 33
_BUFFER = 8 << 20
_TIMESPEC = struct.Struct("@qq")
_SLICE = 0.002
"""Seconds: packets for the delay are sent in groups this far apart."""
_SLACK = 0.03
_LEAST_SAMPLES = 5
_ECHOES = 20
"""Requests for an estimate of another host's clock, before and after packets are sent."""

Arrival = tuple[int, int, int]
"""Sequence number, time of sending, time of arrival (both in nanoseconds)."""


class Prober:
    """Sockets at both ends of the probed links, and the packets that have arrived on them."""

    def __init__(self, directions: Sequence[ProbedDirection]) -> None:
        self._directions = directions
        self._sockets: dict[str, socket.socket] = {}
        self._by_descriptor: dict[int, socket.socket] = {}
        self._epoll = select.epoll()
        self._arrivals: list[list[Arrival]] = [[] for _ in directions]
        self._pending = 0
        self._session = _new_session()
        self._far: dict[FarResponder, _FarEnds] = {}
        for direction in directions:
            for process, address in zip(direction.processes, direction.addresses, strict=True):
                if address not in self._sockets and not (direction.responder and address == direction.addresses[1]):
                    self._open(process, address)
            if direction.responder is not None and direction.responder not in self._far:
                self._far[direction.responder] = _FarEnds(direction.responder)

    def clock_error(self, index: int) -> float:
        """Greatest error of a direction's delays in seconds."""
        responder = self._directions[index].responder
        return 0.0 if responder is None else self._far[responder].clock.error / SECOND

    def delays(self, rounds: int, interval: float) -> list[list[float]]:
        """Sends a packet in each direction every `interval` seconds, evenly spread; returns the delays in seconds."""
        groups = max(1, round(interval / _SLICE))
        start = time.monotonic()
        for turn in range(rounds * groups):
            for index in range(turn % groups, len(self._directions), groups):
                self._send(index, turn // groups, SMALL_PAYLOAD)
            self._receive(start + (turn + 1) * interval / groups)
        self._receive_rest(self._directions)
        return [[(arrived - sent) / SECOND for _, sent, arrived in sorted(found)] for found in self._take()]

    def rates(self) -> list[float | None]:
        """Sends one train in each direction that has one; returns the rate in bits per second at which each arrived."""
        found: list[float | None] = [None] * len(self._directions)
        trains = [index for index, direction in enumerate(self._directions) if direction.train]
        for together in group(trains, self._frames_per_second, TRAIN_BUDGET):
            for index in together:
                for sequence in range(self._directions[index].train):
                    self._send(index, sequence, LARGE_PAYLOAD)
            self._receive_rest([self._directions[index] for index in together])
            arrivals = self._take()
            for index in together:
                times = sorted(arrived for _, _, arrived in arrivals[index])
                found[index] = rate_of(times[self._directions[index].warm_up :])
        return found

    def losses(self) -> list[tuple[int, int]]:
        """Sends volleys in each direction that has some; returns the numbers of packets sent and arrived."""
        counts = [(direction.volley * direction.volleys, 0) for direction in self._directions]
        volleys = [direction for direction in self._directions if direction.volleys]
        for turn in range(max((direction.volleys for direction in volleys), default=0)):
            sending = [index for index, direction in enumerate(self._directions) if direction.volleys > turn]
            pause = sum(self._directions[index].volley for index in sending) / VOLLEY_BUDGET
            for index in sending:
                direction = self._directions[index]
                pause = max(pause, _seconds(direction, direction.volley, SMALL_PAYLOAD))
                for sequence in range(direction.volley):
                    self._send(index, turn * direction.volley + sequence, SMALL_PAYLOAD)
            self._receive(time.monotonic() + pause)
        if volleys:
            self._receive_rest(volleys)
        return [(sent, len(found)) for (sent, _), found in zip(counts, self._take(), strict=True)]

    def _frames_per_second(self, index: int) -> float:
        return (self._directions[index].rate or 0) / 8 / (OVERHEAD + LARGE_PAYLOAD)

    def _open(self, process: int, address: str) -> None:
        opened = in_namespace(process, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK))
        opened.setsockopt(socket.SOL_SOCKET, _TIMESTAMP_OPTION, 1)
        for option in (_SEND_BUFFER_FORCE, _RECEIVE_BUFFER_FORCE):
            opened.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
        opened.bind((address, 0))
        self._sockets[address] = self._by_descriptor[opened.fileno()] = opened
        self._epoll.register(opened, select.EPOLLIN)

    def _send(self, index: int, sequence: int, size: int) -> None:
        source, target = self._directions[index].addresses
        far = self._directions[index].responder is not None
        address = (target, PROBE_PORT) if far else self._sockets[target].getsockname()
        padding = bytes(size - PROBE.size)
        self._pending += not far
        with contextlib.suppress(OSError):  # packets that are missing in the end show a link that is cut or gone
            self._sockets[source].sendto(PROBE.pack(self._session, index, sequence, time.time_ns()) + padding, address)

    def _receive_rest(self, directions: Sequence[ProbedDirection]) -> None:
        """Waits for packets in flight, no longer than they can take."""
        seconds = max(direction.delay + _seconds(direction, direction.train, LARGE_PAYLOAD) for direction in directions)
        deadline = time.monotonic() + seconds + _SLACK
        far = any(direction.responder is not None for direction in directions)
        while (self._pending > 0 or far) and (left := deadline - time.monotonic()) > 0:
            self._poll(left)

    def _receive(self, until: float) -> None:
        """Receive packets until a moment of `time.monotonic()`."""
        self._poll(0)
        while (left := until - time.monotonic()) > 0:
            self._poll(left)

    def _poll(self, timeout: float) -> None:
        for descriptor, _ in self._epoll.poll(timeout):
            receive = self._by_descriptor[descriptor].recvmsg
            with contextlib.suppress(BlockingIOError):
                while True:
                    packet, ancillary, _, _ = receive(PROBE.size, _TIMESPEC.size + 64)
                    session, index, sequence, sent = PROBE.unpack(packet)
                    if session != self._session:
                        continue
                    seconds, nanoseconds = _TIMESPEC.unpack(ancillary[0][2])
                    self._arrivals[index].append((sequence, sent, seconds * 1_000_000_000 + nanoseconds))
                    self._pending -= 1

    def _take(self) -> list[list[Arrival]]:
        """The arrivals of the packets sent so far. A packet that arrives later is ignored, because the session
        changes."""
        taken, self._arrivals = self._arrivals, [[] for _ in self._directions]
        self._pending = 0
        for far in self._far.values():
            for index, sequence, sent, arrived in far.take(self._session):
                taken[index].append((sequence, sent, arrived))
        self._session = _new_session()
        return taken


class _FarEnds:
    """The ends of links on another host, with arrivals in the time of this host's clock."""

    def __init__(self, responder: FarResponder) -> None:
        self._host = FarHost(responder.address, responder.port, bytes.fromhex(responder.token))
        self.clock: ClockReading = self._host.clock(Clock.REALTIME, _ECHOES)

    def take(self, session: int) -> list[tuple[int, int, int, int]]:
        """The arrivals of a session: direction, sequence number, time of sending, time of arrival."""
        again = self._host.clock(Clock.REALTIME, _ECHOES)
        if again.error < self.clock.error:
            self.clock = again
        found = self._host.arrivals(session)
        return [(index, sequence, sent, arrived - self.clock.offset) for index, sequence, sent, arrived in found]


def _new_session() -> int:
    """The mark of packets that are counted together."""
    return secrets.randbits(64)


def rate_of(times: Sequence[int], bits: int = (OVERHEAD + LARGE_PAYLOAD) * 8) -> float | None:
    """Bits per second of a train whose packets, each with this many bits, arrived at these times (nanoseconds,
    ascending); None for too few packets.

    It is the slope of the least squares line through the times, so that jitter at either end hardly matters.
    """
    count = len(times)
    if count < _LEAST_SAMPLES or times[0] == times[-1]:
        return None
    middle = (count - 1) / 2
    slope = sum((rank - middle) * (when - times[0]) for rank, when in enumerate(times))
    slope /= count * (count * count - 1) / 12
    return bits * SECOND / slope


def group(items: Iterable[int], cost: Callable[[int], float], budget: float) -> Iterator[list[int]]:
    """Consecutive items in groups whose total cost is within the budget; an item above the budget is a group of its
    own."""
    gathered: list[int] = []
    spent = 0.0
    for item in items:
        if gathered and spent + cost(item) > budget:
            yield gathered
            gathered, spent = [], 0.0
        gathered.append(item)
        spent += cost(item)
    if gathered:
        yield gathered


def carry_out(task: ProbeTask) -> list[DirectionSamples]:
    """Runs a task; returns the samples in the order of its directions."""
    prober = Prober(task.directions)
    delays = prober.delays(task.rounds, task.interval)
    trains = [prober.rates() for _ in range(task.trains)]
    losses = prober.losses()
    return [
        DirectionSamples(
            delays=delays[index],
            rates=[rate for rates in trains if (rate := rates[index]) is not None],
            sent=task.rounds + losses[index][0],
            received=len(delays[index]) + losses[index][1],
            clock_error=prober.clock_error(index),
        )
        for index in range(len(task.directions))
    ]


def _seconds(direction: ProbedDirection, packets: int, payload: int) -> float:
    """Seconds in which a direction sends packets one after the other."""
    return 0.0 if direction.rate is None else packets * (OVERHEAD + payload) * 8 / direction.rate


def main() -> None:
    """Runs the task on standard input."""
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=ProbeTask)
    try:
        samples = carry_out(task)
    except (NetworkError, OSError) as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(msgspec.json.encode(samples))


if __name__ == "__main__":
    main()
