"""Status of brokers: counters and link states, the same from a broker process and from a simulated broker.

Fields have the names of `StatusReply` and `LinkState` in `proto/broker.proto`.
"""

from __future__ import annotations

import msgspec

from broker_service.core.broker import Broker
from broker_service.generated import broker_pb2 as pb
from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import BrokerId


class LinkEndStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One end of a link. Counts are of messages."""

    neighbour: BrokerId
    up: bool = True
    queued: int = 0
    in_flight: int = 0
    """Sent and not yet acknowledged by the neighbour."""
    sent: int = 0
    publications: int = 0
    """Publications among the messages sent."""
    received: int = 0
    """Handled at this end, since the neighbour's present incarnation connected for the first time."""
    dropped: int = 0
    utilisation: float = 1.0
    """The rate into the output queue by the rate sent, at least 1; infinite while the link is down."""


class BrokerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One broker. Counts are since its start."""

    incarnation: int = 1
    clients: int = 0
    published: int = 0
    delivered: int = 0
    rejected: int = 0
    dropped: int = 0
    awaited_timers: int = 0
    """Timers of the router and messages held back by a disturbance, which count as work."""
    held: int = 0
    """Requests of clients that wait because the router holds publishers."""
    links: tuple[LinkEndStatus, ...] = ()

    @property
    def links_up(self) -> int:
        return sum(link.up for link in self.links)

    @property
    def counters(self) -> tuple[int, ...]:
        """Every number that changes when the broker does something: equal twice means that nothing happened between."""
        return (
            self.incarnation, self.clients, self.published, self.delivered, self.rejected, self.dropped,
            *(count for link in self.links for count in (link.sent, link.received, link.dropped)),
        )  # fmt: skip


def status_of(broker: Broker) -> BrokerStatus:
    """Status of a broker that is an object in this process."""
    return BrokerStatus(
        incarnation=broker.incarnation,
        clients=broker.clients,
        published=broker.sessions.published,
        delivered=broker.delivered,
        rejected=broker.sessions.rejected,
        dropped=broker.dropped,
        awaited_timers=broker.awaited_timers,
        held=broker.gate.held,
        links=tuple(map(_status_of_end, broker.links.values())),
    )


def _status_of_end(link: OverlayLink) -> LinkEndStatus:
    return LinkEndStatus(
        neighbour=link.neighbour,
        up=link.up,
        queued=link.queue_length,
        in_flight=len(link.retransmission.in_flight),
        sent=link.sent,
        publications=link.publications,
        received=link.received,
        dropped=link.dropped,
        utilisation=link.utilisation,
    )


def encode_status(status: BrokerStatus) -> pb.StatusReply:
    """A reply with this status and nothing else."""
    return pb.StatusReply(**msgspec.to_builtins(status))


def decode_status(reply: pb.StatusReply) -> BrokerStatus:
    """The status in a reply."""
    links = tuple(msgspec.convert(link, LinkEndStatus, from_attributes=True) for link in reply.links)
    counts = {name: getattr(reply, name) for name in BrokerStatus.__struct_fields__ if name != "links"}
    return BrokerStatus(links=links, **counts)
