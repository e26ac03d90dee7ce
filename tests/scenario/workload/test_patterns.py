"""Workloads of patterns: the published share of receivers, and sets of distinct numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.language import Advertisement, Publication
from broker_service.language.content import conforms
from broker_service.language.records import recorded_predicate
from scenario.model import Scenario
from scenario.workload.generate import generate
from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.patterns import Lengths, lengths, receiving
from scenario.workload.workload import Workload

MakeScenario = Callable[..., Scenario]


def made(make: MakeScenario, brokers: int = 100, seed: int = 1, **workload: Any) -> Workload:
    fields = {"kind": "patterns", "publications": {"rate": "1/s"}, **workload}
    topology = {"kind": "random-regular", "brokers": brokers, "degree": 4}
    scenario = make(workload=fields, topology=topology, timeline={"join": "5s", "run": "10s"}, seed=seed)
    return generate(scenario, scenario.overlay())


def numbers(operation: PlannedOperation) -> set[str]:
    return set(operation.attributes or ()) - {"class", "padding"}


def receivers(workload: Workload) -> list[int]:
    wanted: dict[str, set[str]] = {}
    for operation in workload.operations():
        if operation.operation is OperationKind.SUBSCRIBE:
            (record,) = operation.predicates or ()
            wanted.setdefault(operation.client, set()).add(record.attribute)
    published = [o for o in workload.operations() if o.operation is OperationKind.PUBLISH]
    return [sum(bool(own & numbers(operation)) for own in wanted.values()) for operation in published]


def test_ten_percent_receivers_take_26_or_27_of_512_numbers() -> None:
    found = lengths(0.1, 512, 2)
    assert found.shorter == 26
    assert found.shorter + found.longer == pytest.approx(26.3, abs=0.1)
    assert 1 - (1 - 26 / 512) * (1 - 26 / 511) < 0.1 < 1 - (1 - 27 / 512) * (1 - 27 / 511)


@given(st.integers(1, 9), st.integers(1, 4), st.integers(0, 9))
def test_receiving_counts_the_sets_that_meet(patterns: int, drawn: int, length: int) -> None:
    drawn, length = min(drawn, patterns), min(length, patterns)
    event = set(range(length))
    subscribers = list(combinations(range(patterns), drawn))
    reached = sum(bool(event & set(own)) for own in subscribers)
    assert receiving(length, patterns, drawn) == pytest.approx(reached / len(subscribers))


@given(st.floats(0, 1), st.integers(1, 600), st.integers(1, 10))
def test_two_lengths_give_the_share(share: float, patterns: int, drawn: int) -> None:
    drawn = min(drawn, patterns)
    found = lengths(share, patterns, drawn)
    assert 0 <= found.longer < 1 + 1e-9
    mean = receiving(found.shorter, patterns, drawn) * (1 - found.longer)
    if found.shorter < patterns:
        mean += receiving(found.shorter + 1, patterns, drawn) * found.longer
    assert mean == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize("publications", [{}, {"receivers": "25%"}, {"receiver_count": 5}])
def test_the_share_of_receivers_is_the_wanted_one(make_scenario: MakeScenario, publications: dict[str, Any]) -> None:
    share = {"receivers": 0.25, "receiver_count": 0.05}.get(next(iter(publications), ""), 0.1)
    found = [
        count
        for seed in range(3)
        for count in receivers(made(make_scenario, seed=seed, publications={"rate": "1/s", **publications}))
    ]
    assert sum(found) / len(found) / 100 == pytest.approx(share, rel=0.1)


def test_every_broker_publishes_and_draws_its_own_patterns(make_scenario: MakeScenario) -> None:
    workload = made(make_scenario, brokers=30)
    everyone = [f"B{number}" for number in range(1, 31)]
    assert list(workload.population.publishers.values()) == everyone
    assert list(workload.population.subscribers.values()) == everyone
    subscribed = [o for o in workload.operations() if o.operation is OperationKind.SUBSCRIBE]
    assert Counter(o.client for o in subscribed) == {f"S{number}": 2 for number in range(1, 31)}
    assert len({(o.client, str(o.predicates)) for o in subscribed}) == 60
    assert workload.estimate().subscriptions == 60
    assert workload.estimate().publications == 300


def test_events_are_sets_that_conform(make_scenario: MakeScenario) -> None:
    workload = made(make_scenario, brokers=10, publications={"rate": "1/s", "size": "800B"})
    advertised: dict[str, Advertisement] = {}
    for operation in workload.operations():
        if operation.operation is OperationKind.ADVERTISE:
            records = operation.predicates or ()
            advertised[operation.client] = Advertisement(tuple(map(recorded_predicate, records)))
        elif operation.operation is OperationKind.PUBLISH:
            assert len(numbers(operation)) in (26, 27)
            assert conforms(Publication(operation.attributes or {}), advertised[operation.client])
            assert "padding" in (operation.attributes or {})
    assert len(advertised) == 10


def test_one_seed_one_workload(make_scenario: MakeScenario) -> None:
    first, again, other = (list(made(make_scenario, 10, seed).operations()) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_all_patterns_may_be_wanted() -> None:
    assert lengths(1.0, 512, 2) == Lengths(512, 0.0)
