"""Reconciliation with restarted neighbours, against a naive account of what was announced when."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from broker_service.links.flow import IDLE, Flow
from broker_service.routing.common.reconciliation import Encounter, Reconcile, Reconciliation
from broker_service.routing.interface import SetTimer


@dataclass
class Status:
    up: bool = True
    queue_length: int = 0
    utilisation: float = 1.0

    def flow(self, interval: float) -> Flow:
        return IDLE


ITEMS = st.sets(st.integers(0, 5))
STEPS = st.lists(
    st.tuples(st.just("expect"), ITEMS) | st.tuples(st.just("confirm"), ITEMS) | st.tuples(st.just("end"), ITEMS)
)


@given(STEPS)
def test_overdue_is_what_was_expected_last_and_not_confirmed_since(steps: list[tuple[str, set[int]]]) -> None:
    reconciliation: Reconciliation[int] = Reconciliation({"B2": Status(), "B3": Status()}, 5.0)
    history: list[tuple[str, set[int]]] = []
    for step, items in steps:
        match step:
            case "expect":
                reconciliation.expect("B2", items)
            case "confirm":
                for item in items:
                    reconciliation.confirm("B2", item)
                    reconciliation.confirm("B3", item)
            case _:
                assert reconciliation.is_expecting("B2") == _is_expecting(history)
                assert set(reconciliation.take_overdue("B2")) == _overdue(history)
        history.append((step, items))
    assert not reconciliation.is_expecting("B3")


def _since_last(history: list[tuple[str, set[int]]]) -> list[tuple[str, set[int]]]:
    """The steps from the last one on that began or ended the neighbour's time."""
    begin = max((at for at, (step, _) in enumerate(history) if step != "confirm"), default=len(history))
    return history[begin:]


def _is_expecting(history: list[tuple[str, set[int]]]) -> bool:
    return bool(recent := _since_last(history)) and recent[0][0] == "expect"


def _overdue(history: list[tuple[str, set[int]]]) -> set[int]:
    if not _is_expecting(history):
        return set()
    (_, expected), *confirmed = _since_last(history)
    return expected.difference(*(items for _, items in confirmed))


def test_what_is_overdue_is_in_the_order_in_which_it_was_expected() -> None:
    """Sets of texts have another order in each process, and brokers send what they withdraw in this one."""
    items = [f"B1.1.{number}" for number in range(50)]
    reconciliation: Reconciliation[str] = Reconciliation({"B2": Status()}, 5.0)
    reconciliation.expect("B2", items)
    reconciliation.confirm("B2", items[7])
    assert list(reconciliation.take_overdue("B2")) == [*items[:7], *items[8:]]


def test_a_neighbour_is_known_by_its_incarnation() -> None:
    reconciliation: Reconciliation[int] = Reconciliation({}, 5.0)
    seen = [reconciliation.encounter(neighbour, incarnation) for neighbour, incarnation in
            (("B2", 1), ("B2", 1), ("B3", 4), ("B2", 2), ("B2", 2), ("B3", 4))]  # fmt: skip
    first, same, restarted = Encounter.FIRST, Encounter.SAME, Encounter.RESTARTED
    assert seen == [first, same, first, restarted, same, same]


def test_its_timer_names_the_neighbour_and_the_link_says_whether_it_can_announce() -> None:
    status = Status()
    reconciliation: Reconciliation[int] = Reconciliation({"B2": status}, 5.0)
    assert reconciliation.set_timer("B2") == SetTimer(Reconcile("B2"), 5.0, awaited=True)
    assert reconciliation.is_up("B2")
    status.up = False
    assert not reconciliation.is_up("B2")
