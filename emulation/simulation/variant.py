"""One variant of a scenario in virtual time, from the start of its brokers to their end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from broker_service.errors import BrokerDefectError
from emulation.drivers.driver_operations import ready
from emulation.faults.fault_run import NODE as FAULT_NODE
from emulation.fidelity import Measurements
from emulation.planning.dilation import dilate
from emulation.planning.plan import VariantPlan
from emulation.planning.variant_record import new_variant
from emulation.run.context import Session
from emulation.run.directory import full_disk_in_words
from emulation.simulation.calibration import Calibration
from emulation.simulation.clients import ClientNodes
from emulation.simulation.event_queue import Agenda, UnsettledError
from emulation.simulation.faults import SimulatedFaults
from emulation.simulation.links import NANOSECONDS
from emulation.simulation.logs import LogDirectory
from emulation.simulation.overlay import Settings, SimulatedOverlay
from record.errors import HostError

_STEP = NANOSECONDS // 10
"""Virtual time that passes at most between two looks at the user and the disk."""
_LOOK_INTERVAL = 0.2
"""Seconds between two refreshed displays."""
_START_WITHIN = 60.0
_STOP_WITHIN = 2.0
"""Virtual seconds that links get to come up, and what is under way gets to arrive when all ends."""


class SimulatedVariant:
    """One variant under way; `execute` does it all."""

    def __init__(
        self,
        session: Session,
        plan: VariantPlan,
        calibration: Calibration,
        agenda: Agenda,
        *,
        stopwatch: Callable[[], int] | None = None,
    ) -> None:
        self.record = new_variant(plan.name, plan.settings, plan.scenario)
        self.measured = Measurements(variant=plan.name, time_dilation=plan.scenario.time_dilation)
        plan = dilate(plan)
        self._session = session
        self._plan = plan
        self._agenda = agenda
        self._logs = LogDirectory(session.paths.logs, plan.name)
        schedule = plan.schedule()
        settings = replace(_settings(plan, calibration), stopwatch=stopwatch)
        self._overlay = SimulatedOverlay(plan.overlay, settings, self._logs.of, agenda)
        self._clients = ClientNodes(plan.workload, self._overlay, self._logs.of)
        log, counts = self._logs.of(FAULT_NODE), self._clients.counts
        self._faults = SimulatedFaults(session, schedule, self._overlay, log, counts)
        self._operations = plan.workload.operations()
        self._next = next(self._operations, None)
        self._begin = 0
        """When the workload began, in virtual time."""
        self._began = time.monotonic()
        self._look_at = 0.0

    def execute(self) -> None:
        """Runs every phase. When the user interrupts, brokers end where they are and `Interrupted` is raised."""
        session, timeline = self._session, self._plan.scenario.timeline
        snapshot, overlay = session.snapshot, self._plan.overlay
        snapshot.publications = self._plan.workload.estimate().publications
        snapshot.brokers = snapshot.brokers_up = len(overlay.brokers)
        snapshot.links = len(overlay.links)
        try:
            with session.phase(self.record, "start", activity="starting brokers, opening links"):
                self._start()
            self._begin = self._agenda.now
            self._faults.begin(self._begin)
            with session.phase(self.record, "join", timeline.join, "clients advertise and subscribe"):
                self._issue_until(self._at(timeline.join))
            self.measured.unsettled = self._overlay.busy
            with session.phase(self.record, "run", timeline.run, "publishers publish"):
                self._issue_until(self._at(timeline.join + timeline.run))
                self._faults.heal()
            with session.phase(self.record, "drain", timeline.drain, "what is under way arrives"):
                self._drain(self._at(timeline.duration))
            with session.phase(self.record, "stop", activity="clients leave, brokers stop"):
                self._leave()
        except BrokerDefectError:
            self._logs.flush()  # and no more: a router that failed is not called again
            raise
        except BaseException:
            self._stop()
            raise
        self._stop()

    def _start(self) -> None:
        within = _START_WITHIN * self.measured.time_dilation
        try:
            self._overlay.start()
            self._overlay.settle(within)
        except UnsettledError:
            raise HostError(
                f"{self._plan.name}: links do not come up within {within:g} s of virtual time; "
                "`topology.link` says how they are: less `loss` or `delay` lets them"
            ) from None
        self._clients.open()
        self._session.snapshot.links_up = len(self._plan.overlay.links)

    def _at(self, seconds: float) -> int:
        """The virtual time so many seconds after the workload began."""
        return self._begin + round(seconds * NANOSECONDS)

    def _issue_until(self, end: int) -> None:
        """Has clients do what they should do before this virtual time, open loop, and lets it come."""
        while self._next is not None and (at := self._begin + self._next.at) < end:
            self._advance(at)
            self._clients.issue(ready(self._next), at)
            self._next = next(self._operations, None)
        self._advance(end)

    def _drain(self, end: int) -> None:
        """Waits until nothing moves any more, at most as long as the scenario says."""
        while not (self._overlay.settled and self._next is None) and self._agenda.now < end:
            self._issue_until(min(end, self._agenda.now + _STEP))
        if not self._overlay.settled:
            self._session.say(f"{self._plan.name}: messages were still under way when the drain phase ended")

    def _leave(self) -> None:
        self._clients.close()
        try:
            self._overlay.settle(_STOP_WITHIN * self.measured.time_dilation)
        except UnsettledError:
            self._session.log.info("brokers stopped with messages under way", variant=self._plan.name)

    def _stop(self) -> None:
        self._clients.stop()
        self._overlay.stop()
        self._logs.flush()
        self._check_logs()

    def _advance(self, until: int) -> None:
        """Lets virtual time pass, and happen what is due, looking after user and disk every now and then."""
        overlay, agenda, faults = self._overlay, self._agenda, self._faults
        while agenda.now < until:
            overlay.run_until(faults.before(min(until, agenda.now + _STEP)))
            faults.advance()
            if time.monotonic() >= self._look_at:
                self._look()

    def _look(self) -> None:
        """Raises `Interrupted` when the user asks for it, `HostError` when the disk is full."""
        session, now = self._session, time.monotonic()
        self._look_at = now + _LOOK_INTERVAL
        session.interrupt.check()
        self._check_logs()
        snapshot, counts = session.snapshot, self._clients.counts
        snapshot.published, snapshot.delivered = counts.published, counts.notified
        snapshot.rejected = counts.rejected
        snapshot.speed = snapshot.clock() / max(1e-9, now - self._began)
        session.display.refresh()

    def _check_logs(self) -> None:
        if self._logs.failure is not None:
            with full_disk_in_words(self._session.paths.directory):
                raise self._logs.failure


def _settings(plan: VariantPlan, calibration: Calibration) -> Settings:
    scenario = plan.scenario
    return Settings(
        protocol=scenario.routing.protocol,
        options=scenario.routing.options,
        seed=scenario.seed,
        limits=scenario.brokers.limits.limits(),
        service_time=scenario.brokers.work(),
        calibration=calibration,
        variant=plan.name,
    )
