"""Streams read and written side by side, over a stream made of queues."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence

import pytest

from broker_service.links.session import BURST, FRAME_INTERVAL
from broker_service.service import SLICE_TIME
from broker_service.transport import duplex
from broker_service.transport.connection import UNIX_PEER
from broker_service.transport.duplex import DueWrites, Duplex, StreamClosedError
from record.callbacks import do_nothing
from record.time_units import SECOND
from tests.broker_service.loopback import WITHIN


class QueueStream:
    """Stands in for a gRPC stream."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.ended = False
        self.peer = UNIX_PEER
        self.reads_on = False
        self.on_arrival: Callable[[], None] = do_nothing
        self.waiting: deque[bytes] = deque()
        self.written: asyncio.Queue[bytes] = asyncio.Queue()
        self.on_room: Callable[[], None] = do_nothing
        self.open = True

    def receive(self, message: bytes) -> None:
        self.waiting.append(message)
        self.on_arrival()

    def end(self) -> None:
        self.ended = True
        self.on_arrival()

    def note_taken(self) -> None:
        """Has no window."""

    def send(self, message: bytes) -> bool:
        self.written.put_nowait(message)
        return self.open

    def make_room(self) -> None:
        self.open = True
        self.on_room()


class Echo(Duplex):
    """Writes everything that came in since the last frame as one frame, or as several."""

    def __init__(self, stream: QueueStream) -> None:
        self.due_writes = DueWrites()
        super().__init__(stream, self.due_writes)
        self.waiting = b""
        self.most = sys.maxsize
        """Bytes in a frame."""
        self.all_in = asyncio.Event()
        """Set when a frame "9" came in."""

    def on_frame(self, data: bytes) -> bool:
        if data == b"bad":
            raise ValueError("bad frame")
        self.waiting += data
        if data == b"9":
            self.all_in.set()
        self.wake()
        return False

    def next_frames(self) -> Sequence[bytes]:
        data, self.waiting = self.waiting, b""
        return [data[begin : begin + self.most] for begin in range(0, len(data), self.most)]


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


class Reader(Duplex):
    """Keeps the frames that came in; each takes some seconds of the processor."""

    def __init__(self, stream: QueueStream, seconds: float = 0.0) -> None:
        super().__init__(stream, DueWrites())
        self.frames: list[bytes] = []
        self._seconds = seconds

    def on_frame(self, data: bytes) -> bool:
        self.frames.append(data)
        time.sleep(self._seconds)
        return False

    def next_frames(self) -> Sequence[bytes]:
        return ()


@pytest.mark.parametrize(("seconds", "slice_time", "most"), [(0.0, 1000 * SECOND, 32), (0.006, SLICE_TIME, 2)])
async def test_frames_beyond_a_turn_wait_until_the_event_loop_has_served_others(
    seconds: float, slice_time: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplex, "SLICE_TIME", slice_time)
    stream, at_turns = QueueStream(), list[int]()
    reader = Reader(stream, seconds)
    running = asyncio.create_task(reader.run())
    await asyncio.sleep(0)
    frames = [b"%d" % number for number in range(most * 3)]
    stream.waiting += frames
    stream.receive(b"last")
    for _ in range(4):
        at_turns.append(len(reader.frames))
        stream.on_arrival()  # which must not begin a further turn
        await asyncio.sleep(0)
    assert at_turns == [most, 2 * most, 3 * most, 3 * most + 1]
    assert reader.frames == [*frames, b"last"]
    stream.end()
    await asyncio.wait_for(running, WITHIN)


async def test_all_that_came_before_a_stream_broke_is_handled() -> None:
    stream = QueueStream()
    reader = Reader(stream)
    running = asyncio.create_task(reader.run())
    await asyncio.sleep(0)
    stream.waiting += [b"x"] * 100
    stream.receive(b"last")
    assert stream.reads_on
    stream.error = ConnectionResetError("gone")
    stream.on_arrival()
    with pytest.raises(ConnectionResetError):
        await asyncio.wait_for(running, WITHIN)
    assert not stream.reads_on
    assert len(reader.frames) == 101


async def test_what_frames_rely_on_is_made_to_last_before_they_are_made() -> None:
    stream = QueueStream()
    echo = Echo(stream)
    waiting: list[bytes] = []
    echo.due_writes.before = lambda: waiting.append(echo.waiting)
    running = asyncio.create_task(echo.run())
    stream.receive(b"1")
    await asyncio.wait_for(stream.written.get(), WITHIN)
    assert b"1" in waiting, "the frame was made before"
    stream.end()
    await asyncio.wait_for(running, WITHIN)


async def test_nothing_is_written_that_relies_on_what_could_not_be_made_to_last() -> None:
    def fail() -> None:
        raise OSError("no space left")

    stream = QueueStream()
    echo = Echo(stream)
    running = asyncio.create_task(echo.run())
    stream.receive(b"1")
    await asyncio.wait_for(stream.written.get(), WITHIN)
    echo.due_writes.before = fail
    stream.receive(b"2")
    with pytest.raises(OSError, match="no space left"):
        await asyncio.wait_for(running, WITHIN)
    assert stream.written.empty()


async def test_closing_ends_it_even_when_a_write_is_stuck() -> None:
    stream = QueueStream()
    stream.open = False
    echo = Echo(stream)
    running = asyncio.create_task(echo.run())
    stream.receive(b"1")
    await asyncio.sleep(0)
    echo.close("enough")
    with pytest.raises(StreamClosedError, match="enough"):
        await asyncio.wait_for(running, WITHIN)


async def test_what_comes_while_a_write_is_stuck_travels_together() -> None:
    stream = QueueStream()
    echo = Echo(stream)
    running = asyncio.create_task(echo.run())
    stream.open = False
    for n in range(10):
        stream.receive(str(n).encode())
    await asyncio.wait_for(echo.all_in.wait(), WITHIN)
    stream.make_room()
    written = b""
    frames = 0
    while len(written) < 10:
        written += await asyncio.wait_for(stream.written.get(), WITHIN)
        frames += 1
    assert written == b"0123456789"
    assert frames <= 3
    stream.end()
    await running


async def test_frames_without_room_are_written_when_there_is_room() -> None:
    stream = QueueStream()
    echo = Echo(stream)
    echo.most = 1
    running = asyncio.create_task(echo.run())
    await asyncio.sleep(0)
    stream.open = False
    for frame in (b"012", b"34"):
        stream.receive(frame)
        assert stream.written.qsize() == 1
        assert not echo.idle
    stream.make_room()
    written = [await asyncio.wait_for(stream.written.get(), WITHIN) for _ in range(5)]
    assert written == [b"0", b"1", b"2", b"3", b"4"]
    assert echo.idle
    stream.make_room()
    assert stream.written.empty()
    stream.end()
    await running


async def test_writes_are_paced() -> None:
    stream = QueueStream()
    echo = Echo(stream)
    running = asyncio.create_task(echo.run())
    await asyncio.sleep(0)
    begin = time.monotonic_ns()
    for n in range(100):
        stream.receive(str(n).encode())
    paced = asyncio.create_task(echo.flushed())
    assert BURST <= stream.written.qsize() < BURST + (time.monotonic_ns() - begin) / (FRAME_INTERVAL * SECOND) + 1
    await asyncio.wait_for(paced, WITHIN)
    assert time.monotonic_ns() >= begin + FRAME_INTERVAL * SECOND
    frames = [stream.written.get_nowait() for _ in range(stream.written.qsize())]
    assert b"".join(frames) == "".join(map(str, range(100))).encode()
    stream.end()
    await running


async def test_what_holding_up_raises_ends_the_stream() -> None:
    class HeldUp(Echo):
        def on_frame(self, data: bytes) -> bool:
            super().on_frame(data)
            return True

        async def ready(self) -> None:
            raise ValueError("cannot go on")

    stream = QueueStream()
    stream.receive(b"1")
    with pytest.raises(ValueError, match="cannot go on"):
        await asyncio.wait_for(HeldUp(stream).run(), WITHIN)
