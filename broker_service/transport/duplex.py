"""Reads and writes one stream side by side.

A frame costs far more than a message in it. So frames are paced: a stream writes at once as long as it has credit,
which is used up by a lasting rate of more than one frame in `FRAME_INTERVAL`; from then on what comes within an
interval travels together. An idle or moderately used stream has no delay, a busy one has large frames.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from broker_service.transport.rpc import EOF, Stream

FRAME_INTERVAL = 0.002
"""Seconds between writes on a busy stream."""

BURST = 16.0
"""Writes that an idle stream may make without regard to the interval."""


class StreamClosedError(Exception):
    """The stream cannot go on; the text says why."""


class Pace:
    """When a stream may write: credit grows by one write in `FRAME_INTERVAL`, up to `BURST`."""

    def __init__(self, now: float) -> None:
        self._credit = BURST
        self._earned = now

    def take(self, now: float) -> float:
        """Pays for a write, and returns the seconds that it has to wait."""
        self._credit = min(BURST, self._credit + (now - self._earned) / FRAME_INTERVAL) - 1.0
        self._earned = now
        return -self._credit * FRAME_INTERVAL if self._credit < 0.0 else 0.0


class Duplex:
    """One stream, from after its opening to its end. Subclasses say what frames mean."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._idle: asyncio.Future[None] | None = None
        self._reader: asyncio.Task[None] | None = None
        self._reason: str | None = None
        self._rested = asyncio.Event()
        self._pace = Pace(time.monotonic())

    def on_frame(self, data: bytes) -> None:
        """Handles a frame that came in. Whatever it raises ends the stream."""
        raise NotImplementedError

    def next_frames(self) -> Sequence[bytes]:
        """All that can be written now; nothing when the stream may rest until `wake`."""
        raise NotImplementedError

    async def ready(self) -> None:
        """Returns once a further frame may come in; what the other end sends meanwhile waits there."""

    @property
    def idle(self) -> bool:
        """Whether all frames so far are written."""
        return self._idle is not None

    def wake(self) -> None:
        """There is, or may be, something to write."""
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
        """Ends the stream from this side; `run` then raises `StreamClosedError` with this reason."""
        if self._reason is None:
            self._reason = reason
            if self._reader is not None:
                self._reader.cancel()

    async def run(self) -> None:
        """Returns once the other end has closed the stream.

        Raises `StreamClosedError`, or whatever gRPC or the handling of a frame raised.
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
        while (data := await read()) is not EOF:
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
            delay = self._pace.take(time.monotonic())
            if delay > 0:
                await asyncio.sleep(delay)
