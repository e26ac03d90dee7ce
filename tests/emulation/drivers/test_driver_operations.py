"""Operations made ready: bodies of predicates that operations share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.drivers import driver_operations
from emulation.drivers.driver_operations import OperationSchedule, SharedPredicates, encode_recorded
from record.log import PredicateRecord
from scenario.workload.operations import OperationKind, PlannedOperation

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


def made(at: int) -> PlannedOperation:
    return PlannedOperation(
        at=at, client="P1", broker="B1", operation=OperationKind.PUBLISH, id=f"P1:{at}", attributes={"class": "A"}
    )


@pytest.mark.parametrize("look_ahead", [1, 3, 100])
def test_a_further_operation_is_issued_in_its_turn_and_nothing_after_the_end(look_ahead: int) -> None:
    schedule = OperationSchedule(map(made, range(0, 100, 10)), look_ahead)
    schedule.insert(made(5))
    assert [one.at for one in schedule.due(20, 10)] == [0, 5, 10, 20][: look_ahead + 1] or look_ahead == 1
    schedule.end_at(60)
    schedule.insert(made(60))
    schedule.insert(made(59))
    left: list[int] = []
    while schedule.next_at is not None:
        left += [one.at for one in schedule.due(1000, 1)]
    assert set(left) <= {0, 5, 10, 20, 30, 40, 50, 59}
    assert {30, 40, 50, 59} <= set(left)
    assert schedule.next_at is None
