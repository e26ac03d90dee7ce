"""Candidates are drawn evenly, and each is a scenario that can be run."""

from __future__ import annotations

import random
from collections import Counter

import networkx as nx
import pytest

from scenario.loading import load
from studies.fitting.candidates import IN_USE, OVERLAYS, RANGES, WINDOWS, Candidate, hypercube, near, slower
from studies.reproduction.plan import SCENARIOS

SOME = Candidate(
    overlay="hub of 12, 13 layers", window=1, send_time=2.0, service_time=0.5, delay=1.0, selectivity=10.0, rate=1500.0
)


def test_every_part_of_every_range_holds_one_candidate() -> None:
    drawn = hypercube(36, random.Random(1))
    for name in ("send_time", "delay", "selectivity", "rate"):
        low, high = RANGES[name]
        bounds = [low * (high / low) ** (part / 36) for part in range(25)]
        values = sorted(getattr(candidate, name) for candidate in drawn)
        for value, least, most in zip(values, bounds, bounds[1:], strict=False):
            assert least <= value <= most
    assert set(Counter(candidate.overlay for candidate in drawn).values()) == {36 // len(OVERLAYS)}
    assert set(Counter(candidate.window for candidate in drawn).values()) == {36 // len(WINDOWS)}
    assert hypercube(36, random.Random(1)) == drawn != hypercube(36, random.Random(2))


def test_service_times_keep_brokers_as_busy_as_drawn() -> None:
    """20 publishers at 1500 a minute make 500 x 8.825 messages a second, 147.1 for each of 30 brokers."""
    low, high = RANGES["use"]
    for candidate in hypercube(24, random.Random(1)):
        use = candidate.service_time / 1000 * 147.1 * candidate.rate / 1500
        assert low * 0.999 <= use <= high * 1.001


def test_columns_of_a_hypercube_are_in_orders_of_their_own() -> None:
    drawn = hypercube(24, random.Random(1))
    assert sorted(drawn, key=lambda c: c.rate) != sorted(drawn, key=lambda c: c.send_time)


def test_candidates_near_another_differ_by_no_more_than_the_factor() -> None:
    drawn = near(SOME, 50, 1.5, random.Random(1))
    assert {(candidate.overlay, candidate.window) for candidate in drawn} == {(SOME.overlay, SOME.window)}
    for name in ("send_time", "service_time", "delay", "selectivity", "rate"):
        factors = [getattr(candidate, name) / getattr(SOME, name) for candidate in drawn]
        assert 1 / 1.5001 <= min(factors) < 0.8
        assert 1.3 < max(factors) <= 1.5001


@pytest.mark.parametrize("name", OVERLAYS)
def test_every_overlay_is_of_the_papers_size_and_has_clients_12_hops_apart(name: str) -> None:
    overlay = OVERLAYS[name]
    fields = SOME.settings(overlay.topology)
    main = load(SCENARIOS / "tid" / "tid-5a.yaml", fields).overlay()
    assert (len(main.brokers), len(main.links)) == (30, 60)
    apart = load(
        SCENARIOS / "tid" / "tid-t3.yaml",
        SOME.settings(overlay.distances)
        | {
            "workload.publications.individually": overlay.publishers,
            "workload.subscriptions.followers": overlay.followers,
        },
    )
    distances = dict(nx.all_pairs_shortest_path_length(apart.overlay().to_networkx()))
    assert any(12 in row.values() for row in distances.values())
    assert apart.workload.subscriptions is not None
    assert apart.workload.publications is not None
    individually = apart.workload.publications.individually
    for group in apart.workload.subscriptions.followers:
        publisher = individually[group.of].broker
        assert publisher is not None
        assert sorted(distances[publisher][broker] for broker in group.placement) == [10, 12]


def test_the_assumptions_reach_the_scenario() -> None:
    scenario = load(SCENARIOS / "tid" / "tid-5a.yaml", SOME.settings("kind: ring, brokers: 5"))
    link = scenario.overlay().links[0].forward
    assert (link.delay, link.send_time.mean) == (pytest.approx(0.001), pytest.approx(0.002))
    assert scenario.brokers.limits.window == 1
    assert scenario.workload.subscriptions is not None
    assert scenario.workload.subscriptions.selectivity.low == pytest.approx(0.1)


def test_slow_motion_changes_no_queue() -> None:
    slow = slower(SOME, 2.0)
    assert (slow.send_time, slow.service_time, slow.delay, slow.rate) == (4.0, 1.0, 2.0, 750.0)
    assert (slow.overlay, slow.window, slow.selectivity) == (SOME.overlay, SOME.window, SOME.selectivity)


def test_table_3_has_the_assumptions_in_use() -> None:
    overlay = OVERLAYS[IN_USE.overlay]
    shipped = load(SCENARIOS / "tid" / "tid-t3.yaml")
    settings = IN_USE.settings(overlay.topology) | {"workload.publications.rate": f"{IN_USE.rate:.0f}/min"}
    assumed = load(SCENARIOS / "tid" / "tid-t3.yaml", settings)
    assert assumed.overlay() == shipped.overlay()
    assert assumed.brokers == shipped.brokers
    assert assumed.workload == shipped.workload
