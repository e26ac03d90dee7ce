"""The parent of a process that acts for clients: it instructs by standard input and reads reports."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import sys
from collections.abc import Awaitable
from typing import Protocol

import msgspec

from emulation.drivers.instructions import Instruction
from emulation.drivers.status import Report


class ActingNode(Protocol):
    """A node that acts for clients."""

    failed: asyncio.Future[None]
    """Holds the error when it cannot go on."""

    async def open(self) -> None:
        """Begins, and reports as far as it has come."""

    def follow(self, instruction: Instruction) -> None:
        """Does what the parent asks for."""

    async def close(self) -> None:
        """Ends what it does, and its log."""


def report(line: Report) -> None:
    """Prints one JSON line; a reader that has gone does not stop the node."""
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
        sys.stdout.buffer.flush()


async def serve(node: ActingNode) -> None:
    """Serves from the opening of a node to the end of standard input or SIGTERM. Passes on what the node raises."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    try:
        await node.open()
        await _first_end(_listen(node), ended.wait(), node.failed)
    finally:
        await node.close()


async def _first_end(*ends: Awaitable[object]) -> None:
    """Returns when any of these has ended; raises what it raised."""
    tasks = [asyncio.ensure_future(end) for end in ends]
    done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()
    for task in done:
        task.result()


async def _listen(node: ActingNode) -> None:
    """Takes instructions from standard input and returns at its end."""
    mode = os.fstat(sys.stdin.fileno()).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or sys.stdin.isatty()):
        raise OSError("standard input must be a pipe; the start comes through it, its end ends the driver")
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        node.follow(msgspec.json.decode(line, type=Instruction))
