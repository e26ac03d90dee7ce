"""Declaration of channelization."""

from __future__ import annotations

from broker_service.routing.channelization.options import ChannelizationOptions
from broker_service.routing.channelization.router import ChannelizationRouter
from broker_service.routing.declaration import ConformanceRow, Protocol

PROTOCOL = Protocol(
    ChannelizationRouter,
    ChannelizationOptions,
    full_mesh=True,
    conformance=(ConformanceRow("channelization", {"channels": 3}),),
)
