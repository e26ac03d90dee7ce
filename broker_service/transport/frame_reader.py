"""Frames that come in over a connection: they are divided, handled in turns, and bounded in the work that they cause.

What came in is handled in turns, between which the event loop serves others; the socket is not read meanwhile. Data is
handled here, and all frames but data and window updates by h2.
"""

from __future__ import annotations

import asyncio
import time

from h2.exceptions import FrameTooLargeError, ProtocolError

from broker_service.service.turns import SLICE_TIME
from broker_service.transport.allowance import DATA_COST, LEAST_MESSAGE, MESSAGES_A_UNIT, TURN, cost_of
from broker_service.transport.frames import (
    DATA,
    END_STREAM,
    HEADER_BYTES,
    INCREMENT_BYTES,
    PADDED,
    STREAM_BITS,
    WINDOW_UPDATE,
    end_of_data,
    read_header,
    read_increment,
    unpadded,
    window_update,
)
from broker_service.transport.status import RpcError
from broker_service.transport.stream import Outgoing, RpcStream

CONNECTION_WINDOW = 1 << 30
"""Bytes that may be in flight on all streams of a connection, so that one that is not read does not stop the others."""

LARGEST_FRAME = 1 << 18
"""Bytes; a frame is handled as a whole."""


class FrameReader(asyncio.Protocol):
    """The reading half of a connection."""

    def __init__(self, preface: int, outgoing: Outgoing) -> None:
        """`preface` is the number of bytes that come before the first frame."""
        self.streams = outgoing.streams
        """Open streams by HTTP/2's number."""
        self.outgoing = outgoing
        """Data of the streams that leaves, within windows that the other end enlarges."""
        self._transport: asyncio.Transport | None = None
        self._allowance = outgoing.allowance
        self._left_alone = False
        """True while the user of the connection wants nothing to be read."""
        self._preface = preface
        """Bytes of the preface that have not come."""
        self._rest = b""
        """Bytes that came in and are not handled."""
        self._begin = 0
        """The place in them up to which they are handled."""
        self._next_turn: asyncio.Handle | None = None
        """Set while frames wait for their next turn."""
        self._unreturned = 0
        """Bytes of data, of all streams, that came in since the last update of this end's window."""

    def pause_reading(self) -> None:
        """Leaves whatever comes in to the kernel, until `resume_reading`."""
        self._left_alone = True
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Undoes `pause_reading`."""
        self._left_alone = False
        if self._transport is not None and self._next_turn is None and not self._transport.is_closing():
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        self._rest = self._rest[self._begin :] + data if self._rest else data
        self._begin = 0
        if self._next_turn is not None:
            return
        try:
            over = self._receive(self._rest)
        except ProtocolError as error:
            self._refused(error)
            return
        transport = self._transport
        if over and transport is not None and not transport.is_closing():
            transport.pause_reading()
            self._next_turn = asyncio.get_running_loop().call_soon(self._take_turn)

    def _stop_reading(self) -> None:
        """Forgets what came in and is not handled."""
        if self._next_turn is not None:
            self._next_turn.cancel()
            self._next_turn = None
        self._rest, self._begin = b"", 0

    def _take_turn(self) -> None:
        """Handles what waits, up to the end of a turn; the socket is not read again before all is handled."""
        transport = self._transport
        self._next_turn = None
        try:
            over = self._receive(self._rest)
        except ProtocolError as error:
            self._refused(error)
            return
        if transport is None or transport.is_closing():
            return
        if over:
            self._next_turn = asyncio.get_running_loop().call_soon(self._take_turn)
        elif not self._left_alone:
            transport.resume_reading()

    def _receive(self, data: bytes) -> bool:
        """Handles complete frames, and returns whether a turn ended before all were. Raises `ProtocolError`."""
        begin, left, ends, allowance = self._begin, TURN, 0, self._allowance
        if self._preface:
            begin += self._receive_preface(data)
        while len(data) - begin >= HEADER_BYTES:
            if left <= 0:
                self._begin = begin
                return True
            high, low, kind, flags, number = read_header(data, begin)
            length, number = high << 8 | low, number & STREAM_BITS
            content = begin + HEADER_BYTES
            end = content + length
            if length > LARGEST_FRAME:
                raise FrameTooLargeError(f"a frame of {length} bytes")
            if end > len(data):
                break
            if kind != DATA or (stream := self.streams.get(number)) is None:
                left -= self._receive_other(kind, length, number, data[begin:end])
                begin = end
                continue
            frame, messages = data[content:end], 0
            allowance.data += length
            if not length:
                allowance.spend(DATA_COST)
            self._unreturned += length
            if self._unreturned > CONNECTION_WINDOW // 2 and self._transport is not None:
                self._transport.write(window_update(0, self._unreturned))
                self._unreturned = 0
            try:
                messages = stream.receive(unpadded(frame) if flags & PADDED else frame, length)
            except RpcError as error:
                self._refuse(stream, error)
            if (beyond := messages - length // LEAST_MESSAGE) > 0:
                allowance.spend(beyond)
            left -= DATA_COST + messages // MESSAGES_A_UNIT
            if messages and end < len(data):
                ends = ends or time.monotonic_ns() + SLICE_TIME
                left = left if time.monotonic_ns() < ends else 0
            if flags & END_STREAM:
                self._receive_odd(end_of_data(number))
            begin = end
        self._rest, self._begin = data[begin:], 0
        return False

    def _receive_preface(self, data: bytes) -> int:
        """Handles what has come of the preface; returns its length."""
        size = min(self._preface, len(data))
        self._preface -= size
        self._receive_odd(data[:size])
        return size

    def _receive_other(self, kind: int, length: int, number: int, frame: bytes) -> int:
        """Handles a frame that brings no data of an open stream. Returns its cost."""
        cost = cost_of(kind, length, len(self.streams))
        self._allowance.spend(cost)
        if kind == WINDOW_UPDATE and length == INCREMENT_BYTES:
            self.outgoing.enlarge(number, read_increment(frame, HEADER_BYTES))
        else:
            self._receive_odd(frame)
        return cost

    # Done by the connection

    def _receive_odd(self, data: bytes) -> None:
        """Has h2 handle a frame."""
        raise NotImplementedError

    def _refuse(self, stream: RpcStream, error: RpcError) -> None:
        """Ends a stream whose data cannot be read."""
        raise NotImplementedError

    def _refused(self, error: ProtocolError) -> None:
        """Closes the connection, because its other end has done what it may not."""
        raise NotImplementedError
