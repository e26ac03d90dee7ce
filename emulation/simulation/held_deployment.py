"""A variant that is held in virtual time: clients do more than was planned, and time passes as its holder says."""

from __future__ import annotations

from collections.abc import Callable

from emulation.held.awaited_records import RecordWatch
from emulation.held.hold import Hold
from emulation.planning.calibration import Calibration
from emulation.planning.plan import PUBLISHERS, SUBSCRIBERS, VariantPlan
from emulation.run.context import RunContext
from emulation.simulation.deployment import SimulatedDeployment
from emulation.simulation.hands import SimulatedHands
from emulation.simulation.held_operations import HeldOperations
from emulation.simulation.held_time import VirtualTime
from emulation.simulation.logs import LogDirectory
from scenario.workload.operations import PlannedOperation


class HeldDeployment(SimulatedDeployment):
    """A `Deployment` in virtual time under somebody's hands."""

    def __init__(
        self,
        context: RunContext,
        plan: VariantPlan,
        calibration: Calibration,
        *,
        hold: Hold,
        time_dilation: float,
        stopwatch: Callable[[], int] | None = None,
        speed: float | None = None,
    ) -> None:
        """`speed` is that with which the hold begins. Raises `BadInputError` for a speed that is none."""
        self._watch = RecordWatch()
        self._inserting = HeldOperations(plan.workload)
        logs = LogDirectory(context.paths.logs, plan.name, self._watch)
        super().__init__(
            context,
            plan,
            calibration,
            time_dilation=time_dilation,
            stopwatch=stopwatch,
            logs=logs,
            operations=self._inserting,
        )
        passing = VirtualTime(
            1.0 if speed is None else speed,
            following=self._following,
            watch=self._watch,
            nodes={PUBLISHERS, SUBSCRIBERS, *(broker.id for broker in plan.overlay.brokers)},
            wait=context.interrupt.wait,
            flush=logs.flush,
            most=hold.limit,
        )
        self.hands = SimulatedHands(
            hold,
            passing,
            self.overlay,
            issue=self._insert,
            end_workload=self._end_workload,
            logs=context.paths.logs,
        )

    def begin(self) -> int:
        self._watch.begin()
        return super().begin()

    def _insert(self, operation: PlannedOperation) -> None:
        """Has a client do something besides, at a time that has not passed."""
        self._clients.admit(operation)
        self._next = self._inserting.insert(operation, self._next)

    def _end_workload(self, at: int) -> None:
        """Has clients do nothing more from this time on, nanoseconds since the workload began."""
        self._inserting.end_at(at)
        if self._next is not None and self._next.at >= at:
            self._next = None

    def _following(self) -> int | None:
        """The time of the next thing that happens: an operation, which may be due now, or an event."""
        operation = None if self._next is None else self._begin + self._next.at
        return min((due for due in (operation, self._events.following()) if due is not None), default=None)
