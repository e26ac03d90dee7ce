"""A naive version of the cost model: every flow is walked broker by broker, and each step paid for."""

from __future__ import annotations

from collections.abc import Mapping

from broker_service.messages import BrokerId
from broker_service.routing.tid.placement.decision.cost import Surroundings


def walked_cost(place: BrokerId, flows: Mapping[BrokerId, float], detections: float, around: Surroundings) -> float:
    """Total routing cost of a join at a place."""
    extra = sum(rate for source, rate in flows.items() if source != place)
    total = 0.0
    for source, rate in flows.items():
        total += _walk(_way(source, place, around.broker), rate, place, extra, around)
    if place == around.previous:
        return total
    total += _walk(_way(place, around.broker, around.broker), detections, place, extra, around, handled_first=False)
    if around.previous is not None:
        total += around.outputs.get(around.previous, 0.0) * detections
    return total


def _way(source: BrokerId, place: BrokerId, here: BrokerId) -> list[BrokerId]:
    """Neighbours are joined by this broker only."""
    way = [source]
    for broker in (here, place):
        if broker != way[-1] and source != place:
            way.append(broker)
    return way


def _walk(
    way: list[BrokerId], rate: float, place: BrokerId, extra: float, around: Surroundings, *, handled_first: bool = True
) -> float:
    total = 0.0
    for number, broker in enumerate(way):
        times = around.times if broker == around.broker else around.neighbours.get(broker, around.times)
        if number or handled_first:
            joins_elsewhere = broker == place and broker != around.broker
            waiting = times.waiting_with(extra) if joins_elsewhere else times.waiting
            total += waiting + times.service
        if number + 1 < len(way):
            following = way[number + 1]
            total += around.outputs.get(following, 0.0) if broker == around.broker else times.output
    return total * rate if rate else 0.0
