"""The whole workload: when, where and how much, and the same each time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from broker_service.language import Advertisement, Publication, Subscription
from broker_service.language.content import conforms, matches
from broker_service.language.records import recorded_predicate
from broker_service.language.relations import intersects
from record.time_units import SECOND
from scenario.model import Scenario
from scenario.workload.generate import generate
from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.workload import Workload
from tests.scenario.workload.quotes_population import quotes_of

MakeScenario = Callable[..., Scenario]


def made(scenario: Scenario) -> Workload:
    return generate(scenario, scenario.overlay())


def of_kind(workload: Workload, kind: OperationKind) -> list[PlannedOperation]:
    return [operation for operation in workload.operations() if operation.operation is kind]


def content(operation: PlannedOperation) -> Any:
    return operation.attributes or operation.predicates


def test_one_seed_one_workload(make_scenario: MakeScenario) -> None:
    first, again = (msgspec.json.encode(list(made(make_scenario(seed=3)).operations())) for _ in range(2))
    other = msgspec.json.encode(list(made(make_scenario(seed=4)).operations()))
    assert first == again
    assert first != other


def test_operations_of_one_workload_can_be_read_twice(make_scenario: MakeScenario) -> None:
    workload = made(make_scenario(publications={"arrivals": "poisson"}))
    assert list(workload.operations()) == list(workload.operations())


def test_changing_one_part_leaves_the_others(make_scenario: MakeScenario) -> None:
    base = made(make_scenario())
    more_subscribers = made(make_scenario(subscriptions={"subscribers": 9}))
    assert of_kind(base, OperationKind.PUBLISH) == of_kind(more_subscribers, OperationKind.PUBLISH)
    assert quotes_of(base).subscribing == quotes_of(more_subscribers).subscribing[:6]
    faster = made(make_scenario(publications={"rate": "25/s"}))
    assert quotes_of(base).subscribing == quotes_of(faster).subscribing
    longer = made(make_scenario(timeline={"join": "10s", "run": "60s"}))
    assert quotes_of(base).subscribing == quotes_of(longer).subscribing
    assert [p.broker for p in quotes_of(base).publishing] == [p.broker for p in quotes_of(longer).publishing]


def test_phases_and_order(make_scenario: MakeScenario) -> None:
    workload = made(make_scenario())
    operations = list(workload.operations())
    assert all(a.at <= b.at for a, b in pairwise(operations))
    advertised = [o.at for o in operations if o.operation is OperationKind.ADVERTISE]
    subscribed = [o.at for o in operations if o.operation is OperationKind.SUBSCRIBE]
    published = [o.at for o in operations if o.operation is OperationKind.PUBLISH]
    assert 0 <= min(advertised) < max(advertised) < 5 * SECOND < min(subscribed) < max(subscribed) < 10 * SECOND
    assert 10 * SECOND <= min(published) < max(published) < 40 * SECOND


def test_a_shorter_time_for_advertising_leaves_more_for_subscriptions(make_scenario: MakeScenario) -> None:
    timeline = {"join": "10s", "run": "1s", "advertise": "0.5s"}
    workload = made(make_scenario({"publishers": 40}, {"subscribers": 200}, timeline=timeline))
    advertised = [o.at for o in of_kind(workload, OperationKind.ADVERTISE)]
    subscribed = [o.at for o in of_kind(workload, OperationKind.SUBSCRIBE)]
    assert max(advertised) < 0.5 * SECOND
    assert 1.5 * SECOND <= min(subscribed) < 3 * SECOND < 8 * SECOND < max(subscribed) < 9 * SECOND


def test_a_shorter_time_for_subscribing_leaves_more_for_subscriptions_to_spread(make_scenario: MakeScenario) -> None:
    timeline = {"join": "10s", "run": "1s", "advertise": "0.5s", "subscribe": "2s"}
    subscribed = [o.at for o in of_kind(made(make_scenario(timeline=timeline)), OperationKind.SUBSCRIBE)]
    assert 1.5 * SECOND <= min(subscribed) < 2.5 * SECOND < max(subscribed) <= 3.5 * SECOND


def test_mixed_joining(make_scenario: MakeScenario) -> None:
    timeline = {"join": "10s", "run": "1s", "join_order": "mixed"}
    workload = made(make_scenario({"publishers": 40}, {"subscribers": 40}, timeline=timeline))
    advertised = [o.at for o in of_kind(workload, OperationKind.ADVERTISE)]
    subscribed = [o.at for o in of_kind(workload, OperationKind.SUBSCRIBE)]
    assert min(subscribed) < max(advertised)
    assert max(*subscribed, *advertised) < 10 * SECOND


def test_identifiers_are_unique_per_client(make_scenario: MakeScenario) -> None:
    workload = made(make_scenario(publications={"symbols": 9}, subscriptions={"per_subscriber": 3}))
    seen = Counter((o.client, o.operation, o.id) for o in workload.operations())
    assert set(seen.values()) == {1}
    assert {o.id for o in of_kind(workload, OperationKind.SUBSCRIBE)} == {"s1", "s2", "s3"}
    first = of_kind(workload, OperationKind.PUBLISH)[0]
    assert first.id == f"{first.client}:1"


def test_every_client_stays_at_its_broker(make_scenario: MakeScenario) -> None:
    workload = made(make_scenario())
    assert set(workload.clients) == {*(f"P{n}" for n in range(1, 5)), *(f"S{n}" for n in range(1, 7))}
    assert all(workload.clients[o.client] == o.broker for o in workload.operations())
    assert set(workload.clients.values()) <= {"B1", "B2", "B3", "B4", "B5"}


def test_placements(make_scenario: MakeScenario) -> None:
    listed = made(make_scenario(publications={"placement": ["B5", "B2"]}))
    assert [one.broker for one in quotes_of(listed).publishing] == ["B5", "B2", "B5", "B2"]
    spread = made(make_scenario(subscriptions={"placement": "spread", "subscribers": 10}))
    assert set(Counter(one.broker for one in quotes_of(spread).subscribing).values()) == {2}
    uniform = made(make_scenario(subscriptions={"subscribers": 1000}))
    assert all(150 < count < 250 for count in Counter(one.broker for one in quotes_of(uniform).subscribing).values())


@pytest.mark.parametrize("publications", [{}, {"symbols": 11}, {"publishers_per_symbol": 3}, {"symbols": 1}])
def test_every_publication_conforms_to_its_publisher(make_scenario: MakeScenario, publications: dict[str, Any]) -> None:
    workload = made(make_scenario(publications=publications))
    advertisements: dict[str, list[Advertisement]] = {}
    for operation in of_kind(workload, OperationKind.ADVERTISE):
        predicates = tuple(recorded_predicate(record) for record in operation.predicates or ())
        advertisements.setdefault(operation.client, []).append(Advertisement(predicates))
    for operation in of_kind(workload, OperationKind.PUBLISH):
        publication = Publication(operation.attributes or {})
        assert any(conforms(publication, one) for one in advertisements[operation.client])
        assert list(publication.attributes) == [
            "class", "symbol", "open", "high", "low", "close", "volume", "date"
        ]  # fmt: skip


def test_overlapping_advertisements(make_scenario: MakeScenario) -> None:
    workload = made(make_scenario(publications={"publishers_per_symbol": 3}))
    counted = Counter(series.symbol for one in quotes_of(workload).publishing for series in one.series)
    assert sorted(counted.values()) == [3, 3, 3, 3]


def test_periodic_and_poisson_arrivals_keep_the_rate(make_scenario: MakeScenario) -> None:
    periodic = of_kind(made(make_scenario()), OperationKind.PUBLISH)
    assert len(periodic) == 4 * 10 * 30
    times = [operation.at for operation in periodic if operation.client == "P2"]
    assert {later - earlier for earlier, later in pairwise(times)} <= {99_999_999, 100_000_000, 100_000_001}
    poisson = of_kind(made(make_scenario(publications={"arrivals": "poisson"})), OperationKind.PUBLISH)
    assert 1050 < len(poisson) < 1350
    times = [operation.at for operation in poisson if operation.client == "P2"]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert sum(gap < 50_000_000 for gap in gaps) / len(gaps) == pytest.approx(0.39, abs=0.1)  # 1 - 1/sqrt(e)


def test_each_publisher_draws_its_rate(make_scenario: MakeScenario) -> None:
    workload = made(make_scenario(publications={"rate": "400/min..800/min"}))
    rates = [one.rate for one in quotes_of(workload).publishing]
    assert all(400 / 60 <= rate <= 800 / 60 for rate in rates)
    assert len(set(rates)) == 4


def test_a_late_burst_and_a_leaver(make_scenario: MakeScenario) -> None:
    individually = {"P4": {"rate": "50/s", "joins": "10s", "stops": "14s"}, "P2": {"leaves": "20s"}}
    workload = made(make_scenario(publications={"individually": individually}))
    operations = list(workload.operations())
    assert all(a.at <= b.at for a, b in pairwise(operations))
    of_burst = [(o.operation, o.at / SECOND - 10) for o in operations if o.client == "P4"]
    assert of_burst[0] == (OperationKind.ADVERTISE, 10.0)
    assert all(kind is OperationKind.PUBLISH and 10 <= at < 14 for kind, at in of_burst[1:])
    assert len(of_burst) == 1 + 4 * 50
    of_leaver = [(o.operation, o.at / SECOND - 10) for o in operations if o.client == "P2"]
    assert of_leaver[-1] == (OperationKind.UNADVERTISE, 20.0)
    assert sum(kind is OperationKind.PUBLISH for kind, _ in of_leaver) == 200
    leaving = next(o for o in operations if o.operation is OperationKind.UNADVERTISE)
    assert leaving.id == "a1"
    assert leaving.predicates is None
    assert workload.estimate().publications == sum(o.operation is OperationKind.PUBLISH for o in operations)


def test_individual_publishers_leave_the_others_as_they_were(make_scenario: MakeScenario) -> None:
    base = made(make_scenario())
    burst = made(make_scenario(publications={"individually": {"P4": {"joins": "10s"}}}))
    assert [o for o in base.operations() if o.client == "P1"] == [o for o in burst.operations() if o.client == "P1"]
    assert quotes_of(base).subscribing == quotes_of(burst).subscribing


def test_the_estimate_is_near_what_happens(make_scenario: MakeScenario) -> None:
    scenario = make_scenario(
        {"publishers": 10, "symbols": 30}, {"subscribers": 40, "per_subscriber": 2, "selectivity": 0.05}
    )
    workload = made(scenario)
    estimate = workload.estimate()
    operations = list(workload.operations())
    counted = Counter(operation.operation for operation in operations)
    assert estimate.publications == counted[OperationKind.PUBLISH]
    assert estimate.advertisements == counted[OperationKind.ADVERTISE] == 30
    assert estimate.subscriptions == counted[OperationKind.SUBSCRIBE] == 80
    assert estimate.duration == 41
    wanted: dict[str, list[Subscription]] = {}
    for operation in operations:
        if operation.operation is OperationKind.SUBSCRIBE:
            predicates = tuple(recorded_predicate(record) for record in operation.predicates or ())
            wanted.setdefault(operation.client, []).append(Subscription(predicates))
    notified = sum(
        any(matches(subscription, publication) for subscription in mine)
        for publication in (Publication(o.attributes) for o in operations if o.attributes)
        for mine in wanted.values()
    )
    assert estimate.notifications == pytest.approx(notified, rel=0.1)


def test_many_subscribers_are_made_lazily_enough(make_scenario: MakeScenario) -> None:
    workload = made(make_scenario(subscriptions={"subscribers": 10_000, "selectivity": "0.1%"}))
    subscribed = of_kind(workload, OperationKind.SUBSCRIBE)
    assert len({operation.client for operation in subscribed}) == 10_000
    assert sum(one.expected_share() for one in quotes_of(workload).subscribing) / 10_000 == pytest.approx(
        0.001, rel=0.1
    )


def test_a_burst_comes_on_top_of_the_rate(make_scenario: MakeScenario) -> None:
    base = made(make_scenario())
    burst = {"bursts": [{"at": "5s", "publications": 600, "rate": "200/s"}]}
    workload = made(make_scenario(publications={"individually": {"P4": burst}}))
    times = [o.at / SECOND - 10 for o in of_kind(workload, OperationKind.PUBLISH) if o.client == "P4"]
    assert len(times) == 300 + 600
    assert sum(5 <= time < 8 for time in times) == 600 + 30
    assert times == sorted(times)
    ids = [o.id for o in of_kind(workload, OperationKind.PUBLISH) if o.client == "P4"]
    assert ids == [f"P4:{number}" for number in range(1, 901)]
    assert workload.estimate().publications == len(of_kind(workload, OperationKind.PUBLISH))
    assert [o for o in base.operations() if o.client == "P1"] == [o for o in workload.operations() if o.client == "P1"]
    assert quotes_of(base).subscribing == quotes_of(workload).subscribing


@pytest.mark.parametrize("arrivals", ["periodic", "poisson"])
def test_a_publisher_of_bursts_only(make_scenario: MakeScenario, arrivals: str) -> None:
    """It advertises when the others do, and is silent but for its bursts; one that leaves ends a burst."""
    bursts = [{"at": "5s", "publications": 100, "rate": "50/s"}, {"at": "20s", "publications": 100, "rate": "50/s"}]
    own = {"rate": "0/min", "bursts": bursts, "leaves": "21s"}
    workload = made(make_scenario(publications={"individually": {"P4": own}, "arrivals": arrivals}))
    operations = [o for o in workload.operations() if o.client == "P4"]
    assert operations[0].operation is OperationKind.ADVERTISE
    assert operations[0].at < 5 * SECOND
    times = [o.at / SECOND - 10 for o in operations if o.operation is OperationKind.PUBLISH]
    first, second = [time for time in times if time < 15], [time for time in times if time > 15]
    assert len(first) == 100
    assert 5 <= first[0] < first[-1] < (7 if arrivals == "periodic" else 9)
    assert 20 <= second[0] < second[-1] < 21
    assert 30 <= len(second) <= 70


def test_followers_get_all_of_one_publisher_and_nothing_else(make_scenario: MakeScenario) -> None:
    own = {"rate": "20/s", "quote_class": "BURST", "broker": "B2"}
    followed = {"subscribers": 20, "selectivity": 0.3, "followers": [{"of": "P4", "subscribers": 8}]}
    workload = made(make_scenario({"individually": {"P4": own}, "symbols": 8}, followed))
    assert quotes_of(workload).publishing[3].broker == "B2"
    assert len(quotes_of(workload).subscribing) == 20
    published = {o.id: Publication(o.attributes) for o in workload.operations() if o.attributes}
    for number, subscriber in enumerate(quotes_of(workload).subscribing, start=1):
        assert subscriber.client == f"S{number}"
        wanted = [Subscription(choice.predicates) for choice in subscriber.choices]
        got = {id for id, content in published.items() if any(matches(one, content) for one in wanted)}
        if number <= 12:
            assert not any(id.startswith("P4:") for id in got)
        else:
            assert subscriber.broker != "B2"
            assert got == {id for id in published if id.startswith("P4:")}
            assert subscriber.expected_share() == 0, "of what others publish"
    notified = sum(
        any(matches(Subscription(choice.predicates), content) for choice in one.choices)
        for one in quotes_of(workload).subscribing
        for content in published.values()
    )
    assert workload.estimate().notifications == pytest.approx(notified, rel=0.2)


def test_followers_of_several_symbols_intersect_as_many_advertisements(make_scenario: MakeScenario) -> None:
    """They get all of their publisher's, and what its neighbours by name publish."""
    own = {"rate": "20/s", "quote_class": "BURST"}
    followed = {"subscribers": 2, "followers": [{"of": "P7", "subscribers": 2, "symbols": 4}]}
    workload = made(make_scenario({"publishers": 12, "individually": {"P7": own}}, followed))
    advertised = [Advertisement(tuple(s.advertisement())) for p in quotes_of(workload).publishing for s in p.series]
    published = [(o.client, Publication(o.attributes)) for o in workload.operations() if o.attributes]
    for subscriber in quotes_of(workload).subscribing:
        (wanted,) = (Subscription(choice.predicates) for choice in subscriber.choices)
        assert sum(intersects(one, wanted) for one in advertised) == 4
        got = Counter(client for client, content in published if matches(wanted, content))
        assert got["P7"] == 600
        assert sum(got.values()) == 600 + 3 * 300
        assert subscriber.expected_share() == pytest.approx(3 / 11)
    assert workload.estimate().notifications == 2 * (600 + 3 * 300)


def test_followers_leave_the_others_as_they_were(make_scenario: MakeScenario) -> None:
    base = made(make_scenario(subscriptions={"subscribers": 6}))
    followed = made(make_scenario(subscriptions={"subscribers": 8, "followers": [{"of": "P1", "subscribers": 2}]}))
    assert quotes_of(base).subscribing == quotes_of(followed).subscribing[:6]
    listed = {"subscribers": 3, "followers": [{"of": "P1", "subscribers": 3, "placement": ["B1", "B5"]}]}
    assert [one.broker for one in quotes_of(made(make_scenario(subscriptions=listed))).subscribing] == [
        "B1",
        "B5",
        "B1",
    ]
