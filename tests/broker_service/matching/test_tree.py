from __future__ import annotations

import random
import subprocess
import sys

import pytest

from broker_service.language import Operator, Predicate, Value
from broker_service.language.content import all_hold
from broker_service.matching import Tuning
from broker_service.matching.block import Block
from broker_service.matching.bounds import AttributeLimits
from broker_service.matching.tree import BoundsTree, Fork

TUNING = Tuning(block_rows=16)
Ranges = tuple[Predicate, ...]


def _range(rng: random.Random) -> Ranges:
    attribute, other = rng.sample(["open", "close", "volume"], 2)
    low = rng.randrange(100)
    return (
        Predicate(attribute, Operator.GREATER, low),
        Predicate(attribute, Operator.LESS, low + rng.randrange(50)),
        Predicate(other, rng.choice([Operator.LESS, Operator.GREATER_OR_EQUAL]), rng.randrange(100)),
    )


def _blocks(place: Fork[int] | Block[int]) -> list[Block[int]]:
    if isinstance(place, Block):
        return [place]
    return [block for side in place.sides for block in _blocks(side)]


@pytest.fixture
def filled() -> tuple[BoundsTree[int], dict[int, Ranges]]:
    rng = random.Random(3)
    members = {key: _range(rng) for key in range(500)}
    tree: BoundsTree[int] = BoundsTree(TUNING)
    for key, predicates in members.items():
        tree.add(key, predicates)
    return tree, members


def _match(tree: BoundsTree[int], attributes: dict[str, Value]) -> list[int]:
    keys: list[int] = []
    tree.match(attributes, AttributeLimits(attributes), keys)
    return sorted(keys)


def test_blocks_are_divided_before_they_grow_large(filled: tuple[BoundsTree[int], dict[int, Ranges]]) -> None:
    blocks = _blocks(filled[0]._root)
    assert sum(map(len, blocks)) == 500
    assert all(0 < len(block) < TUNING.block_rows for block in blocks)


def test_nothing_is_lost_behind_a_fork(filled: tuple[BoundsTree[int], dict[int, Ranges]]) -> None:
    tree, members = filled
    for step in range(0, 150, 3):
        attributes: dict[str, Value] = {"class": "STOCK", "open": step, "close": step / 2, "volume": 100 - step}
        assert _match(tree, attributes) == [key for key, ranges in members.items() if all_hold(ranges, attributes)]


def test_forks_spare_a_publication_most_of_the_blocks(
    filled: tuple[BoundsTree[int], dict[int, Ranges]], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, _ = filled
    visited: list[Block[int]] = []
    match = Block.match

    def counted(block: Block[int], attributes: dict[str, Value], limits: AttributeLimits, keys: list[int]) -> None:
        visited.append(block)
        match(block, attributes, limits, keys)

    monkeypatch.setattr(Block, "match", counted)
    _match(tree, {"class": "STOCK", "open": 50, "close": 50, "volume": 50})
    assert 0 < len(visited) < len(_blocks(tree._root)) / 2


def test_forks_go_with_what_lay_behind_them(filled: tuple[BoundsTree[int], dict[int, Ranges]]) -> None:
    tree, members = filled
    for key in list(members)[:-1]:
        tree.remove(key, members[key])
    assert [len(block) for block in _blocks(tree._root)] == [1]
    tree.remove(499, members[499])
    assert not tree


def test_equal_subscriptions_stay_in_one_block() -> None:
    tree: BoundsTree[int] = BoundsTree(TUNING)
    ranges = (Predicate("open", Operator.GREATER, 5), Predicate("close", Operator.NOT_EQUAL, 5))
    for key in range(200):
        tree.add(key, ranges)
    assert len(_blocks(tree._root)) == 1
    assert _match(tree, {"open": 6, "close": 6}) == list(range(200))
    assert _match(tree, {"open": 6, "close": 5}) == []


def test_one_that_differs_parts_a_block_of_equals() -> None:
    tree: BoundsTree[int] = BoundsTree(TUNING)
    for key in range(15):
        tree.add(key, (Predicate("open", Operator.GREATER, 5),))
    tree.add(15, (Predicate("open", Operator.GREATER, 4),))
    assert sorted(len(block) for block in _blocks(tree._root)) == [1, 15]
    assert _match(tree, {"open": 5}) == [15]


SMALL_INDEX = """
import sys
from broker_service.language import Operator, Predicate, Subscription
from broker_service.matching import MatchIndex, Tuning
index = MatchIndex()
for key in range(Tuning().load_numpy_from):
    index.add(key, Subscription((Predicate("price", Operator.GREATER, key),)))
assert index.match({"class": "STOCK", "price": 3}) == [0, 1, 2]
assert "numpy" not in sys.modules
index.add("one more", Subscription((Predicate("price", Operator.GREATER, 0),)))
assert "numpy" in sys.modules
assert sorted(map(str, index.match({"class": "STOCK", "price": 2}))) == ["0", "1", "one more"]
"""


def test_a_small_index_does_without_numpy() -> None:
    subprocess.run([sys.executable, "-c", SMALL_INDEX], check=True)
