from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from broker_service.language import Operator, Predicate, Subscription, Value
from broker_service.matching import MatchIndex, NaiveIndex, Tuning
from tests.broker_service.matching.strategies import ATTRIBUTES, publications, strings, subscriptions, values

ARRAYS_AT_ONCE = Tuning(vectorise_from=0, load_numpy_from=0, block_rows=3, block_columns=2)
ARRAYS_SOON = Tuning(vectorise_from=2, load_numpy_from=2, block_rows=40, block_columns=16)


class IndexMachine(RuleBasedStateMachine):
    """After any additions, replacements and removals, the index and the naive one return the same."""

    tuning = Tuning()
    keys = Bundle("keys")

    def __init__(self) -> None:
        super().__init__()
        self.index: MatchIndex[str] = MatchIndex(self.tuning)
        self.naive: NaiveIndex[str] = NaiveIndex()

    @rule(target=keys, key=st.integers(0, 30).map(str), subscription=subscriptions)
    def add(self, key: str, subscription: Subscription) -> str:
        self.index.add(key, subscription)
        self.naive.add(key, subscription)
        return key

    @rule(batch=st.lists(subscriptions, min_size=5, max_size=60))
    def add_many(self, batch: list[Subscription]) -> None:
        for number, subscription in enumerate(batch):
            self.index.add(f"batch {number}", subscription)
            self.naive.add(f"batch {number}", subscription)

    @rule(key=consumes(keys))
    def remove(self, key: str) -> None:
        if key in self.naive:
            self.index.remove(key)
            self.naive.remove(key)
        with pytest.raises(KeyError):
            self.index.remove(key)

    @rule(keep=st.integers(1, 7))
    def remove_most(self, keep: int) -> None:
        for number in range(60):
            key = f"batch {number}"
            if number % keep and key in self.naive:
                self.index.remove(key)
                self.naive.remove(key)

    @rule(attributes=publications)
    def match(self, attributes: dict[str, Value]) -> None:
        assert Counter(self.index.match(attributes)) == Counter(self.naive.match(attributes))

    @rule(value=values, kind=strings)
    def match_where_all_attributes_are_alike(self, value: Value, kind: str) -> None:
        self.match(dict.fromkeys(ATTRIBUTES, value) | {"class": kind})

    @invariant()
    def same_members(self) -> None:
        assert len(self.index) == len(self.naive)
        assert all((str(key) in self.index) == (str(key) in self.naive) for key in range(31))


class ArraysAtOnceMachine(IndexMachine):
    tuning = ARRAYS_AT_ONCE


class ArraysSoonMachine(IndexMachine):
    tuning = ARRAYS_SOON


TestDefaultTuning = IndexMachine.TestCase
TestArraysAtOnce = ArraysAtOnceMachine.TestCase
TestArraysSoon = ArraysSoonMachine.TestCase
TestDefaultTuning.settings = TestArraysAtOnce.settings = TestArraysSoon.settings = settings(
    max_examples=40, stateful_step_count=20, deadline=None
)


@given(st.lists(subscriptions, max_size=40), st.lists(publications, min_size=1, max_size=5))
@settings(max_examples=200, deadline=None)
@pytest.mark.parametrize("tuning", [ARRAYS_AT_ONCE, ARRAYS_SOON], ids=["arrays at once", "arrays soon"])
def test_equal_to_the_naive_index(tuning: Tuning, members: list[Subscription], events: list[dict[str, Value]]) -> None:
    index: MatchIndex[int] = MatchIndex(tuning)
    naive: NaiveIndex[int] = NaiveIndex()
    for key, subscription in enumerate(members):
        index.add(key, subscription)
        naive.add(key, subscription)
    for attributes in events:
        assert sorted(index.match(attributes)) == sorted(naive.match(attributes))


def _above(price: float, symbol: str = "DELL") -> Subscription:
    return Subscription(
        (
            Predicate("class", Operator.STRING_EQUAL, "STOCK"),
            Predicate("symbol", Operator.STRING_EQUAL, symbol),
            Predicate("price", Operator.GREATER, price),
        )
    )


def test_many_of_one_symbol() -> None:
    index: MatchIndex[tuple[str, int]] = MatchIndex()
    for price in range(1000):
        index.add(("c", price), _above(price))
        index.add(("d", price), _above(price, "HPQ"))
    stock: dict[str, Value] = {"class": "STOCK", "symbol": "DELL", "price": 500}
    assert sorted(index.match(stock)) == [("c", price) for price in range(500)]
    assert index.match(stock | {"class": "BOND"}) == []
    assert index.match({"class": "STOCK", "symbol": "DELL"}) == []
    assert index.match(stock | {"price": "500"}) == []
    for price in range(0, 1000, 2):
        index.remove(("c", price))
    assert sorted(index.match(stock)) == [("c", price) for price in range(1, 500, 2)]
    assert len(index) == 1500


@pytest.mark.parametrize("tuning", [ARRAYS_AT_ONCE, ARRAYS_SOON], ids=["arrays at once", "arrays soon"])
def test_removal_moves_others_with_all_they_have(tuning: Tuning) -> None:
    index: MatchIndex[int] = MatchIndex(tuning)
    naive: NaiveIndex[int] = NaiveIndex()
    for key in range(60):
        unequal = Predicate("volume", Operator.NOT_EQUAL, key % 3)
        subscription = Subscription((Predicate("price", Operator.GREATER, key % 7), unequal))
        index.add(key, subscription)
        naive.add(key, subscription)
    for key in range(0, 60, 4):
        index.remove(key)
        naive.remove(key)
        for volume in range(3):
            attributes: dict[str, Value] = {"class": "STOCK", "price": 4, "volume": volume}
            assert sorted(index.match(attributes)) == sorted(naive.match(attributes))


def test_a_subscription_without_predicates_matches_everything() -> None:
    index: MatchIndex[str] = MatchIndex()
    index.add("all", Subscription(()))
    assert index.match({"class": "BOND"}) == ["all"]
    assert index.match({"class": "STOCK", "price": 2}) == ["all"]
    index.remove("all")
    assert index.match({"class": "BOND"}) == []


def test_an_equal_key_is_replaced() -> None:
    index: MatchIndex[str] = MatchIndex()
    index.add("s", _above(10))
    index.add("s", _above(20, "HPQ"))
    assert len(index) == 1
    assert index.match({"class": "STOCK", "symbol": "DELL", "price": 30}) == []
    assert index.match({"class": "STOCK", "symbol": "HPQ", "price": 30}) == ["s"]


def test_an_unknown_key_cannot_be_removed() -> None:
    index: MatchIndex[str] = MatchIndex()
    with pytest.raises(KeyError, match="nobody"):
        index.remove("nobody")


def test_an_empty_index_keeps_nothing_of_what_it_held() -> None:
    index: MatchIndex[int] = MatchIndex(ARRAYS_SOON)
    for key in range(200):
        index.add(key, _above(key, f"S{key % 7}"))
    for key in range(200):
        index.remove(key)
    assert not index._entries
    assert not index._buckets
    assert not index._statistics._carriers
