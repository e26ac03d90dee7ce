"""Workloads of topics: fixed rates, and groups that share topics, join late and churn."""

from __future__ import annotations

import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_service.language import Advertisement, Publication, Subscription
from broker_service.language.content import conforms, matches
from broker_service.language.records import recorded_predicate
from record.time_units import SECOND
from scenario.model import Scenario
from scenario.workload.generate import generate
from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.workload import Workload

MakeScenario = Callable[..., Scenario]


def made(make: MakeScenario, *groups: Any, seed: int = 1, **publications: Any) -> Workload:
    fields = {"topics": 10, "rate": "5/s", **publications}
    scenario = make(
        workload={"kind": "topics", "publications": fields, "subscriptions": groups},
        timeline={"join": "10s", "run": "20s"},
        seed=seed,
    )
    return generate(scenario, scenario.overlay())


def of_kind(workload: Workload, kind: OperationKind) -> list[PlannedOperation]:
    return [operation for operation in workload.operations() if operation.operation is kind]


def predicates(operation: PlannedOperation) -> Any:
    return tuple(recorded_predicate(record) for record in operation.predicates or ())


def topics_wanted(operation: PlannedOperation) -> list[int]:
    wanted = Subscription(predicates(operation))
    return [topic for topic in range(1, 11) if matches(wanted, Publication({"class": "TOPIC", "topic": topic}))]


def test_every_topic_has_its_publisher_and_its_rate(make_scenario: MakeScenario) -> None:
    workload = made(make_scenario, placement=["B1"])
    assert workload.population.publishers == {f"P{topic}": "B1" for topic in range(1, 11)}
    published = of_kind(workload, OperationKind.PUBLISH)
    topics = Counter((operation.client, (operation.attributes or {})["topic"]) for operation in published)
    assert topics == {(f"P{topic}", topic): 100 for topic in range(1, 11)}
    advertised = {o.client: Advertisement(predicates(o)) for o in of_kind(workload, OperationKind.ADVERTISE)}
    assert all(conforms(Publication(o.attributes or {}), advertised[o.client]) for o in published)
    assert workload.estimate().publications == len(published)


def test_a_group_divides_its_topics_in_turn(make_scenario: MakeScenario) -> None:
    workload = made(
        make_scenario,
        {"subscribers": 9, "topics": "3..6"},
        {"subscribers": 4, "topics": "1..9", "topics_each": 4, "placement": ["B2", "B3"]},
        {"subscribers": 2, "topics_each": "all"},
        {"subscribers": 1, "topics": 7},
    )
    subscribed = {o.client: topics_wanted(o) for o in of_kind(workload, OperationKind.SUBSCRIBE)}
    assert list(workload.population.subscribers) == [f"S{number}" for number in range(1, 17)]
    assert [subscribed[f"S{number}"] for number in range(1, 10)] == [[3], [4], [5], [6], [3], [4], [5], [6], [3]]
    assert [subscribed[f"S{number}"] for number in range(10, 14)] == [
        [1, 2, 3, 4], [5, 6, 7, 8], [6, 7, 8, 9], [1, 2, 3, 4]
    ]  # fmt: skip
    assert subscribed["S14"] == subscribed["S15"] == list(range(1, 11))
    assert subscribed["S16"] == [7]
    assert [workload.clients[f"S{number}"] for number in range(10, 14)] == ["B2", "B3", "B2", "B3"]


def test_a_group_that_joins_late_subscribes_in_the_run_phase(make_scenario: MakeScenario) -> None:
    late = {"subscribers": 50, "joins": "4s..6s"}
    workload = made(make_scenario, {"subscribers": 5}, late)
    at = {o.client: o.at / SECOND - 10 for o in of_kind(workload, OperationKind.SUBSCRIBE)}
    assert all(at[f"S{number}"] < 0 for number in range(1, 6))
    times = sorted(at[f"S{number}"] for number in range(6, 56))
    assert 4 <= times[0] < 4.5 < 5.5 < times[-1] <= 6


CHURN = st.tuples(st.floats(0.2, 15), st.floats(0, 0.99), st.none() | st.floats(0, 19))


@given(CHURN, st.integers(0, 1000))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_churn_alternates_and_keeps_its_times(
    make_scenario: MakeScenario, churn: tuple[float, float, float | None], seed: int
) -> None:
    every, share, joins = churn
    away = every * share
    group: dict[str, Any] = {"subscribers": 3, "churn": {"every": f"{every}s", "away": f"{away}s"}}
    if joins is not None:
        group["joins"] = f"{joins}s"
    workload = made(make_scenario, group, rate="1/s", seed=seed)
    operations = [o for o in workload.operations() if o.client.startswith("S")]
    assert operations == sorted(operations, key=lambda operation: operation.at)
    assert msgspec.json.encode(operations) == msgspec.json.encode(
        [o for o in workload.operations() if o.client.startswith("S")]
    )
    by_client = defaultdict(list)
    for operation in operations:
        by_client[operation.client].append(operation)
    assert len(by_client) == 3
    for own in by_client.values():
        for number, operation in enumerate(own):
            kind = OperationKind.UNSUBSCRIBE if number % 2 else OperationKind.SUBSCRIBE
            assert (operation.operation, operation.id) == (kind, f"s{number // 2 + 1}")
            assert operation.at < 30 * SECOND
        leaving = [operation.at / SECOND for operation in own[1::2]]
        returning = [operation.at / SECOND for operation in own[2::2]]
        assert leaving == pytest.approx([leaving[0] + index * every for index in range(len(leaving))])
        assert returning == pytest.approx([time + away for time in leaving[: len(returning)]])
        if leaving:
            begin = 10 + (joins or 0)
            assert begin <= leaving[0] + 1e-6
            assert leaving[0] <= begin + every + 1e-6
    assert workload.estimate().subscriptions == sum(o.operation is OperationKind.SUBSCRIBE for o in operations)


def test_the_estimate_follows_churn_and_late_groups(make_scenario: MakeScenario) -> None:
    workload = made(
        make_scenario,
        {"subscribers": 10, "topics_each": "all", "churn": {"every": "4s", "away": "2s"}},
        {"subscribers": 5, "topics": "1..5", "joins": "15s"},
        rate="5/s..10/s",
    )
    active: dict[str, Subscription] = {}
    notified = 0
    for operation in workload.operations():
        match operation.operation:
            case OperationKind.SUBSCRIBE:
                active[operation.client] = Subscription(predicates(operation))
            case OperationKind.UNSUBSCRIBE:
                del active[operation.client]
            case OperationKind.PUBLISH:
                publication = Publication(operation.attributes or {})
                notified += sum(matches(wanted, publication) for wanted in active.values())
    assert workload.estimate().notifications == pytest.approx(notified, rel=0.03)


def test_twelve_thousand_publishers_cost_bytes(make_scenario: MakeScenario) -> None:
    tracemalloc.start()
    workload = made(make_scenario, {"subscribers": 2000}, topics=12_000, rate="2/s")
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 12_000 * 100 + 2000 * 400
    operations = workload.operations()
    assert next(operations).operation is OperationKind.ADVERTISE
