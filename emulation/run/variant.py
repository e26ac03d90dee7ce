"""One variant of a scenario, or this host's part of it, from the start of its brokers to their end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import msgspec

from broker_service.errors import BrokerDefectError
from emulation.drivers.driver import DriverConfig
from emulation.fidelity import Measurements
from emulation.fidelity.throttling import count_periods, throttling
from emulation.host.processes import ProcessIdentity
from emulation.network import EmulatedNetwork, LinkDriver
from emulation.planning.dilation import dilate
from emulation.planning.plan import DriverInput, VariantPlan, broker_configs, write_driver_inputs
from emulation.planning.variant_record import new_variant
from emulation.run.context import HostSession
from emulation.run.drivers import Drivers
from emulation.run.faults import VariantFaults
from emulation.run.host_share import Part
from emulation.run.monitor import BrokerState, OverlayMonitor, QuietWatch
from emulation.run.observation import LoadObserver, link_checks
from emulation.runtimes.interface import Ending, Launch
from record.errors import HostError
from record.files import log_file
from topology import BrokerId

TICK = 0.5
"""Seconds between two looks at brokers and drivers."""
_SHORTEST_TICK = 0.05
_CONNECT_WITHIN = 30.0
_CONNECT_WITHIN_EACH = 1.0
"""Seconds that all brokers, and each further one, get to start and to connect."""
_STOP_WITHIN = 10.0
_QUIET_FOR = 1.0
"""Seconds of quiet after which the drain phase ends early."""


class VariantRun:
    """One variant under way; `execute` does it all. Nothing but the sandboxes carries over to the next variant."""

    def __init__(
        self, session: HostSession, plan: VariantPlan, driver: LinkDriver, part: Part, when_over: Callable[[], None]
    ) -> None:
        self._session = session
        self._plan = dilate(plan)
        self._part = part
        self._brokers: list[BrokerId] = [broker.id for broker in plan.overlay.brokers if broker.id in part.brokers]
        self._links = [link for link in self._plan.overlay.links if part.brokers & {link.a, link.b}]
        self._driver = driver
        self._when_over = when_over
        self._watched: dict[BrokerId, ProcessIdentity] = {}
        self.record = new_variant(plan.name, plan.settings, plan.scenario)
        self.measured = Measurements(variant=plan.name, time_dilation=plan.scenario.time_dilation)

    def execute(self) -> None:
        """Runs every phase. When the user interrupts, what runs is ended in order and `Interrupted` is raised."""
        session, timeline = self._session, self._plan.scenario.timeline
        snapshot = session.snapshot
        snapshot.brokers, snapshot.links = len(self._brokers), len(self._links)
        with ExitStack() as stack:
            with session.phase(self.record, "start", activity="building the network, starting brokers"):
                network = self._network(stack)
                monitor = self._start_brokers(stack, network)
                drivers = self._start_drivers(stack)
                faults = stack.enter_context(VariantFaults(session, self._plan, self._part, network, self._launches()))
                begin = self._part.rendezvous.begin()
            drivers.begin(int(begin * 1e9))
            faults.begin(int(begin * 1e9))
            with session.phase(
                self.record, "join", begin + timeline.join - time.monotonic(), "clients advertise and subscribe"
            ):
                self._join(network, monitor, drivers, faults, begin + timeline.join)
            with session.phase(self.record, "run", timeline.run, "publishers publish"):
                self._run(network, drivers, faults, begin + timeline.join + timeline.run)
            with session.phase(self.record, "drain", timeline.drain, "what is under way arrives"):
                self._drain(network, monitor, drivers, faults, timeline.drain)
                self._part.rendezvous.meet("drained")
            self._when_over()

    def _network(self, stack: ExitStack) -> EmulatedNetwork:
        """The variant's network, built and probed."""
        session, overlay = self._session, self._plan.overlay
        session.doing("making network namespaces")
        session.paths.make_socket_directories(self._brokers)
        sandboxes = session.runtime.sandboxes(self._brokers)
        session.interrupt.check()
        session.doing("wiring and shaping links")
        network = EmulatedNetwork(
            overlay,
            session.paths.run_id,
            self._driver,
            sandboxes,
            session.journal,
            seed=self._plan.scenario.seed,
            tunnels=self._part.tunnels,
        )
        stack.enter_context(network)
        self._part.rendezvous.meet("wired")
        session.interrupt.check()
        session.doing(f"probing {len(self._links)} links")
        self.measured.links += link_checks(network.probe(), "before", self.measured.time_dilation)
        self._part.rendezvous.meet("probed")
        session.interrupt.check()
        return network

    def _start_brokers(self, stack: ExitStack, network: EmulatedNetwork) -> OverlayMonitor:
        """Starts the brokers and waits until each is connected to its neighbours."""
        session = self._session
        session.doing("starting brokers")
        sockets = {broker: f"unix:{session.paths.socket(broker)}" for broker in self._brokers}
        stack.callback(self._stop_brokers)
        session.runtime.start(self._launches(), {broker: network.pid(broker) for broker in self._brokers})
        self._watched = dict(session.runtime.processes())
        session.doing("waiting for brokers to connect")
        monitor = stack.enter_context(OverlayMonitor(sockets))
        deadline = time.monotonic() + self._connect_within
        while not self._connected(monitor):
            if time.monotonic() > deadline:
                raise HostError(self._not_connected(monitor))
            session.interrupt.wait(TICK / 2)
        return monitor

    def _stop_brokers(self) -> None:
        session = self._session
        with session.phase(self.record, "stop", activity="stopping brokers"):
            self._watched.clear()
            session.runtime.stop(self._brokers, _STOP_WITHIN)

    def _launches(self) -> list[Launch]:
        session = self._session
        directory = session.paths.variant(self._plan.name)
        return [
            Launch(config=config, config_directory=directory / config.id, resources=self._plan.resources)
            for config in broker_configs(self._plan, session.paths.run_id, session.runtime.paths)
            if config.id in self._part.brokers
        ]

    @property
    def _connect_within(self) -> float:
        """Slower links take longer to open, too."""
        return _CONNECT_WITHIN * self.measured.time_dilation + _CONNECT_WITHIN_EACH * len(self._brokers)

    def _connected(self, monitor: OverlayMonitor) -> bool:
        """Whether every broker answers with all its links up. A broker that ends instead is an error."""
        session = self._session
        if endings := self._ended():
            _raise_defect(endings[0])
            raise HostError("\n".join([f"{endings[0]}, while starting", *endings[0].last_lines]))
        states = monitor.poll()
        session.snapshot.brokers_up = len(states)
        session.snapshot.links_up = sum(state.links_up for state in states.values()) // 2
        session.display.refresh()
        return self._whole(states)

    def _not_connected(self, monitor: OverlayMonitor) -> str:
        states = monitor.poll()
        silent = [broker for broker in self._brokers if broker not in states]
        if silent:
            return f"brokers {', '.join(silent[:5])} do not answer; see their logs in {self._session.paths.logs}"
        partial = [broker for broker, state in states.items() if state.links_up < state.links]
        return f"brokers {', '.join(partial[:5])} cannot reach all their neighbours over the emulated links"

    def _start_drivers(self, stack: ExitStack) -> Drivers:
        """Starts the clients and waits until they are connected to their brokers."""
        session = self._session
        session.doing("connecting clients")
        directory = session.paths.variant(self._plan.name)
        inputs = write_driver_inputs(self._plan.workload, directory, self._part.brokers, self._part.suffix)
        session.snapshot.publications = sum(one.publications for one in inputs)
        configs = [(one.name, self._write_driver(one)) for one in inputs]
        drivers = stack.enter_context(Drivers(configs, session.paths.run_id, session.journal))
        deadline = time.monotonic() + self._connect_within
        while not drivers.ready:
            if time.monotonic() > deadline:
                raise HostError(f"clients cannot connect to their brokers; see {session.paths.directory}")
            session.interrupt.wait(TICK / 5)
        return drivers

    def _write_driver(self, given: DriverInput) -> Path:
        """Writes a driver's configuration; returns its path."""
        paths = self._session.paths
        config = DriverConfig(
            name=given.name,
            variant=self._plan.name,
            log=str(log_file(paths.logs, given.name)),
            brokers={broker: f"unix:{paths.socket(broker)}" for broker in sorted(given.brokers)},
            operations=str(given.path),
        )
        path = paths.variant(self._plan.name) / f"{given.name}.json"
        path.write_bytes(msgspec.json.format(msgspec.json.encode(config), indent=2))
        return path

    def _join(
        self,
        network: EmulatedNetwork,
        monitor: OverlayMonitor,
        drivers: Drivers,
        faults: VariantFaults,
        end: float,
    ) -> None:
        """Lets clients join until the phase's time is over, and notes whether the overlay has become quiet by then."""
        session, quiet = self._session, QuietWatch()
        while (left := end - time.monotonic()) > 0:
            settled = quiet.quiet_since is not None
            if not faults.in_effect:  # a paused broker does not answer, and the faults to come do not wait for it
                states = monitor.poll()
                if time.monotonic() >= end:
                    break  # what moved may be the first publications
                if quiet.look(states) and not settled:
                    session.doing("all subscriptions are in place, nothing moves")
            self._look_after(network, drivers, faults)
            # Closer looks towards the end: whatever moved since the one before counts as not settled.
            faults.wait(min(TICK, max(_SHORTEST_TICK, left / 3), max(0.0, end - time.monotonic())))
        self.measured.unsettled = quiet.busy
        session.log.info("joined", quiet_since=quiet.quiet_since, busy=quiet.busy)
        if quiet.busy:
            session.say(
                f"{self._plan.name}: {len(quiet.busy)} of {len(self._brokers)} brokers were still passing on "
                "subscriptions when publishing began; a longer `timeline.join` lets them finish first"
            )

    def _run(self, network: EmulatedNetwork, drivers: Drivers, faults: VariantFaults, end: float) -> None:
        """Observes host and links while the publishers publish, and heals in the end what is broken."""
        quota = self._plan.resources.cpu
        self.measured.quotas = quota is not None or faults.throttle
        pids = [process.pid for broker, process in self._watched.items() if broker not in faults.hit]
        observer = LoadObserver(
            network, self._links, self._session.paths.run_id,
            seconds=end - time.monotonic(), dilation=self.measured.time_dilation,
        )  # fmt: skip
        periods = count_periods(pids)
        with observer:
            self._session.log.info("observing", variant=self._plan.name)
            while time.monotonic() < end:
                self._look_after(network, drivers, faults)
                faults.wait(min(TICK, max(0.0, end - time.monotonic())))
            faults.heal()
        observer.report(self.measured)
        if quota is not None:
            self.measured.throttling = throttling(quota, periods, count_periods(pids))
        self._session.log.info("observed", host=self.measured.host, relay=self.measured.relay)

    def _drain(
        self,
        network: EmulatedNetwork,
        monitor: OverlayMonitor,
        drivers: Drivers,
        faults: VariantFaults,
        most: float,
    ) -> None:
        """Waits until nothing has moved for a while, at most as long as the scenario says."""
        quiet, end = QuietWatch(), time.monotonic() + most
        quiet_for = _QUIET_FOR * self.measured.time_dilation
        while time.monotonic() < end:
            self._look_after(network, drivers, faults)
            states = monitor.poll()
            quiet.look(states)
            rested = quiet.quiet_since is not None and time.monotonic() - quiet.quiet_since >= quiet_for
            if drivers.status.done and rested and (not faults.planned or self._whole(states)):
                return
            self._session.interrupt.wait(TICK)
        if quiet.busy or not drivers.status.done:
            self._session.say(f"{self._plan.name}: messages were still under way when the drain phase ended")

    def _whole(self, states: Mapping[BrokerId, BrokerState]) -> bool:
        """Whether all brokers are there, and linked to all their neighbours."""
        return len(states) == len(self._brokers) and all(state.links_up == state.links for state in states.values())

    def _look_after(self, network: EmulatedNetwork, drivers: Drivers, faults: VariantFaults) -> None:
        """Lets happen what is due, takes counters to the display, and notices what has ended by itself."""
        session = self._session
        faults.advance(drivers.status)
        self._watched = dict(session.runtime.processes())
        drivers.check()
        network.check()
        for ending in self._ended():
            self.measured.endings.append(ending)
            session.say("\n    ".join([f"{self._plan.name}: {ending}", *ending.last_lines]))
            _raise_defect(ending)
        status = drivers.status
        session.snapshot.published, session.snapshot.delivered = status.published, status.notified
        session.snapshot.rejected = status.rejected
        session.snapshot.brokers_up = len(self._watched)
        session.display.refresh()

    def _ended(self) -> list[Ending]:
        """Brokers that have ended by themselves since the last look."""
        gone = [broker for broker, process in self._watched.items() if not process.alive]
        for broker in gone:
            del self._watched[broker]
        return [self._session.runtime.ending(broker) for broker in gone]


def _raise_defect(ending: Ending) -> None:
    """Raises `BrokerDefectError` for a broker whose own code failed: a run without it proves nothing."""
    if ending.is_defect:
        raise BrokerDefectError(ending.broker, str(ending))
