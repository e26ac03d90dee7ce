"""The conjunction graph against all pairs of its conjunctions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.language.relations import covers, satisfiable
from broker_service.routing.gryphon.subscriptions import covering
from broker_service.routing.gryphon.subscriptions.conjunctions import (
    EVERYTHING,
    Conjunction,
    decode_conjunction,
    hull_of,
    is_above,
)
from broker_service.routing.gryphon.subscriptions.covering import UPDATE, Covering, ExactCovering, IdentityCovering
from broker_service.routing.gryphon.subscriptions.roots import (
    MOST_PARENTS,
    ConjunctionGraph,
    ConjunctionSet,
    RootSets,
    fingerprint,
)
from broker_service.routing.interface import MalformedMessageError
from tests.broker_service.routing.gryphon.subscriptions.gryphon_strategies import conjunction, conjunctions
from tests.instructions import instructions

operations = st.lists(st.tuples(st.booleans(), conjunctions | st.just(EVERYTHING)), max_size=14)


def graph_after(
    done: list[tuple[bool, Conjunction]], made: Callable[[], Covering]
) -> tuple[ConjunctionGraph[None], dict[bytes, Conjunction]]:
    graph: ConjunctionGraph[None] = ConjunctionGraph(made())
    standing: dict[bytes, Conjunction] = {}
    for adds, each in done:
        node = graph.nodes.get(each.body)
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
    assert {(node.conjunction.body, child) for node in graph.nodes.values() for child in node.children} == immediate
    assert {(parent, node.conjunction.body) for node in graph.nodes.values() for parent in node.parents} == immediate
    assert graph.roots.keys() == standing.keys() - {lower for _, lower in above}


@given(operations)
def test_roots_are_the_same_in_whatever_order_conjunctions_came(done: list[tuple[bool, Conjunction]]) -> None:
    graph, standing = graph_after(done, ExactCovering)
    anew, _ = graph_after([(True, standing[body]) for body in sorted(standing)], ExactCovering)
    assert graph.roots.keys() == anew.roots.keys()


@given(operations)
def test_by_identity_all_conjunctions_are_roots(done: list[tuple[bool, Conjunction]]) -> None:
    graph, standing = graph_after(done, IdentityCovering)
    assert graph.roots.keys() == standing.keys()


@given(conjunctions, conjunctions)
def test_being_above_is_covering_without_circles(one: Conjunction, other: Conjunction) -> None:
    if one.body == other.body:
        return
    assert not (is_above(one, other) and is_above(other, one))
    if covers(one.subscription, other.subscription):
        assert is_above(one, other) or is_above(other, one)


def test_two_thousand_topics_are_compared_with_few_others() -> None:
    graph: ConjunctionGraph[None] = ConjunctionGraph(ExactCovering())
    spent = 0
    for number in range(2_000):
        graph.effort.grant(0)
        graph.add(conjunction(f"[class,eq,'TOPIC'],[topic,eq,'t{number}'],[price,>,{number % 7}]"), None)
        spent += UPDATE - graph.effort.left
    assert len(graph.roots) == 2_000
    assert spent < 2_000 * 2


@given(conjunctions, conjunctions)
def test_hulls_decide_nothing_else_than_predicates_do(one: Conjunction, other: Conjunction) -> None:
    if satisfiable(one.subscription) and satisfiable(other.subscription):
        decided = hull_of(one.subscription).contains(hull_of(other.subscription))
        assert decided in (covers(one.subscription, other.subscription), None)


def ladder(size: int) -> list[Conjunction]:
    """Conjunctions each of which covers all that follow, in an order that hulls do not decide."""
    return [conjunction(f"[class,eq,'STOCK'],[price,>,{number}],[price,<>,-1]") for number in range(size)]


def wall(size: int) -> list[Conjunction]:
    """Conjunctions none of which covers another one."""
    return [conjunction(f"[class,eq,'STOCK'],[price,>,{number}],[price,<,{10_000 + number}]") for number in range(size)]


@pytest.mark.parametrize("made", [ladder, wall])
def test_the_work_of_an_update_does_not_grow_with_the_square_of_its_conjunctions(
    made: Callable[[int], list[Conjunction]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(covering, "UPDATE", 100)
    monkeypatch.setattr(covering, "EACH", 10)
    few, many = (RootSets((1, 2), (1, 2), ExactCovering()) for _ in range(2))
    work = instructions(lambda: few.update(1, made(30), ()))
    assert instructions(lambda: many.update(1, made(120), ())) < 5 * work


def test_a_conjunction_between_many_comes_and_goes_with_work_for_each_of_them() -> None:
    """Each time, the edges from all that cover it to all that it covers would be looked at: their product."""
    work = []
    for size in (20, 80):
        sets = RootSets((1, 2), (1, 2), ExactCovering())
        for number in range(size):
            sets.update(1, [conjunction(f"[x,>,{number - size}],[y,<,{1_000 + number}]")], ())
            sets.update(1, [conjunction(f"[x,>,{size - number}],[y,<,{500 - number}]")], ())
        between = conjunction("[x,>,0],[y,<,1000]")
        work.append(
            [instructions(lambda: sets.update(2, [between], ())), instructions(lambda: sets.update(2, (), [between]))]  # noqa: B023
        )
    for few, many in zip(*work, strict=True):
        assert many < 6 * few


def test_conjunctions_beyond_the_effort_of_an_update_are_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covering, "UPDATE", 5_000)
    monkeypatch.setattr(covering, "EACH", 0)
    sets = RootSets((1, 2), (1, 2), ExactCovering())
    sets.update(1, ladder(300), ())
    announced = {each.body for each in sets.announced[2]}
    assert 1 < len(announced) < 300
    assert ladder(1)[0].body in announced
    sets.update(1, (), ladder(300))
    assert not len(sets.announced[2])
    sets.update(1, ladder(20), ())
    assert [each.body for each in sets.announced[2]] == [ladder(1)[0].body]


def test_a_conjunction_with_more_parents_than_are_kept_is_covered_by_the_others_when_these_go() -> None:
    graph: ConjunctionGraph[None] = ConjunctionGraph(ExactCovering())
    above = [conjunction(f"[x,>,{-number}],[y,<,{-number}]") for number in range(1, 2 * MOST_PARENTS)]
    covered = graph.add(conjunction("[x,>,0],[y,<,-100]"), None)
    for each in above:
        graph.effort.grant(1)
        graph.add(each, None)
    for each in sorted(above, key=lambda each: each.body):
        graph.effort.grant(0, 1)
        assert 1 <= len(covered.parents) <= MOST_PARENTS
        node = graph.nodes.get(each.body)
        assert node is not None
        graph.remove(node)
    assert not covered.parents


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
