"""The parts of a router that route composite subscriptions, made from its options."""

from __future__ import annotations

from collections.abc import Callable

from broker_service.language import Subscription
from broker_service.routing.common.identifiers import Home
from broker_service.routing.interface import RouterContext
from broker_service.routing.tid.options import TidOptions
from broker_service.routing.tid.placement.cardinality import paper
from broker_service.routing.tid.placement.choice import Choice, divergence, least_cost
from broker_service.routing.tid.placement.exchange import Exchange
from broker_service.routing.tid.placement.measurement import Measurement
from broker_service.routing.tid.placement.units import Units
from broker_service.routing.tid.reconciliation import KnownIncarnations
from broker_service.routing.tid.tables import AdvertisementRow, SubscriptionRoutingTable


def make_units(
    context: RouterContext[TidOptions],
    advertisements: SubscriptionRoutingTable,
    incarnations: KnownIncarnations,
    intersects: Callable[[AdvertisementRow, Subscription], bool],
) -> Units:
    """The units of one broker, with an exchange of their own; the arguments are as in `Units`."""
    measurement = Measurement(context.links, context.service)
    exchange = Exchange(advertisements, measurement, interval=context.options.statistics_interval, now=context.now)
    return Units(
        Home(context.broker, context.incarnation),
        Choice(divergence if context.options.composites == "topology" else least_cost, paper),
        advertisements=advertisements,
        incarnations=incarnations,
        intersects=intersects,
        exchange=exchange,
        measurement=measurement,
    )
