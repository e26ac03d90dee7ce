"""The cost of faults that a protocol does not name."""

from __future__ import annotations

from record.faults import FaultKind
from record.promises import Loss, Promises


def test_a_kind_of_fault_that_is_not_named_costs_everything() -> None:
    assert Promises().loss("meteorite") is Loss.EVERYTHING


def test_queues_survive_the_kinds_that_are_named_for_them_alone() -> None:
    """A new kind of fault belongs into one of these sets only after a thought about what queues do under it."""
    promises = Promises()
    assert {kind for kind in FaultKind if promises.loss(kind) is Loss.NOTHING} == {
        FaultKind.PAUSE, FaultKind.SLOW, FaultKind.THROTTLE, FaultKind.LINK_DOWN, FaultKind.DEGRADE, FaultKind.CORRUPT,
        FaultKind.RESET,
    }  # fmt: skip
    assert {kind for kind in FaultKind if promises.loss(kind) is Loss.EVERYTHING} == {
        FaultKind.DISTURB,
        FaultKind.CRASH,
        FaultKind.VANISH,
        FaultKind.MOVE,
    }
