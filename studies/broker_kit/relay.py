"""A link between two brokers that the kit can cut: a relay of TCP streams, which understands none of what it carries.

A link that is cut carries nothing, and no end is told. What was sent meanwhile arrives when the link is back, as TCP's
repetitions do; streams that an end has given up in between are closed by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable

_CHUNK = 1 << 16


class Relay:
    """One link. `make_socket` makes a socket in the network of the brokers."""

    def __init__(
        self, host: str, target: tuple[str, int], delay: float, make_socket: Callable[[], socket.socket]
    ) -> None:
        """Listens on `host` and the port of `target`, and connects from `host` to `target`. `delay` is one way."""
        self._host = host
        self._target = target
        self._delay = delay
        self._make_socket = make_socket
        self._whole = asyncio.Event()
        self._whole.set()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listens."""
        listening = self._make_socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((self._host, self._target[1]))
        self._server = await asyncio.start_server(self._accept, sock=listening)

    def cut(self) -> None:
        """Carries nothing from now on."""
        self._whole.clear()

    def restore(self) -> None:
        """Undoes `cut`."""
        self._whole.set()

    async def close(self) -> None:
        """Ends all streams."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def break_streams(self) -> None:
        """Closes the streams, which the brokers may open again."""
        for task in list(self._tasks):
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._whole.wait()
            onward = self._make_socket()
            onward.setblocking(False)
            onward.bind((self._host, 0))
            try:
                await asyncio.get_running_loop().sock_connect(onward, self._target)
            except OSError:
                onward.close()
                return
            other_reader, other_writer = await asyncio.open_connection(sock=onward)
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._carry(reader, other_writer))
                    group.create_task(self._carry(other_reader, writer))
            finally:
                other_writer.transport.abort()
        except* (OSError, asyncio.IncompleteReadError, _Ended):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        clock = asyncio.get_running_loop().time

        async def deliver() -> None:
            while True:
                at, data = await queue.get()
                await asyncio.sleep(max(0.0, at - clock()))
                await self._whole.wait()
                if not data:
                    with contextlib.suppress(OSError):
                        target.write_eof()
                    raise _Ended
                target.write(data)
                await target.drain()

        async with asyncio.TaskGroup() as group:
            group.create_task(deliver())
            while True:
                data = await source.read(_CHUNK)
                queue.put_nowait((clock() + self._delay, data))
                if not data:
                    return


class _Ended(Exception):  # noqa: N818
    """One end has closed the stream."""
