"""A variant deployed in virtual time: the simulated overlay and its clients, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

from broker_service.tracing.trace import Trace
from emulation.drivers.driver_operations import SharedPredicates, ready
from emulation.drivers.status import ClientCounts
from emulation.live_overlay import Tables, UnsettledError
from emulation.live_overlay.contract import LiveSites
from emulation.planning.calibration import Calibration
from emulation.planning.plan import VariantPlan
from emulation.run.context import RunContext
from emulation.run.deployment import Pace
from emulation.run.hands import Hands
from emulation.run.progress import Snapshot
from emulation.simulation.access import session_opening
from emulation.simulation.clients import ClientNodes
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.fault_observer import BackgroundLooks, SimulatedObserver
from emulation.simulation.logs import LogDirectory, RunLogs
from emulation.simulation.overlay import SimulatedOverlay
from emulation.simulation.throttle import Throttle
from emulation.verification.verifier import FaultVerifier
from record.callbacks import do_nothing
from record.errors import HostError
from record.log import EMULATOR
from record.time_units import SECOND
from scenario.workload.operations import PlannedOperation
from topology.link_properties import BrokerId

_STEP = SECOND // 10
"""Virtual time that passes at most between two looks at the user and the disk."""
_LOOK_INTERVAL = 0.2
"""Seconds between two refreshed displays."""
_START_WITHIN = 60.0
_STOP_WITHIN = 2.0
"""Virtual seconds that links get to come up, and messages in flight get to arrive when all ends."""


class _PhaseSpeed:
    """Speed of virtual time in the present phase, because another one differs in its work."""

    def __init__(self) -> None:
        self._phase = self._clock = self._real = -1.0

    def of(self, snapshot: Snapshot, real: float) -> float:
        """Seconds of virtual time to one of real time; 0 when the phase is seen for the first time."""
        if snapshot.phase_begin != self._phase:
            self._phase, self._clock, self._real = snapshot.phase_begin, snapshot.clock(), real
            return 0.0
        return (snapshot.clock() - self._clock) / max(1e-9, real - self._real)


class SimulatedDeployment:
    """A `Deployment` in virtual time. A thousand operations a second are issued here, so that steps must be cheap."""

    pace = Pace(
        rest=0.001,  # in virtual time, a quiet overlay stays quiet
        counting_step=SECOND // 1000,
        longest_look=_STEP / SECOND,
        shortest_look=_STEP / SECOND,
    )

    hands: Hands | None = None
    """Operations by hand; None, because the run is not held."""

    def __init__(
        self,
        context: RunContext,
        plan: VariantPlan,
        calibration: Calibration,
        *,
        time_dilation: float,
        stopwatch: Callable[[], int] | None = None,
        speed: float | None = None,
        logs: RunLogs | None = None,
        operations: Iterator[PlannedOperation] | None = None,
    ) -> None:
        """`plan` is dilated, by `time_dilation`. `speed` is seconds of the scenario that may pass in one real second;
        None for as many as the host can do. `logs` and `operations` are those of the plan by default."""
        self.schedule = plan.schedule()
        self.elsewhere = frozenset[BrokerId]()
        self._context = context
        self._plan = plan
        self._time_dilation = time_dilation
        self._events = events = EventQueue()
        self.clock = events.clock
        self._logs: RunLogs = logs or LogDirectory(context.paths.logs, plan.name)
        self.overlay = SimulatedOverlay(
            plan.overlay, plan.broker_settings, self._logs.of, events, calibration=calibration, stopwatch=stopwatch
        )
        self.fault_observer = SimulatedObserver(
            self.overlay, plan.scenario.seed, session_opening(plan.sites, plan.broker_settings.limits)
        )
        self._clients = ClientNodes(plan.workload, plan.sites, self.overlay, self._logs.of, plan.promises)
        self.sites: LiveSites = self._clients.sites
        self._predicates = SharedPredicates()
        self._operations = plan.workload.operations() if operations is None else operations
        self._next = next(self._operations, None)
        self._begin = 0
        """Virtual time at which the workload began."""
        self._speed = _PhaseSpeed()
        self._look_at = 0.0
        events.look = self.look
        self._hold: Callable[[int], None] = do_nothing
        if speed is not None:
            self._hold = Throttle(speed * time_dilation, context.interrupt.wait, self._logs.flush).hold

    @property
    def counts(self) -> ClientCounts:
        return self._clients.counts

    @property
    def done(self) -> bool:
        return self._next is None

    def start(self) -> list[str]:
        snapshot, overlay = self._context.snapshot, self._plan.overlay
        snapshot.publications = self._plan.workload.publications
        snapshot.brokers, snapshot.links = len(overlay.brokers), len(overlay.links)
        within = _START_WITHIN * self._time_dilation
        try:
            self.overlay.start()
            self.overlay.settle(within)
        except UnsettledError:
            raise HostError(
                f"{self._plan.name}: links do not come up within {within:g} s of virtual time; "
                "`topology.link` says how they are: less `loss` or `delay` lets them"
            ) from None
        self._clients.open()
        snapshot.brokers_up, snapshot.links_up = snapshot.brokers, snapshot.links
        return self._clients.nodes

    def open_event_log(self) -> Trace:
        return self._logs.of(EMULATOR)

    def begin(self) -> int:
        self._begin = self._events.now
        return self._begin

    def advance(self, until: int) -> None:
        """Has clients do what is due by now, open loop, and lets virtual time pass until the next operation at most."""
        events, begin, clients = self._events, self._begin, self._clients
        now, operation = events.now, self._next
        while operation is not None and begin + operation.at <= now:
            encoded = ready(operation, self.overlay.contents.ready, self._predicates.encode)
            clients.issue(encoded, begin + operation.at)
            operation = next(self._operations, None)
        self._next = operation
        until = min(until, now + _STEP)
        events.run_until(until if operation is None else min(until, begin + operation.at))
        self._hold(events.now)

    def look(self) -> None:
        """Raises `Interrupted` when the user asks for the end, `OSError` when the disk is full."""
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_INTERVAL
        context, snapshot = self._context, self._context.snapshot
        context.interrupt.check()
        self._check_logs()
        snapshot.brokers_up = len(self.overlay.brokers.cores)
        snapshot.speed = self._speed.of(snapshot, now)
        context.show_counts(self._clients.counts)

    def observing(self, seconds: float) -> AbstractContextManager[None]:
        """Virtual time has no host and no relay to be observed."""
        return nullcontext()

    def look_regularly(self, verifier: FaultVerifier) -> BackgroundLooks:
        return BackgroundLooks(verifier, self._events)

    def drained(self) -> None:
        """Does nothing, because no other host shares the variant."""

    def leave(self, *nodes: str) -> None:
        for node in nodes:
            self._clients.close(node)
        if self._plan.scenario.timeline.withdraw is None:
            return  # nobody looks at what brokers would withdraw for their clients: a quarter of a large run's time
        try:
            self.settle(_STOP_WITHIN * self._time_dilation)
        except UnsettledError:
            self._context.log.info("clients left with messages in flight", variant=self._plan.name)

    def settle(self, within: float) -> None:
        self._events.settle(round(within * SECOND))

    def read_tables(self) -> Tables:
        return self.overlay.brokers.tables()

    def stop(self) -> None:
        self._clients.stop()
        self.overlay.stop()
        self.abandon()

    def abandon(self) -> None:
        self._logs.flush()
        self._check_logs()

    def _check_logs(self) -> None:
        if self._logs.failure is not None:
            raise self._logs.failure
