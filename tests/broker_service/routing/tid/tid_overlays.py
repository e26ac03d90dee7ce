"""TID routing on overlays of broker cores: what several of its tests begin with."""

from __future__ import annotations

from broker_service.language import Predicate
from tests.broker_service.overlay import CoreOverlay

EMPTY = {"subscription_routing_table": {}, "publication_routing_table": {}}


def advertise_over(overlay: CoreOverlay, client: str, broker: str, predicates: tuple[Predicate, ...]) -> None:
    """Advertises at B1 of a ring so that the tree leads to B4 over this broker."""
    overlay.advertise(client, "a", predicates)
    for sender, receiver in (("B1", broker), (broker, "B4")):
        link = overlay.brokers[sender].links[receiver]
        overlay.brokers[receiver].neighbours.receive(sender, link.take())
        link.retransmission.acknowledge(overlay.brokers[receiver].links[sender].received)
    overlay.settle()
