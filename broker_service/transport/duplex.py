"""Reading and writing of one stream side by side, within the callbacks of the event loop.

Frames that came in are handled within the call that brought them, up to a bound (`_FRAMES_A_TURN`, `SLICE_TIME`) after
which the event loop serves others before the next ones. Frames are written at the end of the callback in which they
became due, as far as the stream has room, and paced (`links.session`): a callback that handles a frame may put many
messages into the queues of several streams, and each stream writes once, when all of them are there. A task that wrote
would cost the event loop a further turn for each frame.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from broker_service.links.session import Pace
from broker_service.service import SLICE_TIME
from record.callbacks import do_nothing
from record.time_units import SECOND

_EARLIEST = 0.0015
"""Seconds by which uvloop may call too early: it cuts the present time to milliseconds, and rounds delays to them."""


_FRAMES_A_TURN = 32
"""Frames that came in and are handled together."""


def seconds_until(at: int) -> float:
    """A delay after which the event loop does not call before `at`, nanoseconds of the monotonic clock.

    A timer that was early would be set anew, for so short a time that the event loop spins.
    """
    return max(0, at - time.monotonic_ns()) / SECOND + _EARLIEST


class DueWrites:
    """The writes that are due at the end of a callback. `with due_writes:` surrounds a callback; a write that becomes
    due elsewhere is made soon."""

    def __init__(self) -> None:
        self.before: Callable[[], None] = do_nothing
        """Called before each write of a stream. Whatever it raises ends that stream, which then writes nothing."""
        self.waiting: list[Callable[[], None]] = []
        """Writes that are due. Within a callback, one more need only be appended."""
        self.callbacks = 0
        """Surrounded callbacks that run now, one within the other."""

    def add(self, write: Callable[[], None], loop: asyncio.AbstractEventLoop) -> None:
        """Has a write made once, outside of callbacks by the event loop, which need not run yet. It must not raise."""
        waiting = self.waiting
        if not waiting and not self.callbacks:
            loop.call_soon(self.make)
        waiting.append(write)

    def __enter__(self) -> None:
        self.callbacks += 1

    def __exit__(self, *_: object) -> None:
        self.callbacks -= 1
        if self.waiting and not self.callbacks:
            self.make()

    def make(self) -> None:
        """Makes the writes that are due, and those that become due meanwhile."""
        waiting = self.waiting
        for write in waiting:
            write()
        waiting.clear()


class Stream(Protocol):
    """A stream of messages in both directions, as its users see it."""

    error: Exception | None
    """Set when the stream cannot be used any more."""
    ended: bool
    """True when the other end will send nothing more."""
    on_arrival: Callable[[], None]
    """Called when a message, the end or an error has come."""
    on_room: Callable[[], None]
    """Called when further messages may be sent, after `send` has returned False."""
    peer: str
    """The other end's address, for logs."""
    reads_on: bool
    """Set by a user that has not read all messages yet, and will without being called."""

    waiting: deque[bytes]
    """Messages that have come. A user takes them from the left; one that does so outside of `on_arrival` calls
    `note_taken` then."""

    def note_taken(self) -> None:
        """Lets the other end send more if no message waits any longer."""

    def send(self, message: bytes, /) -> bool:
        """Sends a message; a part that there is no room for follows later, and none may be sent before `on_room`.

        Returns whether the next message may be sent now.
        """


class StreamClosedError(Exception):
    """The stream cannot continue; the text is the reason."""


class Duplex:
    """One stream from its opening to its end. Subclasses give frames their meaning."""

    def __init__(self, stream: Stream, due_writes: DueWrites) -> None:
        self._stream = stream
        self._due_writes = due_writes
        self._loop = asyncio.get_running_loop()
        self._holding: asyncio.Task[None] | None = None
        """Set while the stream is held up."""
        self._next_turn: asyncio.Handle | None = None
        """Set while frames wait until the event loop has served others."""
        self._end: asyncio.Future[None] = self._loop.create_future()
        """Holds the error by which the stream ends; the first one counts."""
        self._woken = False
        """True when `next_frames` is to be called."""
        self._writable = False
        """True while the stream runs and has room."""
        self._unwritten: deque[bytes] = deque()
        """Frames that the stream had no room for."""
        self._pace: Pace | None = Pace(time.monotonic_ns())
        """Pace of writes; None where the subclass sets `_write_at` itself."""
        self._write_at = 0
        """Time, in nanoseconds of the monotonic clock, from which the next write is allowed."""
        self._pausing: asyncio.TimerHandle | None = None
        """Timer of a write that waits for the time from which it is allowed."""
        self._rested = asyncio.Event()

    def on_frame(self, data: bytes) -> bool:
        """Handles a frame that came in. Whatever it raises ends the stream.

        Returns True when no further frame may be read before `ready` returns; what the other end sends waits there.
        """
        raise NotImplementedError

    def next_frames(self) -> Sequence[bytes]:
        """The next frames to write; none when the stream may rest until `wake`. Whatever it raises ends the stream."""
        raise NotImplementedError

    async def ready(self) -> None:
        """Returns once a further frame may be read."""

    @property
    def idle(self) -> bool:
        """True when all frames so far are written."""
        return self._writable and not self._woken

    def wake(self) -> None:
        """Has `next_frames` called, because there is, or may be, a frame to write."""
        if not self._woken:
            self._woken = True
            due = self._due_writes
            if due.callbacks:
                due.waiting.append(self._write)
            else:
                due.add(self._write, self._loop)

    async def flushed(self) -> None:
        """Returns once all frames so far are written."""
        while not self.idle:
            self._rested.clear()
            await self._rested.wait()

    def close(self, reason: str) -> None:
        """Ends the stream from this end; `run` then raises `StreamClosedError` with this reason."""
        self._finish(StreamClosedError(reason))

    async def run(self) -> None:
        """Returns once the other end has closed the stream.

        Raises `StreamClosedError`, and passes on any error of gRPC or of the handling of a frame.
        """
        stream = self._stream
        stream.on_arrival, stream.on_room = self._handle_frames, self._write_rest
        self._writable = True
        self._write()
        self._handle_waiting()
        try:
            await self._end
        finally:
            stream.on_arrival = stream.on_room = do_nothing
            if self._pausing is not None:
                self._pausing.cancel()
            if self._holding is not None:
                self._holding.cancel()
            if self._next_turn is not None:
                self._next_turn.cancel()

    def _finish(self, error: BaseException | None) -> None:
        if self._end.done():
            return
        if error is None:
            self._end.set_result(None)
        else:
            self._end.set_exception(error)

    # Reading

    def _handle_frames(self) -> None:
        """Handles the frames that have come, within the call that brought them, unless the stream is held up.

        Those beyond a turn are handled when the event loop has served others.
        """
        if self._next_turn is not None:
            return
        stream, due, handled, begin = self._stream, self._due_writes, 0, 0
        waiting = stream.waiting
        try:
            due.callbacks += 1  # as `with due` does, whose three calls would be made for each frame
            try:
                while waiting and self._holding is None and not self._end.done():
                    if handled == 1:
                        begin = time.monotonic_ns()
                    held_up = self.on_frame(waiting.popleft())
                    handled += 1
                    if held_up:
                        self._hold()
                    elif handled >= _FRAMES_A_TURN or (begin and time.monotonic_ns() - begin >= SLICE_TIME):
                        self._next_turn = self._loop.call_soon(self._take_turn)
                        break
            finally:
                due.callbacks -= 1
                if not due.callbacks:
                    for write in due.waiting:
                        write()
                    due.waiting.clear()
        except Exception as error:
            self._finish(error)
            return
        stream.reads_on = self._next_turn is not None
        if not stream.reads_on and self._holding is None and (stream.ended or stream.error is not None):
            self._finish(stream.error)

    def _handle_waiting(self) -> None:
        """Handles frames that came before this call."""
        self._handle_frames()
        self._stream.note_taken()

    def _take_turn(self) -> None:
        self._next_turn = None
        self._handle_waiting()

    def _hold(self) -> None:
        """Reads no further frames for now. A stream that is broken ends without those that it still has."""
        if self._stream.error is not None:
            self._finish(self._stream.error)
            return
        self._holding = asyncio.create_task(self.ready())
        self._holding.add_done_callback(self._go_on)

    def _go_on(self, held: asyncio.Task[None]) -> None:
        self._holding = None
        if held.cancelled():
            return
        if (error := held.exception()) is not None:
            self._finish(error)
        else:
            self._handle_waiting()

    # Writing

    def _write(self) -> None:
        """Writes the next frames, when it is time and the stream has room; otherwise this is called again then."""
        if not self._writable or self._pausing is not None or self._end.done():
            return
        if time.monotonic_ns() < self._write_at:
            self._pausing = self._loop.call_later(seconds_until(self._write_at), self._end_pause)
            return
        self._woken = False
        try:
            self._due_writes.before()
            frames, send = self.next_frames(), self._stream.send
            for number, frame in enumerate(frames, 1):
                if not send(frame):
                    self._writable = False
                    self._unwritten.extend(frames[number:])
                    break
            if frames and self._pace is not None:
                self._write_at = self._pace.take(time.monotonic_ns())
        except Exception as error:
            self._finish(error)
        if self._writable and not self._woken:
            self._rested.set()

    def _write_rest(self) -> None:
        """Writes the frames that the stream had no room for, and then the next ones."""
        if self._writable or self._end.done():
            return
        unwritten, send = self._unwritten, self._stream.send
        try:
            while unwritten:
                if not send(unwritten.popleft()):
                    return
        except Exception as error:
            self._finish(error)
            return
        self._writable = True
        self._write()

    def _end_pause(self) -> None:
        self._pausing = None
        self._write()
