"""gRPC's own library as the other end of a broker's streams: an independent implementation of what brokers speak."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from grpc import aio

from broker_service.transport.methods import LINK, SESSION, Method

__all__ = ["EOF", "LINK", "SESSION", "channel", "dial", "serve"]

EOF: Any = aio.EOF  # type: ignore[attr-defined]
"""The result of reading a stream that the other end has closed."""


def channel(address: str, largest_frame: int) -> aio.Channel:
    """A channel with a connection of its own, so that failures of other channels do not delay it."""
    options = (
        ("grpc.max_send_message_length", -1),
        ("grpc.max_receive_message_length", largest_frame),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_http_proxy", 0),
    )
    return aio.insecure_channel(address, options=options)


def dial(opened: aio.Channel, method: Method) -> aio.StreamStreamCall[bytes, bytes]:
    """Opens a stream. Where nothing listens, its first use fails."""
    opening: Any = opened.stream_stream
    call: aio.StreamStreamCall[bytes, bytes] = opening(method.path)()
    return call


def serve(target: aio.Server, method: Method, handler: Callable[[Any, Any], Awaitable[None]]) -> None:
    """Registers `handler(requests, context)` for the streams of a method."""
    handlers = {method.name: grpc.stream_stream_rpc_method_handler(handler)}
    target.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(method.service, handlers),))
