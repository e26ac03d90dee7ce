"""Asks the brokers of a case how they are, over their control service."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import grpc
import msgspec

from broker_service.generated import broker_pb2 as pb
from broker_service.generated import broker_pb2_grpc
from broker_service.messages import BrokerId
from broker_service.transport import rpc

_LARGEST_REPLY = 1 << 26
"""Bytes; routing tables are in it."""
_ANSWER_WITHIN = 2.0


class Controls:
    """One channel for each broker, made anew after it has failed: gRPC would wait before it tries the old one again."""

    def __init__(self, addresses: Mapping[BrokerId, str]) -> None:
        self._addresses = addresses
        self._channels: dict[BrokerId, grpc.aio.Channel] = {}

    async def ask(self, brokers: list[BrokerId], *, tables: bool = False) -> dict[BrokerId, pb.StatusReply]:
        """What each of these brokers says, all asked at once; those that do not answer are missing."""
        replies = await asyncio.gather(*(self._ask_one(broker, tables) for broker in brokers))
        return {broker: reply for broker, reply in zip(brokers, replies, strict=True) if reply is not None}

    async def tables(self, brokers: list[BrokerId]) -> dict[BrokerId, dict[str, object]]:
        """The routing tables of those that answer."""
        replies = await self.ask(brokers, tables=True)
        return {broker: msgspec.json.decode(reply.tables, type=dict) for broker, reply in replies.items()}

    async def close(self) -> None:
        channels = list(self._channels.values())
        self._channels.clear()
        await asyncio.gather(*(channel.close(None) for channel in channels))

    async def _ask_one(self, broker: BrokerId, tables: bool) -> pb.StatusReply | None:
        channel = self._channels.get(broker)
        if channel is None:
            channel = self._channels[broker] = rpc.channel(self._addresses[broker], _LARGEST_REPLY)
        stub: Any = broker_pb2_grpc.BrokerControlStub(channel)  # type: ignore[no-untyped-call]
        try:
            reply: pb.StatusReply = await stub.Status(pb.StatusRequest(tables=tables), timeout=_ANSWER_WITHIN)
        except grpc.aio.AioRpcError:
            self._channels.pop(broker, None)
            await channel.close(None)
            return None
        return reply
