from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.language.composite import And, Atomic, Composite
from broker_service.language.composite_subscription import parts_of
from broker_service.language.notation import parse_composite
from broker_service.messages import BrokerId
from broker_service.routing.tid.placement.decision.choice import (
    Choice,
    Decision,
    Reason,
    Strategy,
    divergence,
    least_cost,
)
from broker_service.routing.tid.placement.decision.cost import Surroundings
from broker_service.routing.tid.placement.decision.queueing import BrokerTimes
from broker_service.routing.tid.placement.rates.cardinality import PartMatches
from tests.broker_service.language.strategies import any_predicates, patterns, unhurried
from tests.broker_service.routing.tid.placement.situations import (
    HERE,
    NEIGHBOURS,
    equal_times,
    rates,
    surroundings,
)
from tests.broker_service.routing.tid.placement.walks import walked_cost

DCSR = Choice(least_cost)
TOPOLOGY = Choice(divergence)
PAIR = parse_composite("{[class,isPresent,'']}&{[class,isPresent,'']}")


def sources_of(*by_part: Mapping[str, float]) -> list[PartMatches]:
    """Parts with these rates by next hop."""
    return [PartMatches(sum(rates.values()), rates) for rates in by_part]


FAST = equal_times(1e-6, "B5")


@pytest.mark.parametrize(
    ("left", "right", "choice", "place", "reason"),
    [
        ({"B1": 9}, {"B1": 1}, DCSR, "B1", Reason.COMMON),
        ({"B1": 9}, {"B2": 4}, DCSR, "B1", Reason.COST),
        ({"B1": 9}, {"B2": 5}, DCSR, HERE, Reason.COST),
        ({"B1": 4}, {"B2": 9}, DCSR, "B2", Reason.COST),
        ({HERE: 9}, {"B2": 1}, DCSR, HERE, Reason.COST),
        ({HERE: 1}, {"B2": 9}, DCSR, "B2", Reason.COST),
        ({"B1": 9}, {"B2": 1}, TOPOLOGY, HERE, Reason.DIVERGENCE),
        ({"B1": 9}, {"B1": 1}, TOPOLOGY, "B1", Reason.COMMON),
        ({"B1": 9}, {"B1": 1, "B2": 1}, DCSR, "B1", Reason.COST),
        ({"B1": 9}, {"B1": 9, "B2": 9}, DCSR, HERE, Reason.COST),
        ({HERE: 1}, {HERE: 1}, DCSR, HERE, Reason.COMMON),
        ({"B1": 1}, {}, DCSR, "B1", Reason.COMMON),
    ],
)
def test_two_parts(left: dict[str, float], right: dict[str, float], choice: Choice, place: str, reason: Reason) -> None:
    decision = choice.decide(PAIR, sources_of(left, right), FAST)
    assert (decision.destinations, decision.reason) == ({place}, reason)


def test_without_any_advertisement_a_unit_waits() -> None:
    decision = DCSR.decide(PAIR, sources_of({}, {}), FAST)
    assert (decision.destinations, decision.reason) == (frozenset(), Reason.UNADVERTISED)


def test_a_part_without_advertisement_takes_no_part_in_the_choice() -> None:
    decision = DCSR.decide(PAIR, sources_of({"B1": 9}, {}), FAST)
    assert decision.rate == 9 and decision.flows == {"B1": 9}


def test_a_unit_never_goes_back() -> None:
    sources = sources_of({"B1": 9}, {"B1": 1})
    decision = DCSR.decide(PAIR, sources, replace(FAST, visited=frozenset({"B1"})))
    assert (decision.destinations, decision.reason) == ({HERE}, Reason.VISITED)
    sources = sources_of({"B1": 9}, {"B2": 1})
    decision = DCSR.decide(PAIR, sources, replace(FAST, visited=frozenset({"B1"})))
    assert decision.destinations == {HERE}
    assert [cost.place for cost in decision.costs] == [HERE, "B2"]


def test_of_equal_costs_this_brokers_wins_and_then_the_smaller_name() -> None:
    nothing = equal_times(0.0, None)
    assert DCSR.decide(PAIR, sources_of({"B1": 9}, {"B2": 1}), nothing).destinations == {HERE}
    three = parse_composite("{[x,isPresent,0]}&{[x,isPresent,0]}&{[x,isPresent,0]}")
    slow_here = replace(nothing, times=BrokerTimes(1.0, 1.0), neighbours={b: BrokerTimes() for b in NEIGHBOURS})
    decision = DCSR.decide(three, sources_of({"B2": 1, "B1": 1}, {"B2": 1}, {"B1": 1}), slow_here)
    assert decision.destinations == {"B1"}


def test_a_saturated_neighbour_never_joins() -> None:
    around = replace(FAST, neighbours={"B1": BrokerTimes(1.0, 1.0)})
    assert DCSR.decide(PAIR, sources_of({"B1": 1000}, {"B2": 0.6}), around).destinations == {HERE}


def test_parts_from_one_direction_count_as_joined_there() -> None:
    """Three parts of ten, ten and one from B1 cost no more than the one that they complete."""
    four = parse_composite("&".join(["{[x,isPresent,0]}"] * 4))
    sources = sources_of({"B1": 10}, {"B1": 10}, {"B1": 1}, {"B2": 3})
    decision = DCSR.decide(four, sources, FAST)
    assert decision.flows == {"B2": 1.0} and decision.destinations == {"B2"}


parts = st.dictionaries(st.sampled_from([HERE, *NEIGHBOURS[:3]]), rates, max_size=3)


@st.composite
def situations(draw: st.DrawFn) -> tuple[Composite, list[PartMatches], Surroundings]:
    pattern = draw(patterns(any_predicates()))
    sources = sources_of(*(draw(parts) for _ in parts_of(pattern)))
    visited = draw(st.frozensets(st.sampled_from(NEIGHBOURS)))
    return pattern, sources, replace(draw(surroundings), visited=visited)


@unhurried
@given(situations())
def test_no_place_costs_less_than_the_one_chosen(situation: tuple[Composite, list[PartMatches], Surroundings]) -> None:
    pattern, sources, around = situation
    decision = DCSR.decide(pattern, sources, around)
    for node in nodes_of(decision):
        if isinstance(node.pattern, Atomic):
            continue
        taking_part = [operand for operand in node.operands if operand.destinations]
        every = {place for operand in taking_part for place in operand.destinations}
        if len(every) == 0:
            assert not node.destinations
            continue
        (chosen,) = node.destinations
        assert chosen not in around.visited
        if len(every) == 1:
            assert chosen in {HERE, *every}
            continue
        flows = naive_flows(node, taking_part)
        costs = {place: walked_cost(place, flows, node.rate, around) for place in {HERE, *every}}
        least = min(cost for place, cost in costs.items() if place not in around.visited)
        assert costs[chosen] == pytest.approx(least)


def nodes_of(decision: Decision) -> list[Decision]:
    return [decision, *(node for operand in decision.operands for node in nodes_of(operand))]


def naive_flows(node: Decision, operands: Sequence[Decision]) -> dict[BrokerId, float]:
    flows: dict[BrokerId, float] = {}
    for place in {place for operand in operands for place in operand.destinations}:
        alone = [operand.rate for operand in operands if operand.destinations == {place}]
        several = [
            operand.flows[place] for operand in operands if len(operand.destinations) > 1 and place in operand.flows
        ]
        joined = (min(alone) if isinstance(node.pattern, And) else sum(alone)) if alone else 0.0
        flows[place] = joined + sum(several)
    return flows


@dataclass(frozen=True)
class Overlay:
    """A random overlay: neighbours, and for each publisher the next hops of its advertisement's tree."""

    neighbours: Mapping[BrokerId, Sequence[BrokerId]]
    trees: Sequence[Mapping[BrokerId, BrokerId]]
    times: Mapping[BrokerId, BrokerTimes]
    rates: Sequence[float]

    def around(self, broker: BrokerId, previous: BrokerId | None, visited: Sequence[BrokerId]) -> Surroundings:
        outputs = {neighbour: self.times[neighbour].output for neighbour in self.neighbours[broker]}
        reports = {neighbour: self.times[neighbour] for neighbour in self.neighbours[broker]}
        return Surroundings(broker, self.times[broker], outputs, reports, previous, frozenset(visited))

    def flows(self, broker: BrokerId, trees: Sequence[int]) -> dict[BrokerId, float]:
        """Matches of a part in these trees' publications, by next hop."""
        rates: dict[BrokerId, float] = {}
        for tree in trees:
            next_hop = self.trees[tree][broker]
            rates[next_hop] = rates.get(next_hop, 0.0) + self.rates[tree]
        return rates


def random_overlay(rng: random.Random) -> Overlay:
    size = rng.randrange(2, 12)
    names = [f"B{number}" for number in range(size)]
    links = {frozenset((names[number], rng.choice(names[:number]))) for number in range(1, size)}
    links |= {frozenset(rng.sample(names, 2)) for _ in range(rng.randrange(size))}
    neighbours = {name: sorted(next(iter(link - {name})) for link in links if name in link) for name in names}
    trees = [random_tree(rng, neighbours, rng.choice(names)) for _ in range(rng.randrange(1, 6))]
    times = {name: BrokerTimes(rng.random() / 100, rng.random() / 100, rng.random() / 100) for name in names}
    return Overlay(neighbours, trees, times, [rng.uniform(0, 50) for _ in trees])


def random_tree(
    rng: random.Random, neighbours: Mapping[BrokerId, Sequence[BrokerId]], root: BrokerId
) -> Mapping[BrokerId, BrokerId]:
    """Next hops towards the root, which is its own."""
    towards, reached = {root: root}, [root]
    while len(towards) < len(neighbours):
        broker = rng.choice(reached)
        new = [neighbour for neighbour in neighbours[broker] if neighbour not in towards]
        if new:
            child = rng.choice(new)
            towards[child] = broker
            reached.append(child)
    return towards


@unhurried
@given(st.randoms(use_true_random=False), st.sampled_from([least_cost, divergence]), patterns(any_predicates()))
def test_a_unit_ends_and_visits_no_broker_twice(rng: random.Random, strategy: Strategy, pattern: Composite) -> None:
    """Trees and costs change at every hop, which is worse than anything an overlay does."""
    overlay = random_overlay(rng)
    bound = [[tree for tree in range(len(overlay.trees)) if rng.random() < 0.7] for _ in parts_of(pattern)]
    choice = Choice(strategy)
    broker, path = rng.choice(sorted(overlay.neighbours)), []
    while True:
        around = overlay.around(broker, path[-1] if path else None, path)
        sources = sources_of(*(overlay.flows(broker, trees) for trees in bound))
        destinations = choice.decide(pattern, sources, around).destinations
        path.append(broker)
        if isinstance(pattern, Atomic) or not destinations or destinations == {broker}:
            break
        (following,) = destinations
        assert following in overlay.neighbours[broker] and following not in path
        broker = following
        trees = [random_tree(rng, overlay.neighbours, next(iter(tree))) for tree in overlay.trees]
        overlay = replace(overlay, trees=trees, rates=[rng.uniform(0, 50) for _ in trees])


def test_the_example_of_the_paper() -> None:
    """Section 4.4: topology-based routing joins at B4, where the sources part; DCSR goes on to B1, past B3."""
    towards_b1 = {"B6": "B5", "B5": "B4", "B4": "B3", "B3": "B1", "B1": "B1", "B2": "B4"}
    towards_b2 = {"B6": "B5", "B5": "B4", "B4": "B2", "B3": "B4", "B1": "B3", "B2": "B2"}
    for choice, expected in [(TOPOLOGY, ["B6", "B5", "B4"]), (DCSR, ["B6", "B5", "B4", "B3", "B1"])]:
        path = ["B6"]
        while True:
            broker, previous = path[-1], path[-2] if len(path) > 1 else None
            around = replace(equal_times(0.001, previous), broker=broker, visited=frozenset(path[:-1]))
            sources = sources_of({towards_b1[broker]: 10}, {towards_b2[broker]: 2})
            (place,) = choice.decide(PAIR, sources, around).destinations
            if place == broker:
                break
            path.append(place)
        assert path == expected


def test_a_neighbour_of_infinite_cost_is_reported_as_such() -> None:
    around = replace(FAST, neighbours={"B1": BrokerTimes(1.0, 1.0)})
    costs = DCSR.decide(PAIR, sources_of({"B1": 1000}, {"B2": 0.6}), around).costs
    assert [cost.place for cost in costs] == [HERE, "B1", "B2"] and costs[1].total == inf
