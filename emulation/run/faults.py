"""The faults of a variant that runs on this host, between two looks at the run."""

from __future__ import annotations

import time
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from broker_service.trace_writer import FileTrace, NullTrace
from emulation.faults import Action, Counts, FaultRun
from emulation.faults.actuator import described
from emulation.faults.fault_run import NODE
from emulation.network import EmulatedNetwork
from emulation.planning.plan import VariantPlan
from emulation.run.actuator import HostActuator
from emulation.run.context import HostSession
from emulation.run.drivers import DriverStatus
from emulation.run.host_share import Part
from emulation.runtimes.interface import Launch
from record.files import log_file

_SHOWN = 4
"""Faults told in one line."""


class VariantFaults:
    """See the module. A context: leaving it closes the log of faults, and heals nothing."""

    def __init__(
        self, session: HostSession, plan: VariantPlan, part: Part, network: EmulatedNetwork, launches: Iterable[Launch]
    ) -> None:
        """`launches` are those that the brokers were started with."""
        self._session = session
        self._plan = plan
        self._schedule = part.own(plan.schedule())
        node = f"{NODE}{part.suffix}"
        path = log_file(session.paths.logs, node)
        # Without faults there is no such log.
        self._trace = FileTrace(path, node, plan.name) if self._schedule else NullTrace(node, plan.name)
        addresses = {broker.id: f"unix:{session.paths.socket(broker.id)}" for broker in plan.overlay.brokers}
        actuator = HostActuator(session.runtime, network, launches, addresses)
        self._fault_run = FaultRun(self._schedule, plan.overlay, actuator, self._trace, session.clock)
        self.hit = self._schedule.brokers
        """Brokers that a fault hits sooner or later."""
        self.throttle = self._schedule.throttles
        """Whether a fault gives a broker a quota, sooner or later."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._trace.close()

    @property
    def planned(self) -> bool:
        """Whether anything is to go wrong in this variant."""
        return bool(self._schedule)

    def begin(self, start: int) -> None:
        """The workload begins at this time of the run's clock."""
        self._fault_run.begin(start)

    @property
    def in_effect(self) -> bool:
        """Whether anything is wrong at present."""
        return self._fault_run.in_effect

    def wait(self, seconds: float) -> None:
        """Until then, or until the next fault is due. Raises `Interrupted` when the user wants the end."""
        due = self._fault_run.next_time
        if due is not None:
            seconds = max(0.0, min(seconds, due / 1e9 - time.monotonic()))
        self._session.interrupt.wait(seconds)

    def advance(self, status: DriverStatus) -> None:
        """Lets happen what is due. Raises `HostError`."""
        self._note(self._fault_run.advance(Counts(status.notified, status.published)))

    def heal(self) -> None:
        """Ends all faults. Raises `HostError`."""
        if self.in_effect:
            self._session.doing("healing what is still broken")
        self._note(self._fault_run.heal())

    def _note(self, actions: list[Action]) -> None:
        if not actions:
            return
        self._trace.flush()
        done = described(actions)
        more = f" and {len(done) - _SHOWN} more" if len(done) > _SHOWN else ""
        self._session.log.info("faults", variant=self._plan.name, done=", ".join(done))
        self._session.say(f"{self._plan.name}: {', '.join(done[:_SHOWN])}{more}")
