"""Semi-probabilistic routing over generated overlays, and routers that are broken on purpose.

Each broken router of `semi_probabilistic_mutants`, and one of the conformance cases (without the prefix `semi-`) that
it fails. The right router passes all of them (`tests/conformance`). No case depends on chance, so a router that takes
the first links in place of random ones fails none; the distribution of choices catches it.

| router | caught by |
|---|---|
| `RemembersNoEvents` | threshold-1-floods |
| `NotifiesOnDuplicates` | threshold-1-floods |
| `KnowsEventsByTheClientsName` | events-of-two-publishers-may-have-one-name |
| `NotifiesAllLocalClients` | only-clients-that-want-an-event-are-notified |
| `NotifiesEveryoneOnTheWay` | only-clients-that-want-an-event-are-notified |
| `NotifiesNobody` | threshold-0-reaches-whom-subscribers-join |
| `PublishesWithoutEffectOnItself` | a-ttl-of-0-notifies-at-home |
| `StopsMatchingAfterThreeHops` | ways-longer-than-the-horizon-match-at-every-broker |
| `CeilingInFloatingPoint` | the-fanout-is-an-exact-ceiling |
| `RoundsDown` | events-wait-for-nothing-that-is-down |
| `CountsOneLinkLessAtThePublisher` | random-hops-have-the-length-of-their-ttl |
| `LimitsAdjacentSubscribers` | adjacent-subscribers-get-all-whatever-the-threshold |
| `AddsRandomLinks` | adjacent-subscribers-do-not-make-room-for-more |
| `IgnoresDistances` | nearer-subscribers-come-first |
| `UsesEveryLinkToASubscriber` | nearer-subscribers-come-first |
| `UsesTheNearestDistanceOnly` | further-distances-fill-up |
| `ChoosesAtRandomOnly` | a-horizon-of-2-steers |
| `TakesTheFirstLinks` | the distribution of choices |
| `SendsBack` | no-event-goes-back |
| `CountsDeadLinks` | events-wait-for-nothing-that-is-down |
| `SparesLeavesWithoutException` | a-leaf-gets-what-it-wants |
| `KeepsLeaves` | a-broker-that-gets-a-second-link-is-no-leaf |
| `KeepsRoutesOfDeadLinks` | a-link-that-was-down-begins-anew |
| `AnnouncesNothingToNewLinks` | links-come-and-go |
| `AnnouncesOnlyItsOwnToNewLinks` | subscriptions-of-others-travel-over-new-links |
| `LeavesSubscriptionsInTheQueue` | a-link-that-was-down-begins-anew |
| `WithdrawsAtOneHopOnly` | a-withdrawal-travels-as-far-as-its-subscription |
| `PassesOnNoLossOfALink` | the-loss-of-a-link-is-passed-on |
| `HorizonOneShort` | a-horizon-of-3-steers |
| `HorizonOneLong` | horizon-0-keeps-subscriptions-at-home |
| `TakesItsOwnSubscriptionsForRoutes` | a-route-round-a-cycle-is-no-way-home |
| `DeterministicHopsAreFree` | deterministic-hops-end-by-their-own-ttl |
| `EveryHopUsesBoth` | random-hops-end-by-their-own-ttl |
| `OneHopTooFew` | a-ttl-counts-links-and-the-last-one-delivers |
| `StopsWhenBothAreUsedUp` | deterministic-hops-end-by-their-own-ttl |
| `TheLastHopDoesNotDeliver` | a-ttl-counts-links-and-the-last-one-delivers |
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
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
from tests.properties.checks import delivered_once_at_each_broker
from tests.properties.semi_probabilistic_mutants import MUTANTS, in_place_of_the_right
from tests.properties.strategies import cases
from tests.properties.trial import Arrivals, run

ROW = "semi-probabilistic"
CASES = {case.id.removeprefix("semi-"): case for case in read(Path("tests/conformance/semi-probabilistic.json"))}
CATCHERS: Mapping[str, str] = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", __doc__ or "", re.MULTILINE))
BY_CASE = {name: catcher for name, catcher in CATCHERS.items() if catcher in CASES}
CHI_SQUARE_OF_3 = 30.66
"""Value that chi-square of 3 degrees of freedom exceeds with a probability of 1e-6."""

unhurried = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])


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


def chi_square_at_a_hub() -> float:
    """Chi-square of the links that a hub of four draws for its events, one for each."""
    star = {"brokers": [f"B{node}" for node in range(5)], "links": [("B0", f"B{node}") for node in range(1, 5)]}
    advertise = {"op": "advertise", "client": "P", "broker": "B0", "id": "a", "text": "[class,eq,'E']"}
    publish = {"op": "publish", "client": "P", "broker": "B0", "text": "[class,'E']", "wait": "0s"}
    steps = [advertise, *({**publish, "id": f"e{number}"} for number in range(1000))]
    options = {"protocols": [ROW], "options": {"threshold": 0.25, "horizon": 0}}
    outcome = run(Case.model_validate({"id": "hub", **star, **options, "steps": steps, "expect": {}}), ROW)
    counts = Counter({name: arrivals.messages for name, arrivals in outcome.arrivals.items() if name != "B0"})
    assert counts.total() == 1000
    return sum((counts[f"B{node}"] - 250) ** 2 / 250 for node in range(1, 5))


def test_a_router_draws_its_links_uniformly() -> None:
    assert chi_square_at_a_hub() < CHI_SQUARE_OF_3


def test_the_table_names_every_broken_router() -> None:
    assert CATCHERS.keys() == MUTANTS.keys()
    assert CATCHERS.keys() - BY_CASE.keys() == {"TakesTheFirstLinks"}


@pytest.mark.source("it breaks compiled classes on purpose, by subclasses")
@pytest.mark.parametrize(("variant", "catcher"), BY_CASE.items())
def test_a_broken_router_fails_its_case(variant: str, catcher: str) -> None:
    case = CASES[catcher]
    assert isinstance(case, Case)
    with in_place_of_the_right(MUTANTS[variant]):
        result = run_case(case, PROTOCOLS[ROW], SimulatedCaseRunner(Arrivals))
    assert result.verdict is CaseVerdict.FAILED


@pytest.mark.source("it breaks compiled classes on purpose, by subclasses")
def test_a_router_that_takes_the_first_links_is_caught_by_their_distribution() -> None:
    with in_place_of_the_right(MUTANTS["TakesTheFirstLinks"]):
        assert chi_square_at_a_hub() > CHI_SQUARE_OF_3
