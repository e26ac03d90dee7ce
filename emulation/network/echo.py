"""What hosts ask each other over the underlay: how far their clocks are apart, and which probes have arrived.

One datagram a question, one an answer; both begin with the run's token, and what lacks it is not answered. A question
about the clock is as long as its answer, so that nobody can have a host send more than he sends himself.

The offset of another host's clock is estimated as NTP does (RFC 5905, section 8): with t1 and t4 the times at which a
question left and its answer came, by the clock of whoever asks, and t2 and t3 those at which the other one received and
answered, by his,

    offset = ((t2 - t1) + (t3 - t4)) / 2        round trip = (t4 - t1) - (t3 - t2)

and the true offset is within half the round trip of the estimate, whatever the two ways took. Of many questions the one
with the shortest round trip tells most.
"""

from __future__ import annotations

import enum
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
"""UDP port of the underlay on which responders answer, unless the inventory gives another."""
PROBE_PORT = 7001
"""UDP port at which the ends of links that cross hosts take probes, in their own namespaces."""

QUESTION = struct.Struct(f"!{TOKEN_BYTES}sBQQ")
"""Token, kind, a number that the answer repeats, and what the kind needs."""
CLOCK_ANSWER = struct.Struct(f"!{TOKEN_BYTES}sBQqqqq")
"""Token, kind, number; received and sent by CLOCK_MONOTONIC, received and sent by CLOCK_REALTIME."""
ARRIVALS_ANSWER = struct.Struct(f"!{TOKEN_BYTES}sBQI")
"""Token, kind, number, how many arrivals there are in all; as many of them follow as fit."""
ARRIVAL = struct.Struct("!IIqq")
"""Index of the direction, sequence number, when sent and when arrived (CLOCK_REALTIME of the one and the other)."""
ARRIVALS_AT_ONCE = 50
PROBE = struct.Struct("!QIIq")
"""A probe: the prober's session, index of the direction, sequence number, when sent."""

_PATIENCE = 0.25
"""Seconds that an answer may take; then it is asked again."""
_MOST_ATTEMPTS = 40
ECHOES, ECHO_INTERVAL = 100, 0.002
"""Questions that make up one estimate of an offset, and seconds between two."""


class Kind(enum.IntEnum):
    CLOCK = 1
    ARRIVALS = 2


class Exchange(NamedTuple):
    """One question and its answer, in nanoseconds: t1 to t4 above."""

    asked: int
    received: int
    answered: int
    heard: int

    @property
    def offset(self) -> float:
        """By how much the other clock is ahead."""
        return ((self.received - self.asked) + (self.answered - self.heard)) / 2

    @property
    def round_trip(self) -> int:
        return (self.heard - self.asked) - (self.answered - self.received)


@dataclass(frozen=True, slots=True)
class ClockReading:
    """What is known of another host's clock at one moment."""

    at: int
    """Nanoseconds of one's own clock."""
    offset: int
    """Nanoseconds by which the other clock is ahead of one's own."""
    error: int
    """Nanoseconds by which `offset` may be wrong at most: half the shortest round trip."""

    @property
    def delay(self) -> float:
        """Seconds that a small packet takes to the other host at most, when both ways take as long."""
        return self.error / 1e9


def read_clock(exchanges: Iterable[Exchange]) -> ClockReading | None:
    """The estimate that the exchange with the shortest round trip gives; None of none."""
    best = min(exchanges, key=lambda exchange: exchange.round_trip, default=None)
    if best is None:
        return None
    error = max(0, -(-best.round_trip // 2))
    return ClockReading(at=(best.asked + best.heard) // 2, offset=round(best.offset), error=error)


class Clock(enum.Enum):
    """Which clocks are compared."""

    MONOTONIC = "CLOCK_MONOTONIC"
    REALTIME = "CLOCK_REALTIME"

    def now(self) -> int:
        return time.monotonic_ns() if self is Clock.MONOTONIC else time.time_ns()


class FarHost:
    """Asks another host's responder. Used by one thread at a time."""

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
            raise NetworkError(f"there is no way to {address} over the underlay: {error.strerror}") from error

    def close(self) -> None:
        self._socket.close()

    def clock(self, clock: Clock, echoes: int = ECHOES, interval: float = ECHO_INTERVAL) -> ClockReading:
        """Estimates how far its clock is ahead of this host's. Raises `NetworkError` when it does not answer."""
        exchanges: list[Exchange] = []
        silent = 0
        while len(exchanges) < echoes:
            asked = clock.now()
            answer = self._ask(Kind.CLOCK, 0)
            heard = clock.now()
            if answer is None:
                silent += 1
                self._require_patience(silent)
                continue
            _, _, _, *times = CLOCK_ANSWER.unpack(answer)
            received, answered = times[:2] if clock is Clock.MONOTONIC else times[2:]
            exchanges.append(Exchange(asked, received, answered, heard))
            time.sleep(interval)
        reading = read_clock(exchanges)
        assert reading is not None
        return reading

    def arrivals(self, session: int) -> list[tuple[int, int, int, int]]:
        """The probes of a session that have arrived there so far, as `ARRIVAL` has them."""
        found: list[tuple[int, int, int, int]] = []
        silent = 0
        while True:
            answer = self._ask(Kind.ARRIVALS, session, len(found))
            if answer is None:
                silent += 1
                self._require_patience(silent)
                continue
            _, _, _, total = ARRIVALS_ANSWER.unpack_from(answer)
            found += ARRIVAL.iter_unpack(answer[ARRIVALS_ANSWER.size :])
            if len(found) >= total:
                return found

    def _ask(self, kind: Kind, subject: int, first: int = 0) -> bytes | None:
        """Asks once; None when no answer to this very question comes in time."""
        self._number += 1
        question = QUESTION.pack(self._token, kind, self._number, subject) + struct.pack("!I", first)
        deadline = time.monotonic() + _PATIENCE
        try:
            self._socket.send(question.ljust(CLOCK_ANSWER.size, b"\0"))
            while time.monotonic() < deadline:
                answer = self._socket.recv(2048)
                if answer[: ARRIVALS_ANSWER.size - 4] == question[: ARRIVALS_ANSWER.size - 4]:
                    return answer
        except (TimeoutError, ConnectionRefusedError):
            time.sleep(_PATIENCE / 10)
        except OSError as error:
            raise NetworkError(f"{self.address} cannot be reached over the underlay: {error.strerror}") from error
        return None

    def _require_patience(self, silent: int) -> None:
        if silent >= _MOST_ATTEMPTS:
            raise NetworkError(
                f"{self.address} does not answer on UDP port {self._socket.getpeername()[1]}: let hosts reach each "
                "other there, past any firewall"
            )
