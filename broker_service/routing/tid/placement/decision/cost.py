"""Total routing cost TRC of a node whose operands come from different directions (section 4.3).

    TRC(CS) = RC(CS) + sum_i RC_Ni(CS_Ni)
    RC(CS)  = sum_i T_in |P(CS_Ni)| + sum_i T_m |P(CS_Ni)| + sum_i T_out_i |P(CS)|

A time multiplied by a rate is the mean number of messages that are waiting or served (Little's law), so costs have no
unit and add up. The paper states the sum for a join at the broker itself. For a join at a neighbour, every flow is
followed here over the brokers that it passes, each of which counts T_in + T_m for a message that it handles and T_out
for one that it sends:

- A part comes from its neighbour N_i to this broker, and, if another neighbour joins, is relayed to that one.
- The neighbour that joins handles what comes from its own direction, and the parts relayed; those are extra traffic,
  and change its T_in (`queueing`).
- Detections go to where the subscription came from; those of a neighbour pass this broker first. Those that are made
  where the subscription came from need not go there, and whatever way they have from there is the same for all places.

So with equal times everywhere, and far from saturation, the join moves from this broker to the neighbour l of two parts
exactly when |P(l)| > |P(r)| + |P(CS)|.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from broker_service.messages import BrokerId
from broker_service.routing.tid.placement.decision.queueing import BrokerTimes

Flows = Mapping[BrokerId, float]
"""Messages a second by the neighbour that they come from, this broker's own name for its clients."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Times of a broker and its neighbours, as known at that broker."""

    broker: BrokerId
    times: BrokerTimes
    outputs: Mapping[BrokerId, float]
    """T_out of this broker's links, in seconds, by neighbour; 0 for a link that is missing."""
    neighbours: Mapping[BrokerId, BrokerTimes]
    """Reports of the neighbours. One that has not reported yet counts as having this broker's times."""
    previous: BrokerId | None
    """The neighbour that the subscription came from; None for a client of this broker."""
    visited: frozenset[BrokerId] = frozenset()
    """Brokers that the subscription has been at before this one; it never goes to one of them again."""
    candidates: frozenset[BrokerId] = frozenset()
    """Neighbours that are candidates whatever the directions of the parts are."""

    def times_at(self, broker: BrokerId) -> BrokerTimes:
        """Times of this broker or of a neighbour."""
        return self.times if broker == self.broker else self.neighbours.get(broker, self.times)

    def output_to(self, neighbour: BrokerId | None) -> float:
        """Output time T_out of the link to a neighbour, in seconds; 0 for a client of this broker."""
        return 0.0 if neighbour is None else self.outputs.get(neighbour, 0.0)


@dataclass(frozen=True, slots=True)
class TotalCost:
    """Total routing cost (TRC) of a join at one broker."""

    place: BrokerId
    by_broker: Mapping[BrokerId, float]
    """Routing cost (RC) of each broker that takes part."""

    @property
    def total(self) -> float:
        """Infinite where a broker would be saturated."""
        return sum(self.by_broker.values())


def total_cost(place: BrokerId, flows: Flows, detections: float, surroundings: Surroundings) -> TotalCost:
    """Cost of a join of these flows at this broker or at a neighbour, which makes so many detections a second."""
    here, previous = surroundings.broker, surroundings.previous
    own = surroundings.times
    costs: dict[BrokerId, float] = {}
    arriving = sum(rate for source, rate in flows.items() if source != place or place == here)
    costs[here] = _load(own.handling, arriving)
    if place != previous:
        costs[here] += _load(surroundings.output_to(previous), detections)
    if place != here:
        costs[here] += _load(surroundings.output_to(place), arriving)
        joining = surroundings.times_at(place)
        handling = joining.waiting_with(arriving) + joining.service
        costs[place] = _load(handling, sum(flows.values()))
        if place != previous:
            costs[here] += _load(own.handling, detections)
            costs[place] += _load(joining.output, detections)
    for source, rate in flows.items():
        if source not in (here, place):
            times = surroundings.times_at(source)
            costs[source] = _load(times.handling + times.output, rate)
    return TotalCost(place, costs)


def _load(time: float, rate: float) -> float:
    """Messages that wait or are served on average; none come through a saturated broker without any rate."""
    return time * rate if rate else 0.0
