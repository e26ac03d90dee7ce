"""Reading and writing of one stream side by side. Writes are paced (`links.pacing`)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from broker_service.links.pacing import Pace
from broker_service.transport.stream import Stream
from record.callbacks import do_nothing
from record.time_units import SECOND


class StreamClosedError(Exception):
    """The stream cannot continue; the text is the reason."""


class Duplex:
    """One stream from its opening to its end. Subclasses give frames their meaning."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._idle: asyncio.Future[None] | None = None
        self._holding: asyncio.Task[None] | None = None
        """Set while the stream is held up."""
        self._end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Holds the error by which the stream ends; the first one counts."""
        self._rested = asyncio.Event()
        self._pace = Pace(time.monotonic_ns())

    def on_frame(self, data: bytes) -> None:
        """Handles a frame that came in. Whatever it raises ends the stream."""
        raise NotImplementedError

    def next_frames(self) -> Sequence[bytes]:
        """All frames that can be written now; none when the stream may rest until `wake`."""
        raise NotImplementedError

    @property
    def held_up(self) -> bool:
        """True when no further frame may be read before `ready` returns; what the other end sends waits there."""
        return False

    async def ready(self) -> None:
        """Returns once a further frame may be read."""

    def pause(self) -> float:
        """Seconds to wait after a write, before the next one; not above 0 where none is needed."""
        now = time.monotonic_ns()
        return (self._pace.take(now) - now) / SECOND

    @property
    def idle(self) -> bool:
        """True when all frames so far are written."""
        return self._idle is not None

    def wake(self) -> None:
        """Has `next_frames` called, because there is, or may be, a frame to write."""
        idle = self._idle
        if idle is not None:
            self._idle = None
            if not idle.done():
                idle.set_result(None)

    async def flushed(self) -> None:
        """Returns once all frames so far are written."""
        while self._idle is None:
            self._rested.clear()
            await self._rested.wait()

    def close(self, reason: str) -> None:
        """Ends the stream from this end; `run` then raises `StreamClosedError` with this reason."""
        self._finish(StreamClosedError(reason))

    async def run(self) -> None:
        """Returns once the other end has closed the stream.

        Raises `StreamClosedError`, and passes on any error of gRPC or of the handling of a frame.
        """
        writer = asyncio.create_task(self._write())
        writer.add_done_callback(self._writer_ended)
        self._stream.on_arrival = self._handle_frames
        self._handle_frames()
        try:
            await self._end
        finally:
            self._stream.on_arrival = do_nothing
            writer.cancel()
            if self._holding is not None:
                self._holding.cancel()
            await asyncio.gather(writer, return_exceptions=True)

    def _handle_frames(self) -> None:
        """Handles the frames that have come, within the call that brought them, unless the stream is held up."""
        stream = self._stream
        try:
            while self._holding is None and not self._end.done() and (data := stream.take()) is not None:
                self.on_frame(data)
                if self.held_up:
                    self._holding = asyncio.create_task(self.ready())
                    self._holding.add_done_callback(self._go_on)
        except Exception as error:
            self._finish(error)
            return
        if self._holding is None and (stream.ended or stream.error is not None):
            self._finish(stream.error)

    def _go_on(self, held: asyncio.Task[None]) -> None:
        self._holding = None
        if held.cancelled():
            return
        if (error := held.exception()) is not None:
            self._finish(error)
        else:
            self._handle_frames()

    def _writer_ended(self, writer: asyncio.Task[None]) -> None:
        if not writer.cancelled():
            self._finish(writer.exception())

    def _finish(self, error: BaseException | None) -> None:
        if self._end.done():
            return
        if error is None:
            self._end.set_result(None)
        else:
            self._end.set_exception(error)

    async def _write(self) -> None:
        write = self._stream.write
        loop = asyncio.get_running_loop()
        while True:
            frames = self.next_frames()
            if not frames:
                self._idle = loop.create_future()
                self._rested.set()
                await self._idle
                continue
            for frame in frames:
                await write(frame)
            if (delay := self.pause()) > 0:
                await asyncio.sleep(delay)
