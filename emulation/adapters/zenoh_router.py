"""Eclipse Zenoh: a router for each broker, connected along the overlay's links, on any graph.

The router is in the adapter's own process, as the wheel of Zenoh's Python binding has it: its threads are not Python's.
Publications are sent so that a full queue makes the publisher wait and drops nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import zenoh

from broker_service.config import BrokerConfig
from broker_service.language import Publication, Subscription
from broker_service.routing.systems import ZenohOptions
from emulation.adapters.system import Arrivals, Arrived, SystemEndedError
from emulation.adapters.topics import Filter, filter_for, topic_of, written

_ANY = "*"
_SILENT_HEARTBEATS = 3
"""Heartbeats without a word after which a neighbour has failed, as for brokerlab's own brokers."""


def configuration(config: BrokerConfig) -> Mapping[str, object]:
    """The router's settings, by their paths in Zenoh's configuration."""
    limits = config.limits
    return {
        "mode": "router",
        "listen/endpoints": [f"tcp/{link.local}" for link in config.links if not link.dial],
        "connect/endpoints": [f"tcp/{link.remote}" for link in config.links if link.dial],
        "connect/timeout_ms": -1,  # tries for ever
        "connect/exit_on_failure": False,
        "connect/retry": {
            "period_init_ms": _milliseconds(limits.reconnect_first),
            "period_max_ms": _milliseconds(limits.reconnect_last),
            "period_increase_factor": 2,
        },
        "scouting/multicast/enabled": False,
        "scouting/gossip/enabled": False,
        "transport/link/tx/lease": _milliseconds(_SILENT_HEARTBEATS * limits.heartbeat),
        "transport/link/tx/keep_alive": _SILENT_HEARTBEATS,
        "transport/shared_memory/enabled": False,
    }


class ZenohRouter:
    """A router and its client, as `System`."""

    def __init__(self, config: BrokerConfig) -> None:
        self._attributes = msgspec.convert(config.options, ZenohOptions).topics
        self._settings = zenoh.Config()
        for path, value in configuration(config).items():
            self._settings.insert_json5(path, json.dumps(value))
        self._session: Any = None
        self._arrivals: Arrivals | None = None
        self._subscribers: dict[Filter, Any] = {}

    async def start(self, arrived: Arrived) -> None:
        """Returns once the session with the router is up."""
        self._arrivals = Arrivals(arrived)
        loop = asyncio.get_running_loop()
        try:
            self._session = await loop.run_in_executor(None, partial(zenoh.open, self._settings))
        except zenoh.ZError as error:
            raise SystemEndedError(f"zenoh does not start: {' '.join(str(error).split())}") from error

    def cover(self, subscription: Subscription) -> Filter:
        return filter_for(subscription, self._attributes)

    def watch(self, chosen: Filter) -> None:
        arrivals = self._arrivals
        assert arrivals is not None

        def on_sample(sample: Any) -> None:
            arrivals.put(sample.payload.to_bytes(), chosen)

        self._subscribers[chosen] = self._session.declare_subscriber(written(chosen, _ANY), on_sample)

    def unwatch(self, chosen: Filter) -> None:
        self._subscribers.pop(chosen).undeclare()

    def publish(self, publication: Publication, payload: bytes) -> None:
        topic = written(topic_of(publication, self._attributes), _ANY)
        self._session.put(topic, payload, congestion_control=zenoh.CongestionControl.BLOCK)

    async def ended(self) -> str:
        """Never returns: a router that fails takes this process with it."""
        never: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        return await never

    async def stop(self) -> None:
        if self._session is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._session.close)


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def make(config: BrokerConfig, _directory: Path) -> Any:
    """The system of a broker."""
    return ZenohRouter(config)
