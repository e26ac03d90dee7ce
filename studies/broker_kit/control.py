"""The kit's client of a broker's control service, and what its counters say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio

from broker_service.generated import broker_pb2 as pb
from studies.broker_kit.failures import RowFailure

ANSWER_WITHIN = 10.0
"""Seconds. The contract has 5, which a busy machine makes longer."""
_SERVICE = "/brokerlab.v1.BrokerControl/"
_HEALTH = "/grpc.health.v1.Health/Check"
_LARGEST_REPLY = 1 << 26


class Control:
    """One broker's control service; a new channel serves each call, because brokers come and go."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def status(self, *, tables: bool = False) -> pb.StatusReply:
        """The broker's counters. Raises `RowFailure` when it does not answer."""
        try:
            return await self.asked(tables=tables)
        except grpc.RpcError as error:
            raise RowFailure(f"Status is not answered: {_in_words(error)}") from None

    async def asked(self, *, tables: bool = False) -> pb.StatusReply:
        """The broker's counters. Raises `grpc.RpcError`."""
        reply = await self.call("Status", pb.StatusRequest(tables=tables).SerializeToString())
        return pb.StatusReply.FromString(reply)

    async def call(self, method: str, request: bytes) -> bytes:
        """Calls a method of the service with bytes. Raises `grpc.RpcError`."""
        return await self._call(_SERVICE + method, request)

    async def health(self) -> bytes:
        """Asks for the health of the whole server. Raises `grpc.RpcError`."""
        return await self._call(_HEALTH, b"")

    async def _call(self, path: str, request: bytes) -> bytes:
        options = (("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", _LARGEST_REPLY))
        async with grpc.aio.insecure_channel(self._address, options=options) as channel:
            method: Any = channel.unary_unary(path, _as_it_is, _as_it_is)
            answer: bytes = await method(request, timeout=ANSWER_WITHIN)
            return answer


def _as_it_is(message: bytes) -> bytes:
    return message


def _in_words(error: grpc.RpcError) -> str:
    known: Any = error
    return f"{known.code().name}, {known.details()}"


@dataclass(frozen=True, slots=True)
class Look:
    """The counters of all brokers at one look."""

    replies: Mapping[str, pb.StatusReply]

    @property
    def counters(self) -> Mapping[str, tuple[int, ...]]:
        """Numbers that change when a broker does anything."""
        return {
            name: (
                reply.incarnation, reply.clients, reply.published, reply.delivered, reply.rejected, reply.dropped,
                *(number for link in reply.links for number in (link.sent, link.received, link.dropped)),
            )
            for name, reply in self.replies.items()
        }  # fmt: skip

    def link(self, broker: str, neighbour: str) -> pb.LinkState | None:
        """A broker's end of a link; None where it names none."""
        return next((link for link in self.replies[broker].links if link.neighbour == neighbour), None)

    def obstacle(self, working: Mapping[tuple[str, str], bool]) -> str:
        """Why the overlay is not at rest; empty when it is. `working` has each end, and whether its link works."""
        for name, reply in self.replies.items():
            if reply.awaited_timers or reply.held:
                return f"{name} awaits {reply.awaited_timers} timers and holds {reply.held} requests"
        for (broker, neighbour), works in working.items():
            if broker not in self.replies:
                continue
            end = self.link(broker, neighbour)
            if end is None:
                return f"{broker} does not name its neighbour {neighbour}"
            if end.up != works:
                return f"the link of {broker} to {neighbour} is {'up' if end.up else 'down'}"
            if not works:
                continue
            other = self.link(neighbour, broker)
            handled = other is not None and not end.queued and end.sent == other.received
            if not handled and (end.queued or end.in_flight):
                return f"{end.queued} messages wait and {end.in_flight} are in flight from {broker} to {neighbour}"
        return ""
