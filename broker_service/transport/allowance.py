"""Work that the other end of a connection may cause by frames without data, and that is done for it in one turn.

1. Work is counted in units of about 5 us. Frames cost what h2 takes for them (`COSTS`), headers and settings more, the
   more streams are open and the longer they are.
2. A turn ends after `TURN` units, or when the messages in it have taken as long as a slice of one sender may
   (`broker_service.service`); what came in besides waits until the event loop has served all others.
3. Data are what connections are for. Frames without data have an allowance: `BURST` units at first, `RATE` more a
   second, and one for each `JUSTIFIED` bytes of data in either direction, because windows are enlarged for them. An end
   that exceeds it is refused (ENHANCE_YOUR_CALM). RFC 9113, section 10.5, leaves the bounds to each end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError

from broker_service.transport.frames import CONTINUATION, HEADERS, RST_STREAM, SETTINGS, WINDOW_UPDATE

TURN: Final = 256
"""Units of one connection between which the event loop serves others: a millisecond, about."""

BURST: Final = 8_192
"""Units; they are 256 calls at once, or 40 ms of work."""

RATE: Final = 4_096
"""Units a second: 128 calls, or a fiftieth of a processor."""

JUSTIFIED: Final = 4_096
"""Bytes."""

DATA_COST: Final = 1
"""Units of a turn that a frame of data costs, and units of the allowance that it costs when it is empty."""

MESSAGES_A_UNIT: Final = 8
"""Messages in frames of data that cost a unit of a turn until they wait; handling them has turns of its own."""

LEAST_MESSAGE: Final = 32
"""Bytes of data, header included, that justify a message. The allowance pays a unit for each message beyond."""

MOST_STREAMS: Final = 128
"""Streams that a connection may open at a time, because h2 looks through all of them for many frames."""

_COSTS: Final = {HEADERS: 32, RST_STREAM: 8, WINDOW_UPDATE: 1}
_OTHER_COST: Final = 4
_STREAMS_A_UNIT: Final = 4
_HEADER_BYTES_A_UNIT: Final = 2
"""A byte may stand for a whole header that was sent before."""
_BYTES_A_UNIT: Final = 16


class CalmError(ProtocolError):
    """The other end has exceeded its allowance."""

    error_code = ErrorCodes.ENHANCE_YOUR_CALM


def cost_of(kind: int, length: int, streams: int) -> int:
    """Units of a frame without data, of this length, on a connection with this many open streams."""
    cost = _COSTS.get(kind, _OTHER_COST)
    if kind in (HEADERS, SETTINGS):
        cost += streams // _STREAMS_A_UNIT
    return cost + length // (_HEADER_BYTES_A_UNIT if kind in (HEADERS, CONTINUATION) else _BYTES_A_UNIT)


class Allowance:
    """The units of work that one end of a connection has left for frames without data (rule 3)."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        self.data = 0
        """Bytes that have been transferred since they were last counted; whoever transfers them adds them here."""
        self._clock = clock
        self._left = BURST
        self._at = clock()
        """The time up to which `RATE` has been granted."""

    def spend(self, units: int) -> None:
        """Counts work that the other end has caused. Raises `CalmError`."""
        self._left -= units
        if self._left < 0:
            self._grant(units)

    def _grant(self, units: int) -> None:
        now = self._clock()
        granted = int((now - self._at) * RATE) + self.data // JUSTIFIED
        if self._left + granted < 0:
            raise CalmError(f"more than {RATE} units of work a second for frames without data")
        self._left = min(BURST - units, self._left + granted)
        self._at, self.data = now, 0
