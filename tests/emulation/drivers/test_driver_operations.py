"""Operations made ready: bodies of predicates that operations share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulation.drivers.driver_operations import SharedPredicates, encode_recorded
from record.log import PredicateRecord

LISTS = [
    [PredicateRecord(attribute="class", operator="eq", string="STOCK")],
    [
        PredicateRecord(attribute="class", operator="eq", string="STOCK"),
        PredicateRecord(attribute="price", operator="<", number=7),
    ],
]


@given(choices=st.lists(st.integers(0, 1), max_size=8))
def test_shared_predicates_have_the_body_that_each_list_has_alone(choices: list[int]) -> None:
    shared = SharedPredicates()
    for choice in choices:
        assert shared.encode(LISTS[choice]) == encode_recorded(LISTS[choice])


def test_predicates_that_follow_one_another_are_encoded_once() -> None:
    shared = SharedPredicates()
    assert shared.encode(LISTS[1]) is shared.encode(LISTS[1])
