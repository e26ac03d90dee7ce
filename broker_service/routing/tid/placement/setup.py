"""The parts of a router that route composite subscriptions, made from its options."""

from __future__ import annotations

from collections.abc import Callable

from broker_service.language import Subscription
from broker_service.routing.common.identifiers import Home
from broker_service.routing.interface import RouterContext
from broker_service.routing.tid.options import TidOptions
from broker_service.routing.tid.placement.confirmation import Confirmations
from broker_service.routing.tid.placement.decision.choice import Choice, divergence, least_cost
from broker_service.routing.tid.placement.decision.measurement import Measurement
from broker_service.routing.tid.placement.detections import Detections
from broker_service.routing.tid.placement.endings import Endings
from broker_service.routing.tid.placement.exchange import Exchange
from broker_service.routing.tid.placement.join_points import JoinPoints
from broker_service.routing.tid.placement.movement import MovementRules
from broker_service.routing.tid.placement.prospects import Prospects
from broker_service.routing.tid.placement.reports import Reports
from broker_service.routing.tid.placement.unit_rows import UnitRows
from broker_service.routing.tid.placement.units import Units
from broker_service.routing.tid.reconciliation import KnownIncarnations
from broker_service.routing.tid.tables import AdvertisementRow, SubscriptionRoutingTable


def make_units(
    context: RouterContext[TidOptions],
    advertisements: SubscriptionRoutingTable,
    incarnations: KnownIncarnations,
    intersects: Callable[[AdvertisementRow, Subscription], bool],
) -> Units:
    """The units of one broker, with an exchange of their own. `intersects` compares an advertisement with a part."""
    options, home = context.options, Home(context.broker, context.incarnation)
    measurement = Measurement(context.links, context.composites.service)
    exchange = Exchange(advertisements, measurement, interval=options.statistics_interval, now=context.now)
    prospects = Prospects(
        context.broker,
        Choice(divergence if options.composites == "topology" else least_cost),
        advertisements=advertisements,
        intersects=intersects,
        exchange=exchange,
        measurement=measurement,
    )
    confirmations = Confirmations(context.broker, context.links, advertisements)
    rows = UnitRows()
    reports = Reports(home, rows, prospects, confirmations)
    join_points = JoinPoints(
        home,
        rows,
        prospects=prospects,
        rules=MovementRules(context.broker, options.placement_interval, options.placement_margin),
        reports=reports,
        now=context.now,
    )
    return Units(
        home,
        rows,
        join_points=join_points,
        reports=reports,
        endings=Endings(rows, prospects, now=context.now, lateness=context.composites.lateness),
        prospects=prospects,
        confirmations=confirmations,
        exchange=exchange,
        detections=Detections(rows, context.composites.report_lost),
        incarnations=incarnations,
    )
