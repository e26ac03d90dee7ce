"""The clock of a simulated broker that is to leap. All others tell the simulation's own time."""

from __future__ import annotations

from broker_service.trace import Trace
from emulation.simulation.event_queue import Agenda
from record.log import TraceRecord


class LeapingClock:
    """Called, it tells nanoseconds; it goes as fast as the simulation's time, and is ahead of it."""

    def __init__(self, agenda: Agenda) -> None:
        self.ahead = 0
        """Nanoseconds."""
        self._agenda = agenda

    def __call__(self) -> int:
        return self._agenda.now + self.ahead


class TrueTime:
    """The log of a broker whose clock leaps. Its records get the simulation's time, by which logs are compared.

    Durations stay as the broker measured them: the leap is in those that it fell into.
    """

    def __init__(self, trace: Trace, clock: LeapingClock) -> None:
        self.node = trace.node
        self.variant = trace.variant
        self._trace = trace
        self._clock = clock

    def write(self, record: TraceRecord) -> None:
        record.time -= self._clock.ahead
        self._trace.write(record)
