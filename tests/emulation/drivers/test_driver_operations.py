"""Operations made ready: bodies of predicates that operations share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.drivers import driver_operations
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


def test_the_latest_predicates_are_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_operations, "PREDICATES_KEPT", 2)
    shared = SharedPredicates()
    first, second = shared.encode(LISTS[0]), shared.encode(LISTS[1])
    assert shared.encode(LISTS[0]) is first
    assert shared.encode(LISTS[1]) is second
    shared.encode([PredicateRecord(attribute="class", operator="eq", string="BOND")])
    assert shared.encode(LISTS[1]) is second
    assert shared.encode(LISTS[0]) is not first, "it was encoded longest ago"
