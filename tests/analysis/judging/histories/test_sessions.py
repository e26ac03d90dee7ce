"""Elements that faults strike, and the sessions that break by them."""

from __future__ import annotations

from analysis.judging.histories.sessions import struck_elements
from analysis.reading.intervals import Intervals
from analysis.reading.log_events import LogPosition, OutageEvent
from record.faults import FaultKind


def fault(time: int, target: str, kind: str, *, begins: bool = True) -> OutageEvent:
    return OutageEvent(LogPosition(time, "emulator.jsonl", 0, 0), 0, "", target, kind, begins)


def test_a_fault_of_a_link_strikes_both_directions_and_lingers() -> None:
    cut = [fault(10, "A-1-B", FaultKind.LINK_DOWN), fault(20, "A-1-B", "link_up", begins=False)]
    one_way = [fault(30, "B->A-1", FaultKind.LINK_DOWN), fault(31, "B->A-1", "link_up", begins=False)]
    assert struck_elements([*cut, *one_way, fault(40, "A-1", FaultKind.PAUSE)], 5, {"A-1", "B"}) == {
        "A-1->B": Intervals((10,), (25,)),
        "B->A-1": Intervals((10, 30), (25, 36)),
        "A-1": Intervals((40,), (1 << 62,)),
    }
