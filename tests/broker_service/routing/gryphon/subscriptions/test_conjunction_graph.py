"""The conjunction graph against all pairs of its conjunctions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.errors import MalformedMessageError
from broker_service.language.relations import covers
from broker_service.routing.gryphon.subscriptions.conjunction_graph import ConjunctionGraph
from broker_service.routing.gryphon.subscriptions.conjunctions import (
    EVERYTHING,
    Conjunction,
    ConjunctionSet,
    decode_conjunction,
    fingerprint,
    is_above,
)
from broker_service.routing.gryphon.subscriptions.covering import Covering, ExactCovering, IdentityCovering
from tests.broker_service.routing.gryphon.subscriptions.gryphon_strategies import conjunction, conjunctions

operations = st.lists(st.tuples(st.booleans(), conjunctions | st.just(EVERYTHING)), max_size=14)


def graph_after(
    done: list[tuple[bool, Conjunction]], covering: Callable[[], Covering]
) -> tuple[ConjunctionGraph[None], dict[bytes, Conjunction]]:
    graph: ConjunctionGraph[None] = ConjunctionGraph(covering())
    standing: dict[bytes, Conjunction] = {}
    for adds, each in done:
        node = graph.get(each.body)
        if adds and node is None:
            graph.add(each, None)
            standing[each.body] = each
        elif not adds and node is not None:
            graph.remove(node)
            del standing[each.body]
    return graph, standing


@given(operations)
def test_edges_join_what_covers_with_what_it_covers_and_nothing_lies_between(
    done: list[tuple[bool, Conjunction]],
) -> None:
    graph, standing = graph_after(done, ExactCovering)
    above = {
        (upper.body, lower.body)
        for upper, lower in product(standing.values(), repeat=2)
        if upper.body != lower.body and is_above(upper, lower)
    }
    immediate = {
        (upper, lower)
        for upper, lower in above
        if not any((upper, other) in above and (other, lower) in above for other in standing)
    }
    assert {(node.conjunction.body, child) for node in graph for child in node.children} == immediate
    assert {(parent, node.conjunction.body) for node in graph for parent in node.parents} == immediate
    assert {root.conjunction.body for root in graph.roots} == standing.keys() - {lower for _, lower in above}


@given(operations)
def test_roots_are_the_same_in_whatever_order_conjunctions_came(done: list[tuple[bool, Conjunction]]) -> None:
    graph, standing = graph_after(done, ExactCovering)
    anew, _ = graph_after([(True, standing[body]) for body in sorted(standing)], ExactCovering)
    assert {root.conjunction.body for root in graph.roots} == {root.conjunction.body for root in anew.roots}


@given(operations)
def test_by_identity_all_conjunctions_are_roots(done: list[tuple[bool, Conjunction]]) -> None:
    graph, standing = graph_after(done, IdentityCovering)
    assert {root.conjunction.body for root in graph.roots} == standing.keys()


@given(conjunctions, conjunctions)
def test_being_above_is_covering_without_circles(one: Conjunction, other: Conjunction) -> None:
    if one.body == other.body:
        return
    assert not (is_above(one, other) and is_above(other, one))
    if covers(one.subscription, other.subscription):
        assert is_above(one, other) or is_above(other, one)


def test_two_thousand_topics_are_compared_with_few_others(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[Conjunction, Conjunction]] = []

    def counted(one: Conjunction, other: Conjunction) -> bool:
        compared.append((one, other))
        return is_above(one, other)

    monkeypatch.setattr("broker_service.routing.gryphon.subscriptions.covering.is_above", counted)
    graph: ConjunctionGraph[None] = ConjunctionGraph(ExactCovering())
    for number in range(2_000):
        graph.add(conjunction(f"[class,eq,'TOPIC'],[topic,eq,'t{number}'],[price,>,{number % 7}]"), None)
    assert len(graph.roots) == 2_000
    assert len(compared) < 2_000 * 2


@given(st.lists(conjunctions))
def test_the_fingerprint_of_a_set_is_that_of_its_members(members: list[Conjunction]) -> None:
    found, expected = ConjunctionSet(), 0
    for body in {each.body for each in members}:
        expected ^= fingerprint(body)
    for each in members:
        found.add(each)
    assert found.fingerprint == expected
    for each in members:
        found.remove(each.body)
    assert (len(found), found.fingerprint) == (0, 0)


@given(conjunctions)
def test_conjunctions_survive_a_link(each: Conjunction) -> None:
    found = decode_conjunction(each.body)
    assert found.body == each.body
    assert is_above(EVERYTHING, found)


def test_bytes_that_are_no_conjunction() -> None:
    with pytest.raises(MalformedMessageError):
        decode_conjunction(b"\xff\x01")
