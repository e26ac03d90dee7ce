"""A neighbour on the wire between brokers, played by the kit: it opens streams of a link and says what rows want it to.

Its streams reach the broker through a door of this host, because the broker may have a network of its own.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import grpc
import grpc.aio

from broker_service.generated import broker_pb2 as pb
from studies.broker_kit.failures import RowFailure
from studies.broker_kit.programs import Host
from studies.broker_kit.raw_stream import ANSWER_WITHIN

_METHOD = "/brokerlab.v1.BrokerLink/Link"
_CHUNK = 1 << 16
_END: Any = grpc.aio.EOF  # type: ignore[attr-defined]


class Door:
    """A socket of this host, behind which is an address in the network of the brokers."""

    def __init__(self, host: Host, source: str, target: tuple[str, int]) -> None:
        """Connections come from the address `source`."""
        self._host = host
        self._source = source
        self._target = target
        self._folder = tempfile.TemporaryDirectory(prefix="door-")
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.address = f"unix:{Path(self._folder.name) / 'door'}"

    async def open(self) -> None:
        """Listens."""
        self._server = await asyncio.start_unix_server(self._accept, self.address.removeprefix("unix:"))

    async def close(self) -> None:
        """Ends all connections."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._folder.cleanup()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        onward = self._host.make_socket()
        onward.setblocking(False)
        onward.bind((self._source, 0))
        try:
            await asyncio.get_running_loop().sock_connect(onward, self._target)
            other_reader, other_writer = await asyncio.open_connection(sock=onward)
            await asyncio.gather(_carry(reader, other_writer), _carry(other_reader, writer))
        except OSError:
            onward.close()
        finally:
            self._tasks.discard(task)
            writer.close()


async def _carry(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(_CHUNK):
            target.write(data)
            await target.drain()
    target.close()


class RawLink:
    """One stream of a link, opened by the kit."""

    def __init__(self, channel: Any, call: Any) -> None:
        self._channel = channel
        self._call = call
        self._frames: deque[pb.LinkFrame] = deque()
        self._came = asyncio.Event()
        self._over = False
        self._reader = asyncio.create_task(self._read())

    @classmethod
    def open(cls, address: str) -> Self:
        """Opens a stream; nothing is sent on it yet."""
        channel: Any = grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
        method = channel.stream_stream(_METHOD, response_deserializer=pb.LinkFrame.FromString)
        return cls(channel, method(wait_for_ready=True))

    async def send(self, frame: pb.LinkFrame) -> None:
        """Sends a frame. Nothing happens on a stream that has ended."""
        with suppress(grpc.RpcError, asyncio.InvalidStateError, TimeoutError):
            async with asyncio.timeout(ANSWER_WITHIN):
                await self._call.write(frame.SerializeToString())

    async def frame(self, what: str) -> pb.LinkFrame:
        """The next frame, which is to be `what`. Raises `RowFailure` when none comes."""
        await self._until(lambda: bool(self._frames), what)
        return self._frames.popleft()

    async def hello(self) -> pb.Hello:
        """The broker's hello, which is to be the first frame and alone in it."""
        frame = await self.frame("the hello of the broker")
        if not frame.HasField("hello"):
            raise RowFailure("the first frame of the broker on a link is no hello")
        if frame.messages:
            raise RowFailure("the broker's hello has messages beside it")
        return frame.hello

    async def messages(self, count: int) -> Sequence[pb.Message]:
        """The next messages, that many at least."""
        found: list[pb.Message] = []
        while len(found) < count:
            found += (await self.frame(f"message {len(found) + 1} of {count} to a neighbour")).messages
        return found

    async def messages_within(self, seconds: float) -> Sequence[pb.Message]:
        """All messages that come within a time."""
        found: list[pb.Message] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    found += (await self.frame("a frame")).messages
        return found

    async def status(self) -> grpc.StatusCode:
        """The status with which the broker ends the stream."""
        await self._until(lambda: self._over, "the end of the stream")
        code: grpc.StatusCode = await self._call.code()
        return code

    async def close(self) -> None:
        """Closes the connection, as one breaks."""
        self._reader.cancel()
        await self._channel.close()

    async def _until(self, condition: Callable[[], bool], what: str) -> None:
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                while not condition():
                    if self._over:
                        raise RowFailure(f"{what} is due, and the stream has ended: {(await self._call.code()).name}")
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            raise RowFailure(f"{what} is due, and nothing came for {ANSWER_WITHIN:g} s") from None

    async def _read(self) -> None:
        with suppress(grpc.RpcError, asyncio.CancelledError):
            while (frame := await self._call.read()) is not _END:
                self._frames.append(frame)
                self._came.set()
        self._over = True
        self._came.set()
