"""gRPC's health service (grpc.health.v1), for a process that serves from its start to its end.

Its messages have one field each, so that they stand here as bytes: the request names a service, and the empty name
stands for the whole server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from broker_service.transport.methods import Method
from broker_service.transport.server import Handler, ServedStream
from broker_service.transport.status import RpcError, StatusCode

_WHOLE_SERVER = b""
"""`HealthCheckRequest` with an empty name."""

_SERVING = b"\x08\x01"
"""`HealthCheckResponse` with the status SERVING."""


async def _check(stream: ServedStream) -> None:
    if await stream.read() != _WHOLE_SERVER:
        raise RpcError(StatusCode.NOT_FOUND, "only the whole server has a health")
    await stream.write(_SERVING)


async def _watch(stream: ServedStream) -> None:
    """Reports a change of the status, which there is none of, until the caller or the server ends."""
    await _check(stream)
    await asyncio.get_running_loop().create_future()


HEALTH: Mapping[Method, Handler] = {
    Method("grpc.health.v1.Health", "Check"): _check,
    Method("grpc.health.v1.Health", "Watch"): _watch,
}
