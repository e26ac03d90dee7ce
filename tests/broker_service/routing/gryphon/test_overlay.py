"""The redundant routing tree that brokers are prepared with."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from broker_service.routing.gryphon.overlay import tree_from
from broker_service.routing.options import PlannedLink, Preparation


def preparation(nodes: dict[str, str], pairs: list[tuple[str, str]]) -> Preparation:
    """`nodes` has the node of each broker; without a name, the broker has none."""
    return Preparation(
        brokers={broker: {"node": node} if node else {} for broker, node in nodes.items()},
        links=[PlannedLink(a, b, 0.001, 0.001) for a, b in pairs],
        advertisements={},
        subscriptions={},
        seed=1,
    )


FIGURE_7 = {"pb": "pb", "ib1": "ib", "ib2": "ib", "ib3": "ib", "sb1": "sb1", "sb2": "sb2"}
INNER = ["ib1", "ib2", "ib3"]
FIGURE_7_LINKS = [*combinations(INNER, 2), *product(("pb", "sb1", "sb2"), INNER)]


def test_the_overlay_of_the_failure_test() -> None:
    tree = tree_from(preparation(FIGURE_7, FIGURE_7_LINKS))
    inner = tree.node_of["ib2"]
    assert tree.nodes[inner] == ("ib1", "ib2", "ib3")
    assert len(tree.edges) == 3
    assert set(tree.neighbours[inner]) == {tree.node_of[broker] for broker in ("pb", "sb1", "sb2")}
    leaves = tree.leaves
    assert tree.leaves_behind(tree.node_of["sb1"], inner) == {leaves[each] for each in FIGURE_7} - {leaves["sb1"]}
    assert tree.leaves_behind(inner, tree.node_of["sb1"]) == {leaves["sb1"]}
    assert set(leaves.values()).isdisjoint(range(len(tree.nodes)))


def test_a_broker_without_a_node_is_one_of_its_own() -> None:
    tree = tree_from(preparation(dict.fromkeys(("a", "b", "c"), ""), [("b", "a"), ("b", "c")]))
    assert sorted(tree.nodes) == [("a",), ("b",), ("c",)]


@pytest.mark.parametrize(
    ("pairs", "nodes"),
    [
        ([*combinations("abcde", 2)], [tuple("abcde")]),
        (FIGURE_7_LINKS, [tuple(INNER), ("pb",), ("sb1",), ("sb2",)]),
    ],
    ids=["a full mesh", "the failure test"],
)
def test_nodes_are_recognised_where_no_broker_names_its_own(
    pairs: list[tuple[str, str]], nodes: list[tuple[str, ...]]
) -> None:
    brokers = dict.fromkeys((broker for pair in pairs for broker in pair), "")
    assert sorted(tree_from(preparation(brokers, pairs)).nodes) == nodes


@pytest.mark.parametrize(
    ("nodes", "pairs", "reason"),
    [
        (dict.fromkeys("abcd", ""), [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")], "4 nodes have 4 edges"),
        ({broker: broker for broker in "abcd"}, [("a", "b"), ("b", "c"), ("a", "c")], "not connected"),
        (FIGURE_7, FIGURE_7_LINKS[1:], "ib1 and ib2"),
        (FIGURE_7, FIGURE_7_LINKS[:-1], "ib3 and sb2"),
    ],
)
def test_overlays_that_are_no_redundant_trees(nodes: dict[str, str], pairs: list[tuple[str, str]], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        tree_from(preparation(nodes, pairs))
