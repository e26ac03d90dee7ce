"""Asks the brokers how they are, over their control service."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import grpc

from broker_service.generated import broker_pb2, broker_pb2_grpc
from topology.model import BrokerId

_ANSWER_WITHIN = 5.0


@dataclass(frozen=True, slots=True)
class BrokerState:
    """What one broker said of itself."""

    links: int
    links_up: int
    waiting: int
    """Messages queued or unacknowledged on its links."""
    moved: tuple[int, ...]
    """Counters that grow with every message; equal twice means that nothing moved in between."""

    @classmethod
    def of(cls, reply: broker_pb2.StatusReply) -> BrokerState:
        return cls(
            links=len(reply.links),
            links_up=sum(link.up for link in reply.links),
            waiting=sum(link.queued + link.in_flight for link in reply.links),
            moved=(
                reply.published, reply.delivered, reply.rejected, reply.dropped,
                *(link.sent for link in reply.links), *(link.received for link in reply.links),
            ),
        )  # fmt: skip


class OverlayMonitor:
    """Status of all brokers of a variant, by broker."""

    def __init__(self, addresses: Mapping[BrokerId, str]) -> None:
        # gRPC would share one connection among channels of equal options; each broker has its own address anyway.
        self._channels = {broker: grpc.insecure_channel(address) for broker, address in addresses.items()}
        self._stubs = {
            broker: broker_pb2_grpc.BrokerControlStub(channel)  # type: ignore[no-untyped-call]
            for broker, channel in self._channels.items()
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for channel in self._channels.values():
            channel.close()

    def poll(self) -> dict[BrokerId, BrokerState]:
        """Asks every broker at once; those that do not answer are missing from the result."""
        request = broker_pb2.StatusRequest()
        calls = {broker: stub.Status.future(request, timeout=_ANSWER_WITHIN) for broker, stub in self._stubs.items()}
        states: dict[BrokerId, BrokerState] = {}
        for broker, call in calls.items():
            try:
                states[broker] = BrokerState.of(call.result())
            except grpc.RpcError:
                continue
        return states


class QuietWatch:
    """Tells when an overlay has become quiet: nothing waits, and no counter moved between two polls."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[BrokerId, BrokerState] = {}
        self.busy: list[BrokerId] = []
        """Brokers that were not quiet at the latest look."""
        self.quiet_since: float | None = None

    def look(self, states: Mapping[BrokerId, BrokerState]) -> bool:
        """Takes the latest poll; whether every broker was quiet since the one before."""
        self.busy = [
            broker
            for broker, state in states.items()
            if state.waiting or (before := self._last.get(broker)) is None or before.moved != state.moved
        ]
        self.busy += [broker for broker in self._last if broker not in states]
        self._last = dict(states)
        if self.busy:
            self.quiet_since = None
        elif self.quiet_since is None:
            self.quiet_since = self._clock()
        return not self.busy
