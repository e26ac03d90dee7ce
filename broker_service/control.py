"""The control service: what a broker says of itself when asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from broker_service.broker import Broker
from broker_service.generated import broker_pb2 as pb
from broker_service.generated import broker_pb2_grpc
from broker_service.links import OverlayLink


class Control(broker_pb2_grpc.BrokerControlServicer):
    """Answers from the broker's own counters. `malformed` and `log_lost` are the shell's."""

    def __init__(self, broker: Broker, malformed: Callable[[], int], log_lost: Callable[[], int]) -> None:
        self._broker = broker
        self._malformed = malformed
        self._log_lost = log_lost

    async def Status(self, request: pb.StatusRequest, _context: Any) -> pb.StatusReply:  # noqa: N802 (gRPC's name)
        """A snapshot."""
        broker = self._broker
        return pb.StatusReply(
            broker=broker.id,
            incarnation=broker.incarnation,
            links=[_link_state(link) for link in broker.links.values()],
            clients=broker.clients,
            published=broker.published,
            delivered=broker.delivered,
            rejected=broker.rejected,
            dropped=broker.dropped,
            tables=msgspec.json.encode(broker.tables()).decode() if request.tables else "",
            malformed=self._malformed(),
            log_lost=self._log_lost(),
        )


def _link_state(link: OverlayLink) -> pb.LinkState:
    return pb.LinkState(
        neighbour=link.neighbour,
        up=link.up,
        queued=link.queue_length,
        in_flight=link.in_flight,
        sent=link.sent,
        received=link.received,
        dropped=link.dropped,
        utilisation=link.utilisation,
    )
