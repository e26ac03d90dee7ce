"""Status of brokers: counters and link states, the same from a broker process and from a simulated broker."""

from __future__ import annotations

from dataclasses import dataclass

from broker_service.broker import Broker
from broker_service.messages import BrokerId


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkEndStatus:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStatus:
    """One broker. Counts are since its start."""

    incarnation: int = 1
    clients: int = 0
    published: int = 0
    delivered: int = 0
    rejected: int = 0
    dropped: int = 0
    awaited_timers: int = 0
    """Timers of the router that run now and count as work."""
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
        published=broker.published,
        delivered=broker.delivered,
        rejected=broker.rejected,
        dropped=broker.dropped,
        awaited_timers=broker.timers.awaited,
        held=broker.gate.held,
        links=tuple(
            LinkEndStatus(
                neighbour=link.neighbour,
                up=link.up,
                queued=link.queue_length,
                in_flight=link.in_flight,
                sent=link.sent,
                publications=link.publications,
                received=link.received,
                dropped=link.dropped,
            )
            for link in broker.links.values()
        ),
    )
