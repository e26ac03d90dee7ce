"""Streams read and written side by side, over a stream made of queues."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from broker_service.transport.duplex import Duplex, StreamClosedError
from record.callbacks import do_nothing
from tests.broker_service.loopback import WITHIN


class QueueStream:
    """Stands in for a gRPC stream."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.ended = False
        self.on_arrival: Callable[[], None] = do_nothing
        self.incoming: list[bytes] = []
        self.written: asyncio.Queue[bytes] = asyncio.Queue()
        self.open = asyncio.Event()
        self.open.set()

    def receive(self, message: bytes) -> None:
        self.incoming.append(message)
        self.on_arrival()

    def end(self) -> None:
        self.ended = True
        self.on_arrival()

    def take(self) -> bytes | None:
        return self.incoming.pop(0) if self.incoming else None

    async def write(self, message: bytes) -> None:
        await self.open.wait()
        self.written.put_nowait(message)


class Echo(Duplex):
    """Writes everything that came in since the last frame as one frame."""

    def __init__(self, stream: QueueStream) -> None:
        super().__init__(stream)
        self.waiting = b""
        self.all_in = asyncio.Event()
        """Set when a frame "9" came in."""

    def on_frame(self, data: bytes) -> None:
        if data == b"bad":
            raise ValueError("bad frame")
        self.waiting += data
        if data == b"9":
            self.all_in.set()
        self.wake()

    def next_frames(self) -> Sequence[bytes]:
        frame, self.waiting = self.waiting, b""
        return [frame] if frame else []


async def test_it_ends_when_the_other_end_closes() -> None:
    stream = QueueStream()
    stream.end()
    await asyncio.wait_for(Echo(stream).run(), WITHIN)


async def test_frames_are_answered_while_it_runs() -> None:
    stream = QueueStream()
    echo = Echo(stream)
    running = asyncio.create_task(echo.run())
    for frame in (b"1", b"2"):
        stream.receive(frame)
        assert await asyncio.wait_for(stream.written.get(), WITHIN) == frame
    stream.end()
    await asyncio.wait_for(running, WITHIN)


async def test_what_a_frame_raises_ends_it() -> None:
    stream = QueueStream()
    stream.receive(b"bad")
    with pytest.raises(ValueError, match="bad frame"):
        await asyncio.wait_for(Echo(stream).run(), WITHIN)


async def test_closing_ends_it_even_when_a_write_is_stuck() -> None:
    stream = QueueStream()
    stream.open.clear()
    echo = Echo(stream)
    running = asyncio.create_task(echo.run())
    stream.receive(b"1")
    await asyncio.sleep(0)
    echo.close("enough")
    with pytest.raises(StreamClosedError, match="enough"):
        await asyncio.wait_for(running, WITHIN)


async def test_what_comes_while_a_write_is_under_way_travels_together() -> None:
    stream = QueueStream()
    echo = Echo(stream)
    running = asyncio.create_task(echo.run())
    stream.open.clear()
    for n in range(10):
        stream.receive(str(n).encode())
    await asyncio.wait_for(echo.all_in.wait(), WITHIN)
    stream.open.set()
    written = b""
    frames = 0
    while len(written) < 10:
        written += await asyncio.wait_for(stream.written.get(), WITHIN)
        frames += 1
    assert written == b"0123456789"
    assert frames <= 3
    stream.end()
    await running


async def test_what_holding_up_raises_ends_the_stream() -> None:
    class HeldUp(Echo):
        held_up = True

        async def ready(self) -> None:
            raise ValueError("cannot go on")

    stream = QueueStream()
    stream.receive(b"1")
    with pytest.raises(ValueError, match="cannot go on"):
        await asyncio.wait_for(HeldUp(stream).run(), WITHIN)
