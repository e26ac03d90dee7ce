"""Workloads of integers: the matching ratio, advertised intervals, regions, sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_service.language import Advertisement, Publication, Subscription
from broker_service.language.content import conforms, encode_publication, matches
from broker_service.language.records import recorded_predicate
from scenario.model import Scenario
from scenario.workload.generate import generate
from scenario.workload.integers import IntegerPublishers
from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.workload import Workload

MakeScenario = Callable[..., Scenario]

CYCLIC = {"kind": "cyclic", "brokers": 40, "degree": 3, "link": {"delay": "1ms..50ms"}}


def made(make: MakeScenario, topology: Any = CYCLIC, seed: int = 1, run: str = "20s", **workload: Any) -> Workload:
    fields = {"kind": "integers", "values": 400, "publications": {"rate": "5/s"}, **workload}
    fields.setdefault("subscriptions", {"matching_ratio": "10%"})
    timeline = {"join": "10s", "run": run}
    scenario = make(workload=fields, topology=topology, seed=seed, timeline=timeline)
    return generate(scenario, scenario.overlay())


def of_kind(workload: Workload, kind: OperationKind) -> list[PlannedOperation]:
    return [operation for operation in workload.operations() if operation.operation is kind]


def predicates(operation: PlannedOperation) -> Any:
    return tuple(recorded_predicate(record) for record in operation.predicates or ())


def receivers(workload: Workload) -> list[int]:
    """The number of brokers with a matching subscription, for each publication: every subscription is tried."""
    wanted: dict[str, set[Subscription]] = {}
    for operation in of_kind(workload, OperationKind.SUBSCRIBE):
        wanted.setdefault(operation.broker, set()).add(Subscription(predicates(operation)))
    published = [operation.attributes or {} for operation in of_kind(workload, OperationKind.PUBLISH)]
    different = set().union(*wanted.values())
    counts = {}
    for value in {content["value"] for content in published}:
        content = Publication({"class": "INTEGER", "value": value})
        matching = {each for each in different if matches(each, content)}
        counts[value] = sum(not own.isdisjoint(matching) for own in wanted.values())
    return [counts[content["value"]] for content in published]


@pytest.mark.parametrize("distribution", ["uniform", "zipf", "multimodal", "regional"])
@pytest.mark.parametrize("ratio", [0.02, 0.3])
def test_the_matching_ratio_is_that_of_an_average_publication_and_broker(
    make_scenario: MakeScenario, distribution: str, ratio: float
) -> None:
    workload = made(
        make_scenario,
        distribution=distribution,
        publications={"rate": "5/s", "arrivals": "poisson"},
        subscriptions={"matching_ratio": ratio},
        topology={**CYCLIC, "brokers": 50},
    )
    found = receivers(workload)
    assert sum(found) / len(found) / 50 == pytest.approx(ratio, rel=0.12)
    assert workload.estimate().notifications == pytest.approx(sum(found), rel=0.12)
    assert workload.estimate().subscriptions == len(of_kind(workload, OperationKind.SUBSCRIBE))


def test_a_broker_that_wants_all_has_one_subscription(make_scenario: MakeScenario) -> None:
    workload = made(make_scenario, subscriptions={"matching_ratio": "100%"})
    subscribed = of_kind(workload, OperationKind.SUBSCRIBE)
    assert Counter(operation.client for operation in subscribed) == dict.fromkeys(workload.population.subscribers, 1)
    assert set(receivers(workload)) == {40}


def test_popular_values_are_wanted_by_more_brokers_under_zipf(make_scenario: MakeScenario) -> None:
    def shares(distribution: str) -> list[int]:
        subscribed = of_kind(made(make_scenario, distribution=distribution), OperationKind.SUBSCRIBE)
        return sorted(Counter(predicates(operation)[0].value for operation in subscribed).values())

    assert shares("zipf")[-1] == 40 > 2 * shares("uniform")[-1]


def test_popular_values_are_published_more_often_if_multimodal(make_scenario: MakeScenario) -> None:
    def repeated(distribution: str) -> float:
        published = of_kind(made(make_scenario, distribution=distribution), OperationKind.PUBLISH)
        counts = Counter((operation.attributes or {})["value"] for operation in published)
        return sum(count**2 for count in counts.values()) / sum(counts.values()) ** 2

    assert repeated("multimodal") > 1.3 * repeated("uniform")


def test_near_brokers_want_more_of_a_brokers_values_if_regional(make_scenario: MakeScenario) -> None:
    topology = {"kind": "line", "brokers": 30, "link": {"delay": "10ms"}}
    workload = made(make_scenario, topology, distribution="regional", values=30 * 40)
    at = {client: int(broker[1:]) for client, broker in workload.clients.items()}
    owner = {
        int(low): at[operation.client]
        for operation in of_kind(workload, OperationKind.ADVERTISE)
        for low in [next(each.value for each in predicates(operation) if each.operator.value == ">=")]
    }
    wanted: Counter[int] = Counter()
    for operation in of_kind(workload, OperationKind.SUBSCRIBE):
        value = predicates(operation)[0].value
        wanted[abs(owner[value - value % 40] - at[operation.client])] += 1
    shares = {hops: wanted[hops] / (2 * (30 - hops) * 40) for hops in (1, 2, 4, 8)}
    for hops in (2, 4, 8):
        assert shares[1] / shares[hops] == pytest.approx(hops, rel=0.35), "c / distance"
    assert wanted[0] / (30 * 40) == pytest.approx(shares[1], rel=0.2), "its own as its nearest neighbour's"


def test_publishing_brokers_are_a_share(make_scenario: MakeScenario) -> None:
    workload = made(make_scenario, publications={"rate": "1/s", "brokers": "25%"})
    assert len(workload.population.publishers) == 10
    assert len(set(workload.population.publishers.values())) == 10
    assert list(workload.population.subscribers.values()) == [f"B{number}" for number in range(1, 41)]
    one = made(make_scenario, publications={"rate": "1/s", "brokers": "0.1%"})
    assert len(one.population.publishers) == 1


@given(
    st.sampled_from(["uniform", "zipf", "multimodal", "regional"]),
    st.integers(1, 60),
    st.floats(0.01, 1),
    st.floats(0.001, 1),
    st.integers(0, 1000),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_publications_conform_and_everything_follows_from_the_seed(
    make_scenario: MakeScenario, distribution: str, values: int, advertised: float, ratio: float, seed: int
) -> None:
    topology = {"kind": "ring", "brokers": 5, "link": {"delay": "1ms..9ms"}}
    publications = {"rate": "3/s", "brokers": "60%", "advertised": 1.0 if distribution == "regional" else advertised}
    fields: dict[str, Any] = {
        "distribution": distribution,
        "values": max(values, 3),
        "publications": publications,
        "subscriptions": {"matching_ratio": ratio},
    }
    workload = made(make_scenario, topology, seed, "2s", **fields)
    operations = list(workload.operations())
    again = made(make_scenario, topology, seed, "2s", **fields)
    assert msgspec.json.encode(operations) == msgspec.json.encode(list(again.operations()))
    advertisements: dict[str, list[Advertisement]] = {}
    for operation in operations:
        if operation.operation is OperationKind.ADVERTISE:
            advertisements.setdefault(operation.client, []).append(Advertisement(predicates(operation)))
    for operation in operations:
        if operation.operation is OperationKind.PUBLISH:
            publication = Publication(operation.attributes or {})
            assert any(conforms(publication, each) for each in advertisements[operation.client])
    ids = Counter((operation.client, operation.operation, operation.id) for operation in operations)
    assert set(ids.values()) == {1}
    assert all(workload.clients[operation.client] == operation.broker for operation in operations)


def test_advertised_intervals_have_the_share_and_may_wrap(make_scenario: MakeScenario) -> None:
    workload = made(make_scenario, publications={"rate": "1/s", "advertised": "30%"})
    held: Counter[str] = Counter()
    for operation in of_kind(workload, OperationKind.ADVERTISE):
        low, high = (int(each.value) for each in predicates(operation) if each.attribute == "value")
        assert 0 <= low <= high < 400
        held[operation.client] += high - low + 1
    assert set(held.values()) == {120}
    assert len(of_kind(workload, OperationKind.ADVERTISE)) > 40


@pytest.mark.parametrize(("first", "inside"), [(5, {5, 6, 7}), (9, {9, 0, 1})])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.999999])
def test_a_publisher_of_unpopular_values_stays_in_its_interval(first: int, inside: set[int], share: float) -> None:
    """Popularity is so small there that sums of it do not grow."""
    popularity = np.array([0, 0, 0, 1, 1, 0, 0, 0, 1, 0], dtype=np.float64)
    cumulative = np.concatenate([[0.0], np.cumsum(popularity)])
    publishing = IntegerPublishers(np.array([0]), np.array([first]), np.array([3]), np.array([1.0]), cumulative)
    assert publishing.value(0, share) in inside


def test_contents_are_padded_to_the_size(make_scenario: MakeScenario) -> None:
    workload = made(make_scenario, publications={"rate": "1/s", "size": "200B"})
    published = of_kind(workload, OperationKind.PUBLISH)
    assert {len(encode_publication(Publication(operation.attributes or {}))) for operation in published} == {200}


def test_further_brokers_leave_the_interests_of_the_others(make_scenario: MakeScenario) -> None:
    def interests(brokers: int) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for operation in made(make_scenario, {"kind": "line", "brokers": brokers}).population.subscriptions():
            found.setdefault(operation.client, []).append(operation.predicates)
        return found

    few, many = interests(5), interests(9)
    assert {client: many[client] for client in few} == few


def test_a_thousand_brokers_cost_bytes(make_scenario: MakeScenario) -> None:
    """10% of 2,000 values at 300 brokers: 60,000 subscriptions, of which only the values are held."""
    workload = made(make_scenario, {"kind": "line", "brokers": 300}, values=2000)
    subscriptions = workload.population.subscriptions()
    assert len(subscriptions) == pytest.approx(60_000, rel=0.05)
    assert subscriptions[-1].client == "S300"
    assert np.mean([len(subscriptions[index].predicates or ()) for index in (0, 1000, -1)]) == 1
