"""The streams of a connection, and the frames that come in for them.

A message of a stream is read in order, and written as far as the other end has room for it. Frames that come in are
divided, handled in turns, and bounded in the work that they cause.
"""

from __future__ import annotations

import asyncio
import functools
import struct
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from h2.exceptions import FrameTooLargeError, ProtocolError

from broker_service.service import SLICE_TIME
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
from broker_service.transport.length_prefix import PREFIX_BYTES, MessageSplitter, pack_prefix, read_prefix
from broker_service.transport.outgoing import Outgoing
from broker_service.transport.status import RpcError, StatusCode
from record.callbacks import do_nothing

STREAM_WINDOW = 1 << 20
"""Bytes that may be in flight on a stream before its reader takes them."""

_pack_headers: Final = struct.Struct(">HBBBLBI").pack
"""Makes the header of a frame (`pack_header`) and the prefix of the message that is all of its data (`pack_prefix`)."""

_ENLARGED_AFTER = 4
"""Part of the window, as its divisor, that is read before the other end's window is enlarged, because a frame for each
message would be wasted."""

CONNECTION_WINDOW = 1 << 30
"""Bytes that may be in flight on all streams of a connection, so that one that is not read does not stop the others."""

LARGEST_FRAME = 1 << 18
"""Bytes; a frame is handled as a whole."""


class RpcStream:
    """One end of a gRPC stream. At most one task reads, or one user takes, and at most one task writes, or one user
    sends.

    The window of the other end is enlarged when no message waits here. So it sends no more than one window beyond the
    messages that were read, and a message larger than the window is taken nevertheless.
    """

    def __init__(
        self, outgoing: Outgoing, number: int, largest: int, peer: str, most_in_flight: int = STREAM_WINDOW
    ) -> None:
        """`number` is HTTP/2's. `largest` is the length, in bytes, that no incoming message may exceed;
        `most_in_flight` are the bytes that may come before they are read."""
        self.number = number
        self.peer = peer
        """The address of the other end, for logs."""
        self.window = 0
        """Bytes that may be sent; negative when the other end has made it smaller."""
        self.error: Exception | None = None
        """Set, to an `RpcError`, when the stream cannot be used any more."""
        self.on_arrival: Callable[[], None] = do_nothing
        """Called when a message, the end or an error has come."""
        self._outgoing = outgoing
        self._most_in_flight = most_in_flight
        self._enlarged_after = most_in_flight // _ENLARGED_AFTER
        self._splitter = MessageSplitter(largest)
        self._largest = largest
        self.waiting: deque[bytes] = deque()
        """Messages that have come and were not taken."""
        self._consumed = 0
        """Bytes that came in since the other end's window was enlarged last."""
        self.ended = False
        """True when the other end will send nothing more."""
        self.reads_on = False
        """Set by a user that has not read all messages yet, and will without being called."""
        self.on_room: Callable[[], None] = do_nothing
        """Called when further messages may be sent, after `send` has returned False."""
        self.begin_response: Callable[[], None] | None = None
        """Sends what has to come before the first message; None when nothing has, or it was sent."""
        self._unsent = b""
        """The part of the latest message that there was no room for."""

    async def read(self) -> bytes | None:
        """The next message; None once the other end has closed the stream. Raises `RpcError` when it is broken."""
        while not self.waiting:
            if self.error is not None:
                raise self.error
            if self.ended:
                return None
            progress = asyncio.get_running_loop().create_future()
            self.on_arrival = functools.partial(_resolve, progress)
            await progress
        message = self.waiting.popleft()
        self.note_taken()
        return message

    def note_taken(self) -> None:
        """Lets the other end send more if no message waits any longer."""
        if not self.waiting and self._consumed >= self._enlarged_after:
            self._enlarge_window()

    async def write(self, message: bytes) -> None:
        """Sends a message, and returns once all of it is sent. Raises `RpcError` when the stream is broken."""
        if not self.send(message):
            room = asyncio.get_running_loop().create_future()
            self.on_room = functools.partial(_resolve, room)
            await room
            if self.error is not None:
                raise self.error

    def send(self, message: bytes) -> bool:
        """Sends a message; a part that there is no room for follows later, and none may be sent before `on_room`.

        Returns whether the next message may be sent now. Raises `RpcError` when the stream is broken.
        """
        if self.begin_response is not None:
            self.begin_response()
        outgoing, number, length = self._outgoing, self.number, len(message)
        size, transport = PREFIX_BYTES + length, outgoing.transport
        if (
            transport is None
            or outgoing.paused
            or size > self.window
            or size > outgoing.window
            or size > outgoing.http2.max_outbound_frame_size
            or number not in outgoing.streams
        ):
            return self._send(pack_prefix(0, length) + message)
        self.window -= size  # the message is one frame, as nearly all are
        outgoing.window -= size
        outgoing.allowance.data += size
        transport.write(_pack_headers(size >> 8, size & 0xFF, DATA, 0, number, 0, length) + message)
        return True

    # Called by the connection

    def receive(self, data: bytes, size: int) -> int:
        """Takes bytes that came in and occupy `size` bytes of the window; a broken stream ignores them. Returns the
        number of messages that they complete.

        Raises `RpcError` as the splitter, and when they exceed the window.
        """
        if self.error is not None:
            return 0
        self._consumed += size
        if self._consumed > self._most_in_flight:
            raise RpcError(StatusCode.INTERNAL, "more data than the window has room for")
        content, waiting, splitter = len(data) - PREFIX_BYTES, self.waiting, self._splitter
        if 0 <= content <= self._largest and not splitter.rest and read_prefix(data) == (0, content):
            waiting.append(data[PREFIX_BYTES:])  # a message that came in one piece, as nearly all do
            completed = 1
        else:
            messages = splitter.split(data)
            waiting += messages
            completed = len(messages)
        if waiting:
            self.on_arrival()
        if not waiting and self._consumed >= self._enlarged_after:
            self._enlarge_window()
        return completed

    def end(self) -> None:
        """Notes that the other end has closed its side."""
        self.ended = True
        self.on_arrival()

    def fail(self, error: RpcError) -> None:
        """Notes that the stream is broken. Messages that came in before can still be read."""
        if self.error is None:
            self.error = error
        self.on_arrival()
        self.on_room()

    def make_room(self) -> None:
        """Sends what there was no room for, because there may be room now."""
        if self._unsent and self._send(self._unsent):
            self.on_room()

    def _send(self, data: bytes) -> bool:
        """Sends data as far as there is room, and keeps the rest. Returns whether all of it is sent."""
        while (sent := self._outgoing.send(self, data)) < len(data):
            data = data[sent:]
            if not sent:
                self._unsent = data
                return False
        self._unsent = b""
        return True

    def _enlarge_window(self) -> None:
        size, self._consumed = self._consumed, 0
        self._outgoing.enlarge_window(self, size)


def _resolve(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


class FrameReader(asyncio.Protocol):
    """The reading half of a connection.

    What came in is handled in turns, between which the event loop serves others; the socket is not read meanwhile. Data
    is handled here, and all frames but data and window updates by h2.
    """

    def __init__(self, preface: int, outgoing: Outgoing, streams: dict[int, RpcStream]) -> None:
        """`preface` is the number of bytes that come before the first frame."""
        self.streams = streams
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
