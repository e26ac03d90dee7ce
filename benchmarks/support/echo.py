"""A server that sends back what it gets, as a process, over the brokers' own transport or over gRPC's library.

python -m benchmarks.support.echo own|grpcio /path/of/socket
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc
import uvloop
from grpc import aio

from broker_service.grpc_shell.listening import bind
from broker_service.transport.duplex import DueWrites, Duplex, Stream
from broker_service.transport.methods import LINK, UNIX
from broker_service.transport.server import RpcServer, ServedStream, ServerLimits

OWN, GRPCIO = "own", "grpcio"
_LARGEST = 1 << 20


class _Echo(Duplex):
    def __init__(self, stream: Stream) -> None:
        super().__init__(stream, DueWrites())
        self._frames: list[bytes] = []

    def on_frame(self, data: bytes) -> bool:
        self._frames.append(data)
        self.wake()
        return False

    def next_frames(self) -> Sequence[bytes]:
        frames, self._frames = self._frames, []
        return frames


async def _serve_own(path: str) -> None:
    async def serve(stream: ServedStream) -> None:
        await _Echo(stream).run()

    server = RpcServer({LINK: serve}, ServerLimits(_LARGEST, streams=10), lambda _name, _reason: None)
    await server.listen(bind(UNIX + path))
    await asyncio.get_running_loop().create_future()


async def _serve_grpcio(path: str) -> None:
    async def serve(requests: AsyncIterator[bytes], context: Any) -> None:
        async for request in requests:
            await context.write(request)

    server = aio.server()
    handlers = {LINK.name: grpc.stream_stream_rpc_method_handler(serve)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(LINK.service, handlers),))
    server.add_insecure_port(UNIX + path)
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    uvloop.run({OWN: _serve_own, GRPCIO: _serve_grpcio}[sys.argv[1]](sys.argv[2]))
