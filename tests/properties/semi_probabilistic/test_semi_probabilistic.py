"""Semi-probabilistic routing over generated overlays, and routers that are broken on purpose.

Each broken router of `mutants`, and one of the conformance cases (without the prefix `semi-`) that
it fails. The right router passes all of them (`tests/conformance`). No case depends on chance, so routers that draw
wrongly fail none; the distribution of choices catches them, or their independence of each other.

| router | caught by |
|---|---|
| `RemembersNoEvents` | threshold-1-floods |
| `NotifiesOnDuplicates` | threshold-1-floods |
| `KnowsEventsByTheClientsName` | events-of-two-publishers-may-have-one-name |
| `NotifiesAllLocalClients` | only-clients-with-matching-subscriptions-are-notified |
| `NotifiesEveryoneOnTheWay` | only-clients-with-matching-subscriptions-are-notified |
| `NotifiesNobody` | threshold-0-reaches-subscribers-connected-by-subscribers |
| `PublishesWithoutEffectOnItself` | a-ttl-of-0-notifies-at-home |
| `StopsMatchingAfterThreeHops` | flooding-reaches-subscribers-beyond-the-horizon |
| `CeilingInFloatingPoint` | the-fanout-is-an-exact-ceiling |
| `RoundsDown` | events-do-not-wait-for-links-that-are-down |
| `CountsOneLinkLessAtThePublisher` | random-hops-have-the-length-of-their-ttl |
| `LimitsAdjacentSubscribers` | adjacent-subscribers-get-all-whatever-the-threshold |
| `AddsRandomLinks` | adjacent-subscribers-count-towards-the-fanout |
| `IgnoresDistances` | nearer-subscribers-come-first |
| `UsesEveryLinkToASubscriber` | nearer-subscribers-come-first |
| `UsesTheNearestDistanceOnly` | farther-subscribers-fill-up-the-fanout |
| `ChoosesAtRandomOnly` | a-horizon-of-2-leads-to-the-subscriber |
| `TakesTheFirstLinks` | the distribution of choices |
| `DrawsOnceForAllEvents` | the distribution of choices |
| `DrawsEveryLinkInTurn` | the independence of events |
| `DrawsAsOtherBrokersDo` | the independence of brokers |
| `IgnoresThePreference` | the distribution of choices without a preference |
| `HasATenthMoreThreshold` | the-fanout-is-an-exact-ceiling |
| `DropsEveryThirdCopy` | adjacent-subscribers-get-all-whatever-the-threshold |
| `SendsBack` | no-event-returns-over-its-link |
| `CountsDeadLinks` | events-do-not-wait-for-links-that-are-down |
| `SparesLeavesWithoutException` | a-spared-leaf-gets-matching-events-only |
| `KeepsLeaves` | a-broker-that-gets-a-second-link-is-no-leaf |
| `KeepsRoutesOfDeadLinks` | a-link-that-was-down-starts-without-subscriptions |
| `AnnouncesNothingToNewLinks` | links-appear-and-vanish |
| `AnnouncesOnlyItsOwnToNewLinks` | subscriptions-of-others-travel-over-new-links |
| `LeavesSubscriptionsInTheQueue` | a-link-that-was-down-starts-without-subscriptions |
| `SendsLaterWhatAVanishedLinkHeld` | nothing-crosses-a-link-after-it-vanished |
| `WithdrawsAtOneHopOnly` | a-withdrawal-travels-as-far-as-its-subscription |
| `PassesOnNoLossOfALink` | the-loss-of-a-link-is-passed-on |
| `HorizonOneShort` | a-horizon-of-3-leads-to-the-subscriber |
| `HorizonOneLong` | horizon-0-keeps-subscriptions-at-home |
| `TakesItsOwnSubscriptionsForRoutes` | a-subscription-that-returns-round-a-cycle-uses-no-link |
| `DeterministicHopsAreFree` | deterministic-hops-end-by-their-own-ttl |
| `EveryHopUsesBoth` | random-hops-end-by-their-own-ttl |
| `OneHopTooFew` | a-ttl-counts-links-and-the-last-one-delivers |
| `StopsWhenBothAreUsedUp` | deterministic-hops-end-by-their-own-ttl |
| `TheLastHopDoesNotDeliver` | a-ttl-counts-links-and-the-last-one-delivers |
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studies.conformance.model import Case
from studies.conformance.protocols import PROTOCOLS
from studies.conformance.reading import read
from studies.conformance.result import CaseVerdict
from studies.conformance.running import run_case
from studies.conformance.simulated import SimulatedCaseRunner
from tests.proof import tried
from tests.properties.checks import delivered_once_at_each_broker
from tests.properties.semi_probabilistic.mutants.every import MUTANTS
from tests.properties.semi_probabilistic.mutants.mutant import in_place_of_the_right
from tests.properties.strategies import cases
from tests.properties.trial import Arrivals, run

ROW = "semi-probabilistic"
CASES = {case.id.removeprefix("semi-"): case for case in read(Path("tests/conformance/semi-probabilistic.json"))}
CATCHERS: Mapping[str, str] = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", __doc__ or "", re.MULTILINE))
BY_CASE = {name: catcher for name, catcher in CATCHERS.items() if catcher in CASES}
unhurried = settings(deadline=None, max_examples=tried(13), suppress_health_check=[HealthCheck.too_slow])


@st.composite
def graphs(draw: st.DrawFn) -> nx.Graph[int]:
    """Connected graphs of up to 8 brokers."""
    count = draw(st.integers(1, 8))
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from((draw(st.integers(0, node - 1)), node) for node in range(1, count))
    node = st.integers(0, count - 1)
    graph.add_edges_from((a, b) for a, b in draw(st.lists(st.tuples(node, node), max_size=8)) if a != b)
    return graph


def one_event(graph: nx.Graph[int], subscribers: set[int], **options: object) -> Case:
    """An event that B0 publishes when some brokers have a subscriber."""
    return Case.model_validate(
        {
            "id": "one-event",
            "brokers": [f"B{node}" for node in graph],
            "links": [(f"B{a}", f"B{b}") for a, b in graph.edges],
            "protocols": [ROW],
            "options": options,
            "steps": [
                {"op": "advertise", "client": "P", "broker": "B0", "id": "a", "text": "[class,eq,'E']"},
                *(
                    {"op": "subscribe", "client": f"S{node}", "broker": f"B{node}", "id": "s", "text": "[class,eq,'E']"}
                    for node in sorted(subscribers)
                ),
                {"op": "publish", "client": "P", "broker": "B0", "id": "e", "text": "[class,'E']"},
            ],
            "expect": {},
        }
    )


@settings(unhurried)
@given(case=cases())
def test_flooding_notifies_all_who_must_be_once(case: Case) -> None:
    delivered_once_at_each_broker(case, ROW)


@settings(unhurried)
@given(graph=graphs(), horizon=st.integers(0, 3))
def test_flooding_uses_each_link_but_the_one_of_arrival(graph: nx.Graph[int], horizon: int) -> None:
    outcome = run(one_event(graph, set(graph), threshold=1, horizon=horizon), ROW)
    copies = sum(arrivals.publications["e"] for arrivals in outcome.arrivals.values())
    assert copies == 2 * graph.number_of_edges() - (len(graph) - 1)
    assert outcome.got == {f"S{node}": ["e"] for node in graph}


@settings(unhurried)
@given(graph=graphs(), horizon=st.integers(1, 3), data=st.data())
def test_a_threshold_of_0_reaches_what_subscribers_join(
    graph: nx.Graph[int], horizon: int, data: st.DataObject
) -> None:
    subscribers = data.draw(st.sets(st.sampled_from(sorted(graph))))
    outcome = run(one_event(graph, subscribers, threshold=0, horizon=horizon), ROW)
    joined = nx.node_connected_component(graph.subgraph({0, *subscribers}), 0)
    assert outcome.got == {f"S{node}": ["e"] for node in joined & subscribers}


@settings(unhurried)
@given(graph=graphs(), ttl=st.integers(0, 8))
def test_a_ttl_bounds_every_way(graph: nx.Graph[int], ttl: int) -> None:
    outcome = run(one_event(graph, set(graph), threshold=1, horizon=1, ttl=ttl), ROW)
    within = nx.single_source_shortest_path_length(graph, 0, cutoff=ttl)
    assert set(outcome.got) <= {f"S{node}" for node in within}
    assert all(arrivals.hops <= ttl for arrivals in outcome.arrivals.values())


@settings(unhurried)
@given(graph=graphs(), threshold=st.sampled_from([0.1, 0.25, 0.5, 0.9]), horizon=st.integers(1, 3), data=st.data())
def test_who_is_next_to_a_broker_with_the_event_is_notified(
    graph: nx.Graph[int], threshold: float, horizon: int, data: st.DataObject
) -> None:
    subscribers = data.draw(st.sets(st.sampled_from(sorted(graph))))
    outcome = run(one_event(graph, subscribers, threshold=threshold, horizon=horizon), ROW)
    reached = {0, *(node for node in graph if outcome.arrivals[f"B{node}"].publications["e"])}
    due = {node for node in subscribers if node in reached or reached & set(graph[node])}
    assert outcome.got == {f"S{node}": ["e"] for node in due}
    assert all(arrivals.publications["e"] <= graph.degree[int(name[1:])] for name, arrivals in outcome.arrivals.items())


@settings(unhurried)
@given(graph=graphs(), data=st.data())
def test_the_order_in_which_links_are_made_changes_nothing(graph: nx.Graph[int], data: st.DataObject) -> None:
    """All links differ in delay, because the order in which copies arrive at one moment is that of their links."""
    subscribers = data.draw(st.sets(st.sampled_from(sorted(graph))))
    case = one_event(graph, subscribers, threshold=0.5, horizon=2)
    links = [link.model_copy(update={"delay": 2**place / 1e6}) for place, link in enumerate(case.links)]
    orders = tuple(links), tuple(data.draw(st.permutations(links)))
    one, other = (run(case.model_copy(update={"links": order}), ROW) for order in orders)
    assert one.got == other.got
    journeys = ({name: arrivals.journeys for name, arrivals in outcome.arrivals.items()} for outcome in (one, other))
    assert next(journeys) == next(journeys)


def choices_at_hubs(hubs: int, events: int) -> list[list[str]]:
    """The link that each of some hubs draws for each of its own events; no event travels farther.

    A hub has five links; those between hubs are among them.
    """
    ends = [(f"B{hub}", f"B{hub}{leaf}") for hub in range(1, hubs + 1) for leaf in range(5 - (hub < hubs) - (hub > 1))]
    joins = [(f"B{hub}", f"B{hub + 1}") for hub in range(1, hubs)]
    clients = [{"client": f"P{hub}", "broker": f"B{hub}"} for hub in range(1, hubs + 1)]
    steps: list[dict[str, str]] = [
        {"op": "advertise", **client, "id": "a", "text": "[class,eq,'E']"} for client in clients
    ]
    steps += [
        {"op": "publish", **client, "id": f"{client['client']}:{number}", "text": "[class,'E']", "wait": "0s"}
        for number in range(events)
        for client in clients
    ]
    case = {
        "id": "hubs",
        "brokers": sorted({broker for link in [*ends, *joins] for broker in link}),
        "links": [*ends, *joins],
        "protocols": [ROW],
        "options": {"threshold": 0.2, "horizon": 0, "ttl": 1},
        "steps": steps,
        "expect": {},
    }
    drawn: dict[str, str] = {}
    for name, arrivals in run(Case.model_validate(case), ROW).arrivals.items():
        drawn |= {arrival.publication: name for arrival in arrivals.journeys}
    return [[drawn[f"P{hub}:{number}"] for number in range(events)] for hub in range(1, hubs + 1)]


def chi_square(counts: Iterable[int], cells: int) -> float:
    """Chi-square against a uniform distribution over some cells, of which those without any need not be given."""
    found = list(counts)
    expected = sum(found) / cells
    return sum((count - expected) ** 2 / expected for count in found) + (cells - len(found)) * expected


def distribution() -> float:
    """Chi-square of the links that a hub draws for its events."""
    (drawn,) = choices_at_hubs(1, 500)
    return chi_square(Counter(drawn).values(), 5)


def independence_of_events() -> float:
    """Chi-square of the links that a hub draws for two successive events."""
    (drawn,) = choices_at_hubs(1, 500)
    return chi_square(Counter(pairwise(drawn)).values(), 25)


def independence_of_brokers() -> float:
    """Chi-square of the links that two hubs draw for the events of the same number."""
    return chi_square(Counter(zip(*choices_at_hubs(2, 400), strict=True)).values(), 25)


def distribution_without_a_preference() -> float:
    """Chi-square of the matching links, of subscribers two and three hops away, that a broker uses for its events."""
    near = [("B0", "B1"), ("B1", "B2"), ("B0", "B3"), ("B3", "B4"), ("B4", "B5")]
    steps: list[dict[str, str]] = [
        {"op": "advertise", "client": "P", "broker": "B0", "id": "a", "text": "[class,eq,'E']"}
    ]
    for broker in ("B2", "B5"):
        steps.append({"op": "subscribe", "client": broker, "broker": broker, "id": "s", "text": "[class,eq,'E']"})
    publish = {"op": "publish", "client": "P", "broker": "B0", "text": "[class,'E']", "wait": "0s"}
    steps += [{**publish, "id": f"e{number}"} for number in range(200)]
    case = {
        "id": "fork",
        "brokers": [f"B{node}" for node in range(6)],
        "links": near,
        "protocols": [ROW],
        "options": {"threshold": 0.5, "horizon": 3, "ttl": 1, "preference": "none"},
        "steps": steps,
        "expect": {},
    }
    arrivals = run(Case.model_validate(case), ROW).arrivals
    return chi_square([arrivals[broker].publications.total() for broker in ("B1", "B3")], 2)


STATISTICS: Mapping[str, tuple[Callable[[], float], float]] = {
    "the distribution of choices": (distribution, 33.4),
    "the independence of events": (independence_of_events, 74.0),
    "the independence of brokers": (independence_of_brokers, 74.0),
    "the distribution of choices without a preference": (distribution_without_a_preference, 23.9),
}
"""Each with the value that chi-square of 4, 24, 24 and 1 degrees of freedom exceeds with a probability of 1e-6."""


@pytest.mark.parametrize("name", STATISTICS)
def test_a_router_draws_its_links_uniformly_and_independently(name: str) -> None:
    statistic, most = STATISTICS[name]
    assert statistic() < most


def test_the_table_names_every_broken_router() -> None:
    assert CATCHERS.keys() == MUTANTS.keys()
    assert {CATCHERS[name] for name in CATCHERS.keys() - BY_CASE.keys()} == STATISTICS.keys()


@pytest.mark.parametrize(("variant", "catcher"), BY_CASE.items())
def test_a_broken_router_fails_its_case(variant: str, catcher: str) -> None:
    case = CASES[catcher]
    assert isinstance(case, Case)
    with in_place_of_the_right(MUTANTS[variant]):
        result = run_case(case, PROTOCOLS[ROW], SimulatedCaseRunner(Arrivals))
    assert result.verdict is CaseVerdict.FAILED


@pytest.mark.parametrize("variant", sorted(CATCHERS.keys() - BY_CASE.keys()))
def test_a_router_that_draws_wrongly_is_caught_by_statistics(variant: str) -> None:
    statistic, most = STATISTICS[CATCHERS[variant]]
    with in_place_of_the_right(MUTANTS[variant]):
        assert statistic() > most
