"""The faults of a simulated variant, between two steps of virtual time."""

from __future__ import annotations

from broker_service.trace import Trace
from emulation.drivers.clients import Counts
from emulation.faults import Action, FaultRun, Schedule
from emulation.faults import Counts as FaultCounts
from emulation.faults.actuator import described
from emulation.run.context import Session
from emulation.simulation.actuator import SimulatedActuator
from emulation.simulation.links import NANOSECONDS
from emulation.simulation.overlay import SimulatedOverlay

_COUNTING_STEP = NANOSECONDS // 1000
"""Virtual time that passes at once while a fault waits for a count to be reached: it comes no later than that."""


class SimulatedFaults:
    """See the module."""

    def __init__(
        self, session: Session, schedule: Schedule, overlay: SimulatedOverlay, trace: Trace, counts: Counts
    ) -> None:
        """`counts` is what the clients have done, and `trace` the log of faults."""
        self._session = session
        self._overlay = overlay
        self._counts = counts
        self._planned = bool(schedule)
        actuator = SimulatedActuator(overlay)
        self._fault_run = FaultRun(schedule, overlay.overlay, actuator, trace, overlay.agenda.clock)

    def begin(self, start: int) -> None:
        """The workload begins at this virtual time."""
        self._fault_run.begin(start)

    def before(self, time: int) -> int:
        """How far virtual time may go, at most up to this time, before `advance` has to be called."""
        if not self._planned:
            return time
        now, due = self._overlay.agenda.now, self._fault_run.next_time
        if self._fault_run.awaits_counts:
            time = min(time, now + _COUNTING_STEP)
        return time if due is None else max(now, min(time, due))

    def advance(self) -> None:
        """Lets happen what is due."""
        if self._planned:
            counts = FaultCounts(self._counts.notified, self._counts.published)
            self._note(self._fault_run.advance(counts))

    def heal(self) -> None:
        """Ends all faults."""
        self._note(self._fault_run.heal())

    def _note(self, actions: list[Action]) -> None:
        if actions:
            self._session.log.info("faults", done=", ".join(described(actions)))
            self._session.snapshot.brokers_up = len(self._overlay.brokers)
