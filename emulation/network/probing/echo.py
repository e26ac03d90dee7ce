"""The datagrams with which hosts measure the offsets of their clocks, collect probes that have arrived elsewhere, and
ask each other which stages of a run they have reached.

Every request and every reply is one datagram and begins with the run's token; a request without the token gets no
reply. A request is as long as the reply about the clock, so that the responder cannot be used as an amplifier.

The offset of another host's clock is estimated as in NTP (RFC 5905, section 8). With t1 and t4 the times at which a
request left and its reply arrived, by the clock of the requesting host, and t2 and t3 the times at which the other host
received the request and sent the reply, by its own clock,

    offset = ((t2 - t1) + (t3 - t4)) / 2        round trip = (t4 - t1) - (t3 - t2)

the true offset differs from the estimate by at most half the round trip, whatever the delays of the two directions are.
Of many requests the one with the shortest round trip gives the best estimate.
"""

from __future__ import annotations

import enum
import hashlib
import secrets
import socket
import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from emulation.network.model import NetworkError

TOKEN_BYTES = 16
ECHO_PORT = 14788
"""UDP port of the responders, unless the inventory gives another one."""
PROBE_PORT = 7001
"""UDP port for probes at the ends of links between hosts, in the namespaces of their brokers."""

REQUEST = struct.Struct(f"!{TOKEN_BYTES}sBQQ")
"""Token, kind, a number that the reply repeats, and the subject: a session for the kind ARRIVALS, a stage for STAGE."""
CLOCK_REPLY = struct.Struct(f"!{TOKEN_BYTES}sBQqqqq")
"""Token, kind, number; received and sent by CLOCK_MONOTONIC, received and sent by CLOCK_REALTIME."""
ARRIVALS_REPLY = struct.Struct(f"!{TOKEN_BYTES}sBQI")
"""Token, kind, number, total of arrivals; as many arrivals follow as fit."""
STAGE_REPLY = struct.Struct(f"!{TOKEN_BYTES}sBQ?q")
"""Token, kind, number; true if the host has reached the stage; the value that it announced there."""
ARRIVAL = struct.Struct("!IIqq")
"""Index of the direction, sequence number, times of sending and of arrival (CLOCK_REALTIME of the sending and of the
receiving host)."""
ARRIVALS_AT_ONCE = 50
PROBE = struct.Struct("!QIIq")
"""A probe: the prober's session, index of the direction, sequence number, time of sending."""

_PATIENCE = 0.25
"""Seconds until a request without a reply is repeated."""
_MOST_ATTEMPTS = 40
ECHOES, ECHO_INTERVAL = 100, 0.002
"""Requests for one estimate of an offset, and seconds between two."""


class EchoKind(enum.IntEnum):
    CLOCK = 1
    ARRIVALS = 2
    STAGE = 3


class EchoTimes(NamedTuple):
    """The times of one request and its reply, in nanoseconds: t1 to t4 of the module's estimate."""

    requested: int
    received: int
    replied: int
    returned: int

    @property
    def offset(self) -> float:
        """Estimate of how far the other clock is ahead."""
        return ((self.received - self.requested) + (self.replied - self.returned)) / 2

    @property
    def round_trip(self) -> int:
        return (self.returned - self.requested) - (self.replied - self.received)


@dataclass(frozen=True, slots=True)
class ClockReading:
    """An estimate of the offset of another host's clock."""

    at: int
    """The time of the estimate, in nanoseconds of this host's clock."""
    offset: int
    """Nanoseconds by which the other clock is ahead of this host's."""
    error: int
    """Greatest error of `offset` in nanoseconds: half the shortest round trip."""

    @property
    def delay(self) -> float:
        """Greatest one-way delay of a small packet to the other host in seconds, if both directions take equally
        long."""
        return self.error / 1e9


def read_clock(exchanges: Iterable[EchoTimes]) -> ClockReading | None:
    """The estimate of the exchange with the shortest round trip; None without exchanges."""
    best = min(exchanges, key=lambda exchange: exchange.round_trip, default=None)
    if best is None:
        return None
    error = max(0, -(-best.round_trip // 2))
    return ClockReading(at=(best.requested + best.returned) // 2, offset=round(best.offset), error=error)


class Clock(enum.Enum):
    """The clocks that are compared."""

    MONOTONIC = "CLOCK_MONOTONIC"
    REALTIME = "CLOCK_REALTIME"

    def now(self) -> int:
        return time.monotonic_ns() if self is Clock.MONOTONIC else time.time_ns()


def stage_number(stage: str) -> int:
    """The number of a stage in datagrams: the first bytes of a hash of its name."""
    return int.from_bytes(hashlib.sha256(stage.encode()).digest()[:8])


class StageReply(NamedTuple):
    """A host's reply to the question whether it has reached a stage."""

    reached: bool
    value: int
    """The number that the host announced with the stage; 0 where it has not reached it."""


class FarHost:
    """A connection to another host's responder. For one thread at a time."""

    def __init__(self, address: str, port: int, token: bytes) -> None:
        self.address = address
        self._token = token
        self._number = secrets.randbits(32) << 32
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.settimeout(_PATIENCE)
        try:
            self._socket.connect((address, port))
        except OSError as error:
            self._socket.close()
            raise NetworkError(f"there is no route to {address}: {error.strerror}") from error

    def close(self) -> None:
        self._socket.close()

    @property
    def silence(self) -> str:
        """The message for a host that does not reply."""
        return (
            f"{self.address} does not reply on UDP port {self._socket.getpeername()[1]}: let hosts reach each other "
            "there, past any firewall"
        )

    def clock(self, clock: Clock, echoes: int = ECHOES, interval: float = ECHO_INTERVAL) -> ClockReading:
        """Estimates how far its clock is ahead of this host's. Raises `NetworkError` if it does not reply."""
        exchanges: list[EchoTimes] = []
        silent = 0
        while len(exchanges) < echoes:
            requested = clock.now()
            reply = self._request(EchoKind.CLOCK, 0)
            returned = clock.now()
            if reply is None:
                silent += 1
                self._require_patience(silent)
                continue
            _, _, _, *times = CLOCK_REPLY.unpack(reply)
            received, replied = times[:2] if clock is Clock.MONOTONIC else times[2:]
            exchanges.append(EchoTimes(requested, received, replied, returned))
            time.sleep(interval)
        reading = read_clock(exchanges)
        assert reading is not None
        return reading

    def arrivals(self, session: int) -> list[tuple[int, int, int, int]]:
        """The probes of a session that have arrived there so far, with the fields of `ARRIVAL`."""
        found: list[tuple[int, int, int, int]] = []
        silent = 0
        while True:
            reply = self._request(EchoKind.ARRIVALS, session, len(found))
            if reply is None:
                silent += 1
                self._require_patience(silent)
                continue
            _, _, _, total = ARRIVALS_REPLY.unpack_from(reply)
            found += ARRIVAL.iter_unpack(reply[ARRIVALS_REPLY.size :])
            if len(found) >= total:
                return found

    def stage(self, stage: str) -> StageReply | None:
        """Asks once whether the host has reached a stage; None if no reply comes in time."""
        reply = self._request(EchoKind.STAGE, stage_number(stage))
        if reply is None:
            return None
        _, _, _, reached, value = STAGE_REPLY.unpack(reply)
        return StageReply(reached, value)

    def _request(self, kind: EchoKind, subject: int, first: int = 0) -> bytes | None:
        """Sends one request; returns its reply, or None if none comes in time."""
        self._number += 1
        request = REQUEST.pack(self._token, kind, self._number, subject) + struct.pack("!I", first)
        deadline = time.monotonic() + _PATIENCE
        try:
            self._socket.send(request.ljust(CLOCK_REPLY.size, b"\0"))
            while time.monotonic() < deadline:
                reply = self._socket.recv(2048)
                if reply[: ARRIVALS_REPLY.size - 4] == request[: ARRIVALS_REPLY.size - 4]:
                    return reply
        except (TimeoutError, ConnectionRefusedError):
            time.sleep(_PATIENCE / 10)
        except OSError as error:
            raise NetworkError(f"{self.address} cannot be reached: {error.strerror}") from error
        return None

    def _require_patience(self, silent: int) -> None:
        if silent >= _MOST_ATTEMPTS:
            raise NetworkError(self.silence)
