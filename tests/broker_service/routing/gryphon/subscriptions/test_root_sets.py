"""Root sets by direction: the paper's Example 3, and the definition by all pairs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.gryphon.subscriptions.conjunctions import Conjunction, is_above
from broker_service.routing.gryphon.subscriptions.covering import ExactCovering
from broker_service.routing.gryphon.subscriptions.roots import Difference, RootSets
from tests.broker_service.routing.gryphon.subscriptions.gryphon_strategies import conjunction, conjunctions

N11, N12, N31 = 11, 12, 31
NYSE = conjunction("[class,eq,'nyse']")
T = conjunction("[class,eq,'nyse'],[stock,eq,'t'],[p,>,19]")
MSFT = conjunction("[class,eq,'nasdaq'],[stock,eq,'msft']")


def test_example_3() -> None:
    sets = RootSets((N11, N12, N31), (N31,), ExactCovering())
    assert sets.update(N12, [NYSE], []) == {N31: Difference((NYSE,), ())}
    assert sets.update(N11, [T, MSFT], []) == {N31: Difference((MSFT,), ())}
    assert {each.body for each in sets.received[N11]} == {T.body, MSFT.body}


def test_what_came_from_a_direction_covers_nothing_that_is_announced_there() -> None:
    sets = RootSets((N11, N12), (N11, N12), ExactCovering())
    sets.update(N12, [NYSE], [])
    assert sets.update(N11, [T], []) == {N11: Difference(), N12: Difference((T,), ())}


def test_withdrawing_a_covering_root_uncovers_what_it_covered() -> None:
    sets = RootSets((N11, N12, N31), (N31,), ExactCovering())
    sets.update(N12, [NYSE], [])
    sets.update(N11, [T], [])
    assert sets.update(N12, [], [NYSE]) == {N31: Difference((T,), (NYSE,))}


SOURCES = (0, 1, 2)


@given(st.lists(st.tuples(st.sampled_from(SOURCES), st.booleans(), st.lists(conjunctions, max_size=3)), max_size=12))
def test_each_direction_is_announced_the_roots_of_all_other_sources(
    updates: list[tuple[int, bool, list[Conjunction]]],
) -> None:
    sets = RootSets(SOURCES, SOURCES, ExactCovering())
    received: dict[int, dict[bytes, Conjunction]] = {source: {} for source in SOURCES}
    announced: dict[int, set[bytes]] = {source: set() for source in SOURCES}
    for source, adds, members in updates:
        differences = sets.update(source, members if adds else [], [] if adds else members)
        for each in members:
            if adds:
                received[source][each.body] = each
            else:
                received[source].pop(each.body, None)
        for direction in SOURCES:
            others: dict[bytes, Conjunction] = {}
            for other in SOURCES:
                others |= received[other] if other != direction else {}
            roots = {
                body
                for body, each in others.items()
                if not any(is_above(o, each) for o in others.values() if o != each)
            }
            assert {each.body for each in sets.announced[direction]} == roots
            added, removed = differences[direction]
            assert announced[direction].isdisjoint(each.body for each in added)
            assert announced[direction].issuperset(each.body for each in removed)
            announced[direction] = (announced[direction] | {e.body for e in added}) - {e.body for e in removed}
            assert announced[direction] == roots
    for source in SOURCES:
        sets.update(source, [], list(received[source].values()))
    assert not sets.graph.nodes
