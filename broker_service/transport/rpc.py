"""Byte streams in both directions over gRPC, tuned for few thread switches.

Frames stay bytes here and are decoded by `wire`, so that the broker can count those that cannot be decoded. Channels
and servers are made in this module only, because gRPC reads its environment when the first one is made.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import grpc
from grpc import aio

# With its event engine gRPC hands each incoming frame from a poller thread to a worker thread to the completion queue's
# thread; without, the completion queue's thread polls the socket itself. That halves the thread switches and takes
# about 80 us off a hop.
os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener")

LINK = ("brokerlab.v1.BrokerLink", "Link")
SESSION = ("brokerlab.v1.BrokerClient", "Session")

_LOOKAHEAD = 1 << 20
"""Bytes that may be in flight on a stream before its reader takes them."""

_TUNING = (
    ("grpc.http2.bdp_probe", 0),  # its pings would wake both ends, and travel over the emulated links
    ("grpc.http2.lookahead_bytes", _LOOKAHEAD),
    ("grpc.max_send_message_length", -1),
    ("grpc.compression_enabled_algorithms_bitset", 1),  # none: a small frame must not unpack to a large one
)


EOF: Any = aio.EOF  # type: ignore[attr-defined]
"""The result of reading a stream that the other end has closed."""


class Stream(Protocol):
    """One end of a bidirectional stream: gRPC's call where it was opened, its servicer context at the other end."""

    def read(self) -> Awaitable[Any]:
        """The next frame, or `EOF`."""

    def write(self, message: Any, /) -> Awaitable[None]: ...


def channel(address: str, largest_frame: int) -> aio.Channel:
    """A channel with a connection of its own, so that failures of other channels do not delay it."""
    options = (
        *_TUNING,
        ("grpc.max_receive_message_length", largest_frame),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_http_proxy", 0),
    )
    return aio.insecure_channel(address, options=options)


def dial(opened: aio.Channel, method: tuple[str, str]) -> aio.StreamStreamCall[bytes, bytes]:
    """Opens a stream. Where nothing listens, its first use fails."""
    opening: Any = opened.stream_stream
    call: aio.StreamStreamCall[bytes, bytes] = opening("/{}/{}".format(*method))()
    return call


def server(largest_frame: int, most_calls: int) -> aio.Server:
    """A server that refuses ports in use, frames of more than `largest_frame` bytes and calls beyond `most_calls`."""
    return aio.server(
        options=(*_TUNING, ("grpc.max_receive_message_length", largest_frame), ("grpc.so_reuseport", 0)),
        maximum_concurrent_rpcs=most_calls,
    )


def serve(target: aio.Server, method: tuple[str, str], handler: Callable[[Any, Any], Awaitable[None]]) -> None:
    """Registers `handler(requests, context)` for the streams of a method."""
    service, name = method
    handlers = {name: grpc.stream_stream_rpc_method_handler(handler)}
    target.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))


def cancelled_by_us() -> bool:
    """True when a `CancelledError` is meant for the running task; gRPC raises one, too, when the other end cancels."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
