"""The algebra of faults: what happens when, once a program has started."""

from __future__ import annotations

import itertools

import pytest

from record.faults import FaultKind
from record.time_units import SECOND
from scenario.faults.conditions import Cut, Down
from scenario.faults.programs import Begin, Change, End, Hold, Lift, Program, Repeat, Sequence, Wait, leaves, unfold
from topology.link_properties import LinkDirection

KILL = (Down("B1", FaultKind.KILL),)
CUT = (Cut(LinkDirection("B1", "B2")),)


def unfolded(program: Program, most: int = 100) -> list[tuple[float, Change]]:
    """Changes with their times in seconds after a start at 10 s."""
    changes = itertools.islice(unfold(program, 10 * SECOND, itertools.count()), most)
    return [(time / SECOND - 10, change) for time, change in changes]


def test_a_holding_begins_and_ends() -> None:
    assert unfolded(Hold(KILL, 2.5)) == [(0.0, Begin(0, KILL)), (2.5, End(0))]


def test_a_holding_without_an_end_begins_only() -> None:
    assert unfolded(Hold(KILL)) == [(0.0, Begin(0, KILL))]


def test_sequences_take_their_time() -> None:
    program = Sequence((Wait(1), Hold(KILL, 2), Wait(0.5), Hold(CUT), Lift(Cut)))
    assert unfolded(program) == [
        (1.0, Begin(0, KILL)),
        (3.0, End(0)),
        (3.5, Begin(1, CUT)),
        (3.5, Lift(Cut)),
    ]


def test_repetitions_number_each_holding() -> None:
    program = Repeat(Sequence((Hold(CUT, 1), Wait(2))), 3)
    assert unfolded(program) == [
        (0.0, Begin(0, CUT)), (1.0, End(0)), (3.0, Begin(1, CUT)), (4.0, End(1)), (6.0, Begin(2, CUT)), (7.0, End(2)),
    ]  # fmt: skip


def test_an_endless_repetition_is_unfolded_as_it_is_read() -> None:
    times = [time for time, _ in unfolded(Repeat(Sequence((Hold(CUT, 1), Wait(2)))), most=1001)]
    assert times[-1] == 1500.0


@pytest.mark.parametrize("part", [Hold(KILL), Wait(0), Lift(), Sequence((Lift(), Hold(CUT, 0)))])
def test_an_endless_repetition_of_no_time_is_refused(part: Program) -> None:
    with pytest.raises(ValueError, match="must take some time"):
        Repeat(part)
    assert Repeat(part, 2).times == 2


def test_leaves_are_told_once() -> None:
    hold, lift = Hold(CUT, 1), Lift(Down)
    assert list(leaves(Sequence((Repeat(Sequence((hold, Wait(1)))), lift)))) == [hold, lift]


def test_what_a_lift_concerns() -> None:
    cut = Cut(LinkDirection("B1", "B2"))
    assert Lift().concerns(cut)
    assert Lift(Cut).concerns(cut)
    assert not Lift(Down).concerns(cut)
    assert Lift(Cut, frozenset({LinkDirection("B1", "B2")})).concerns(cut)
    assert not Lift(Cut, frozenset({LinkDirection("B2", "B1")})).concerns(cut)
