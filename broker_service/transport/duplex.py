"""Reading and writing of one stream side by side. Writes are paced (`links.pacing`)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from broker_service.links.pacing import Pace
from broker_service.transport.stream import Stream
from record.time_units import SECOND


class StreamClosedError(Exception):
    """The stream cannot continue; the text is the reason."""


class Duplex:
    """One stream from its opening to its end. Subclasses give frames their meaning."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._idle: asyncio.Future[None] | None = None
        self._reader: asyncio.Task[None] | None = None
        self._reason: str | None = None
        self._rested = asyncio.Event()
        self._pace = Pace(time.monotonic_ns())

    def on_frame(self, data: bytes) -> None:
        """Handles a frame that came in. Whatever it raises ends the stream."""
        raise NotImplementedError

    def next_frames(self) -> Sequence[bytes]:
        """All frames that can be written now; none when the stream may rest until `wake`."""
        raise NotImplementedError

    async def ready(self) -> None:
        """Returns once a further frame may be read; whatever the other end sends meanwhile waits there."""

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
        if self._reason is None:
            self._reason = reason
            if self._reader is not None:
                self._reader.cancel()

    async def run(self) -> None:
        """Returns once the other end has closed the stream.

        Raises `StreamClosedError`, and passes on any error of gRPC or of the handling of a frame.
        """
        reader = self._reader = asyncio.create_task(self._read())
        writer = asyncio.create_task(self._write())
        try:
            await asyncio.wait((reader, writer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            first = reader if reader.done() else writer
            reader.cancel()
            writer.cancel()
        await asyncio.gather(reader, writer, return_exceptions=True)
        if self._reason is not None:
            raise StreamClosedError(self._reason)
        if not first.cancelled() and (error := first.exception()) is not None:
            raise error

    async def _read(self) -> None:
        read = self._stream.read
        while (data := await read()) is not None:
            self.on_frame(data)
            await self.ready()

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
