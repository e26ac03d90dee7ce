"""The faults of a run, from begin to heal, on a simulated overlay: what is done is what is logged, and when."""

from __future__ import annotations

from emulation.faults import FaultRun
from record.faults import FaultKind
from record.time_units import SECOND
from scenario.faults import Counter, CountReached, Counts
from scenario.faults.conditions import Cut, Down
from scenario.faults.planning import FaultSchedule, ScheduledFault
from scenario.faults.programs import Hold
from tests.emulation.simulation.test_overlay import ListTrace, Trial, line
from topology.link_properties import LinkDirection


def test_a_fault_run() -> None:
    trial = Trial(line(delay=0.001))
    events, log = trial.overlay.events, ListTrace("emulator")
    schedule = FaultSchedule(
        (
            ScheduledFault(2 * SECOND, Hold((Down("B2", FaultKind.KILL),), 3), "faults[0].kill"),
            ScheduledFault(
                CountReached(5, Counter.NOTIFICATIONS),
                Hold((Cut(LinkDirection("B1", "B2")), Cut(LinkDirection("B2", "B1")))),
                "faults[1]",
            ),
        )
    )
    run = FaultRun(schedule, trial.overlay, log, events.clock)
    begin = events.now + 7 * SECOND
    run.begin(begin)
    assert run.next_time == begin + 2 * SECOND
    assert run.awaits_counts
    assert run.advance(Counts()) == []
    for second, counts in ((2, Counts()), (4, Counts(4)), (5, Counts(4)), (6, Counts(6)), (8, Counts(9))):
        trial.overlay.run_until(begin + second * SECOND)
        run.advance(counts)
        assert ("B2" in trial.overlay.brokers.cores) == (second >= 5)
    assert not run.awaits_counts
    assert run.next_time is None
    trial.overlay.run_until(begin + 9 * SECOND)
    run.heal()
    logged = [((record.time - begin) / SECOND, record.event.value, record.text, record.peer) for record in log.records]
    assert logged == [
        (2, "fault", "kill", "B2"), (5, "healed", "restart", "B2"),
        (6, "fault", "link_down", "B1-B2"), (9, "healed", "link_up", "B1-B2"),
    ]  # fmt: skip
