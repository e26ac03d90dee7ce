"""A variant deployed on this host, or this host's share of it: network, broker processes and driver processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from broker_service.tracing.trace_writer import FileTrace, NullTrace
from emulation.drivers.driver import DriverConfig
from emulation.drivers.status import DriverStatus
from emulation.fidelity import Measurements
from emulation.fidelity.throttling import count_periods, throttling
from emulation.live_overlay import BrokerStatus, Tables, UnsettledError
from emulation.network.model import LinkDriver
from emulation.network.network import EmulatedNetwork
from emulation.planning.plan import DriverInput, VariantPlan, write_driver_inputs
from emulation.run.common_quiet import Vote, settle_together
from emulation.run.context import HostRunContext
from emulation.run.drivers import Drivers
from emulation.run.folder_watch import FolderWatch
from emulation.run.host_fault_observer import HostObserver, RegularLooks
from emulation.run.host_share import LEFT, READ, SETTLED, HostShare, leaving_stage
from emulation.run.log_watch import LogWatch
from emulation.run.observation import LoadObserver, link_checks, probed_under_load
from emulation.run.processor_sampling import ProcessorSampler, no_sampling, sampling_request
from emulation.runtimes.host_overlay import Hosting, HostOverlay, host_configs
from emulation.runtimes.patience import Patience, busy_processors
from emulation.verification.verifier import FaultVerifier
from record.errors import HostError
from record.files import log_file
from record.log import EMULATOR
from record.time_units import SECOND
from topology.link_properties import BrokerId, LinkProperties

TICK = 0.5
"""Seconds between two looks at brokers and drivers."""
_SHORTEST_TICK = 0.05
_CONNECT_WITHIN = 30.0
_CONNECT_WITHIN_EACH = 1.0
"""Seconds that all brokers, and each further one, get to start and to connect."""
_QUIET_FOR = 1.0
"""Seconds of quiet after which the drain phase ends early."""


class HostDeployment:
    """A `Deployment` in real time. Nothing but the sandboxes carries over to the next variant."""

    counting_step = round(TICK * SECOND)

    def __init__(
        self,
        context: HostRunContext,
        plan: VariantPlan,
        share: HostShare,
        driver: LinkDriver,
        measured: Measurements,
        *,
        when_over: Callable[[], None],
    ) -> None:
        """`plan` is dilated; `when_over` is called when the variant's messages have arrived."""
        self.schedule = share.own(plan.schedule())
        self.rest = _QUIET_FOR * measured.time_dilation
        self.clock = context.clock
        self._context = context
        self._plan = plan
        self._share = share
        self._driver = driver
        self._measured = measured
        self._when_over = when_over
        self._brokers = [broker.id for broker in plan.overlay.brokers if broker.id in share.brokers]
        self._wired = plan.wired
        self._links = [link for link in self._wired.links if share.brokers & {link.a, link.b}]
        self._left: tuple[str, ...] = ()
        """Nodes whose clients have left last."""
        self._exits = ExitStack()
        self._log_watch = LogWatch(context.paths.logs, plan.resources.log_bytes)
        paths = context.paths
        self._folder_watch = FolderWatch(
            {broker: (paths.stored(broker), paths.socket(broker).parent) for broker in self._brokers}
        )
        self._exits.callback(self._note_changed_logs)
        self._exits.enter_context(self._log_watch)
        self._trace: FileTrace | NullTrace = NullTrace(EMULATOR, plan.name)

    @property
    def overlay(self) -> HostOverlay:
        return self._overlay

    @property
    def counts(self) -> DriverStatus:
        return self._drivers.status

    @property
    def drivers(self) -> list[str]:
        return self._drivers.names

    @property
    def done(self) -> bool:
        return self._drivers.status.done

    def start(self) -> None:
        snapshot = self._context.snapshot
        snapshot.brokers = len(self._brokers)
        snapshot.links = len(self._links) - len(self._plan.later_pairs)
        self._network = self._exits.enter_context(self._emulated_network())
        self._share.rendezvous.wait_for_all("wired", self._context.interrupt.wait)
        self._probe()
        for a, b in self._plan.later_pairs:
            self._network.disconnect(a, b)
        self._share.rendezvous.wait_for_all("probed", self._context.interrupt.wait)
        self._context.interrupt.check()
        self._overlay = self._started_brokers()
        self._drivers = self._started_drivers()
        self._sample_processors()
        self._observer = HostObserver(self._network, self._overlay.addresses, self._context.paths.run_id)
        self._exits.callback(self._observer.close)

    def open_event_log(self) -> FileTrace | NullTrace:
        node = f"{EMULATOR}{self._share.suffix}"
        if self.schedule or self._plan.evolution is not None:  # other runs have no such log
            self._trace = FileTrace(log_file(self._context.paths.logs, node), node, self._plan.name)
            self._exits.callback(self._trace.close)
        return self._trace

    def begin(self) -> int:
        rendezvous = self._share.rendezvous
        start = int(rendezvous.begin(self._wait) * SECOND)
        self._drivers.begin(start, rendezvous.clock_offset)
        return start

    def advance(self, until: int) -> None:
        self._context.interrupt.wait(min(TICK, max(0, until - time.monotonic_ns()) / SECOND))

    def look(self) -> None:
        context = self._context
        self._trace.flush()
        self._drivers.check()
        self._network.check()
        self._note_ended_brokers()
        context.snapshot.brokers_up = len(self._overlay.expected.running)
        self._log_watch.look()
        self._folder_watch.look()
        context.show_counts(self._drivers.status)

    def look_interval(self, left: float) -> float:
        """Short towards the end, because whatever moved since the latest look counts as not settled."""
        return min(TICK, max(_SHORTEST_TICK, left / 3))

    @contextmanager
    def observing(self, seconds: float) -> Iterator[None]:
        quota = self._plan.resources.cpu
        processes = self._context.runtime.processes()
        pids = [process.pid for broker, process in processes.items() if broker not in self.schedule.brokers]
        links = probed_under_load(self._links, self._used_links, self._plan.scenario.seed)
        observer = LoadObserver(
            self._network, links, self._context.paths.run_id,
            seconds=seconds, dilation=self._measured.time_dilation, steady=self._steady_directions(),
        )  # fmt: skip
        periods = count_periods(pids)
        with observer:
            self._context.log.info("observing", variant=self._plan.name)
            yield
        observer.report(self._measured)
        if quota is not None:
            self._measured.throttling = throttling(quota, periods, count_periods(pids))
        self._context.log.info("observed", host=self._measured.host, relay=self._measured.relay)

    def _steady_directions(self) -> dict[tuple[BrokerId, BrokerId], LinkProperties]:
        """The directions of links, where neither faults nor an overlay that changes alter them."""
        if self.schedule or self._plan.evolution is not None:
            return {}
        forward = {(link.a, link.b): link.forward for link in self._links}
        return forward | {(link.b, link.a): link.backward for link in self._links}

    def _used_links(self) -> set[frozenset[BrokerId]]:
        """Ends of the links that have carried messages."""
        return {
            frozenset((broker, end.neighbour))
            for broker, status in self._overlay.status().items()
            for end in status.links
            if end.sent or end.received
        }

    @property
    def fault_observer(self) -> HostObserver:
        return self._observer

    def look_regularly(self, verifier: FaultVerifier) -> RegularLooks:
        looks = RegularLooks(verifier, self._observer.looks_again)
        self._exits.callback(looks.end)
        return looks

    def drained(self) -> None:
        self._wait_for_all("drained")
        self._when_over()

    def leave(self, *nodes: str) -> None:
        for node in nodes:
            self._drivers.stop(f"{node}{self._share.suffix}")
        self._left = nodes
        self._wait_for_all(leaving_stage(nodes, LEFT))

    def settle(self, within: float) -> None:
        settle_together(self._overlay.quiet_looks(), self._votes, within)

    def read_tables(self) -> Tables:
        tables = self._overlay.tables()
        self._wait_for_all(leaving_stage(self._left, READ))
        return tables

    def stop(self) -> None:
        self._exits.close()

    def abort(self) -> None:
        self._exits.close()

    def abandon(self) -> None:
        self._exits.close()

    # Waiting

    def _wait_for_all(self, stage: str) -> None:
        self._share.rendezvous.wait_for_all(stage, self._wait)

    def _votes(self, number: int, vote: Vote) -> list[Vote]:
        stage = f"{leaving_stage(self._left, SETTLED)}-{number}"
        return [Vote(cast) for cast in self._share.rendezvous.votes(stage, vote, self._wait)]

    def _wait(self, seconds: float) -> None:
        """Waits while brokers run, and raises what `look` raises."""
        self._context.interrupt.wait(seconds)
        self.look()

    def _note_changed_logs(self) -> None:
        self._measured.changed_logs = self._log_watch.faults

    def _note_ended_brokers(self) -> None:
        """Notes brokers that have ended by themselves. Raises `BrokerDefectError` for one whose own code failed."""
        for ending in self._overlay.ended():
            self._measured.endings.append(ending)
            if ending.is_defect:  # a run without this broker proves nothing
                self._context.announce(f"{self._plan.name}: {ending}")
                raise ending.defect()
            self._context.announce("\n    ".join([f"{self._plan.name}: {ending}", *ending.last_lines]))

    def _sample_processors(self) -> None:
        """Samples processors until brokers stop, on a kernel that can tell."""
        reason = no_sampling()
        self._measured.no_processor_times = reason
        if reason:
            return
        pids = {broker: self._network.pid(broker) for broker in self._brokers}
        request = sampling_request(self._context.paths, self._plan.name, pids)
        self._exits.enter_context(ProcessorSampler(request, self._context.paths.run_id, self._context.journal))

    # Network, brokers, clients

    def _emulated_network(self) -> EmulatedNetwork:
        context = self._context
        context.doing("making network namespaces")
        context.paths.make_socket_directories(self._brokers)
        sandboxes = context.runtime.sandboxes(self._brokers)
        context.interrupt.check()
        context.doing("wiring and shaping links")
        return EmulatedNetwork(
            self._wired,
            context.paths.run_id,
            self._driver,
            sandboxes,
            context.journal,
            seed=self._plan.scenario.seed,
            tunnels=self._share.tunnels,
        )

    def _probe(self) -> None:
        self._context.interrupt.check()
        self._context.doing(f"probing {len(self._links)} links")
        self._measured.links += link_checks(self._network.probe(), "before", self._measured.time_dilation)

    def _started_brokers(self) -> HostOverlay:
        """The brokers, each connected to its neighbours."""
        context, plan = self._context, self._plan
        context.doing("starting brokers")
        hosting = Hosting(
            runtime=context.runtime,
            network=self._network,
            sockets=context.paths.socket,
            directory=context.paths.variant(plan.name),
            resources=plan.resources,
            wait=context.interrupt.wait,
        )
        configs = host_configs(
            plan.overlay, plan.broker_settings, context.paths.run_id, context.runtime.files, wired=self._wired
        )
        overlay = HostOverlay(plan.overlay, configs, hosting, brokers=self._brokers, on_status=self._show)
        self._exits.callback(overlay.stop)
        overlay.start()
        context.doing("waiting for brokers to connect")
        try:
            overlay.await_links(self._connect_within)
        except UnsettledError as error:
            raise HostError(f"while brokers started: {error}; see their logs in {context.paths.logs}") from error
        return overlay

    def _show(self, statuses: Mapping[str, BrokerStatus]) -> None:
        snapshot = self._context.snapshot
        snapshot.brokers_up = len(statuses)
        snapshot.links_up = sum(status.links_up for status in statuses.values()) // 2
        self._context.display.refresh()

    @property
    def _connect_within(self) -> float:
        """Slower links take longer to open, too."""
        return _CONNECT_WITHIN * self._measured.time_dilation + _CONNECT_WITHIN_EACH * len(self._brokers)

    def _started_drivers(self) -> Drivers:
        """The driver processes, connected to their clients' brokers."""
        context, share = self._context, self._share
        context.doing("connecting clients")
        directory = context.paths.variant(self._plan.name)
        inputs = write_driver_inputs(self._plan.workload, directory, share.brokers, share.suffix)
        context.snapshot.publications = sum(given.publications for given in inputs)
        configs = [(given.name, self._write_driver(given)) for given in inputs]
        drivers = self._exits.enter_context(Drivers(configs, context.paths.run_id, context.journal))
        patience = Patience(self._connect_within)
        while not drivers.ready:
            self._note_ended_brokers()
            if patience.has_ended(drivers.connected):
                reasons = [f"clients cannot connect to {', '.join(drivers.awaited)}", busy_processors()]
                raise HostError("; ".join([*filter(None, reasons), f"see {context.paths.directory}"]))
            context.interrupt.wait(TICK / 5)
        return drivers

    def _write_driver(self, given: DriverInput) -> Path:
        """Writes a driver's configuration; returns its path."""
        paths = self._context.paths
        limits = self._plan.scenario.brokers.limits
        config = DriverConfig(
            name=given.name,
            variant=self._plan.name,
            log=str(log_file(paths.logs, given.name)),
            brokers={broker: f"unix:{paths.socket(broker)}" for broker in sorted(given.brokers)},
            operations=str(given.path),
            message_bytes=limits.message_bytes,
            reconnect_first=limits.reconnect_first,
            reconnect_last=limits.reconnect_last,
            keeps_accepted=self._plan.promises.keeps_accepted,
        )
        path = paths.variant(self._plan.name) / f"{given.name}.json"
        path.write_bytes(msgspec.json.format(msgspec.json.encode(config), indent=2))
        return path
