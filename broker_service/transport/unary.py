"""Calls with one request and one reply, served as streams."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from broker_service.transport.server import Handler, ServedStream
from broker_service.transport.status import RpcError, StatusCode

Request = TypeVar("Request", bound=Message)


def unary(request: type[Request], method: Callable[[Request], Awaitable[Message]]) -> Handler:
    """A handler that answers a request of this type with what the method returns; what it raises ends the call."""

    async def serve(stream: ServedStream) -> None:
        data = await stream.read()
        if data is None:
            raise RpcError(StatusCode.INVALID_ARGUMENT, "the call ended without a request")
        try:
            wanted = request.FromString(data)
        except DecodeError:
            raise RpcError(StatusCode.INVALID_ARGUMENT, f"not a {request.DESCRIPTOR.name}") from None
        await stream.write((await method(wanted)).SerializeToString())

    return serve
