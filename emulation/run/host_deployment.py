"""A variant deployed on this host, or this host's share of it: network, broker processes and driver processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager

from broker_service.tracing.trace import FileTrace, NullTrace
from emulation.drivers.status import DriverStatus
from emulation.fidelity import Measurements
from emulation.fidelity.throttling import count_periods, throttling
from emulation.live_overlay import Tables
from emulation.live_overlay.contract import LiveSites
from emulation.network.model import LinkDriver
from emulation.network.sent_bytes import SentBytes
from emulation.planning.plan import VariantPlan
from emulation.run.client_programs import ProgramEnding
from emulation.run.common_quiet import Vote, settle_together
from emulation.run.context import HostRunContext
from emulation.run.deployment import Pace
from emulation.run.folder_watch import FolderWatch
from emulation.run.hands import Hands, HostHands
from emulation.run.host_fault_observer import HostObserver, RegularLooks
from emulation.run.host_share import LEFT, READ, SETTLED, HostShare, leaving_stage
from emulation.run.host_sites import HostSites
from emulation.run.host_start import TICK, HostStart
from emulation.run.log_watch import LogWatch
from emulation.run.observation import LoadObserver, directions_of, probed_under_load
from emulation.run.program_clients import ProgramClients
from emulation.runtimes.listening import Listening
from emulation.verification.verifier import FaultVerifier
from record.files import log_file
from record.log import EMULATOR, Event, TraceRecord
from record.time_units import SECOND
from topology.link_properties import BrokerId

_SHORTEST_TICK = 0.05
"""Seconds between two looks towards the end of a phase, because whatever moved since the latest one counts as not
settled."""
_QUIET_FOR = 1.0
"""Seconds of quiet after which the drain phase ends early."""


class HostDeployment:
    """A `Deployment` in real time. Nothing but the sandboxes carries over to the next variant."""

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
        self.schedule = share.own(plan.schedule(), plan.sites)
        self.pace = Pace(
            rest=_QUIET_FOR * measured.time_dilation,
            counting_step=round(TICK * SECOND),
            longest_look=TICK,
            shortest_look=_SHORTEST_TICK,
        )
        self.elsewhere = frozenset(broker.id for broker in plan.overlay.brokers) - share.brokers
        self.clock = context.clock
        self.hands: Hands | None = None
        self._changing = bool(self.schedule) or plan.evolution is not None or plan.scenario.timeline.held is not None
        self._context = context
        self._plan = plan
        self._share = share
        self._driver = driver
        self._measured = measured
        self._when_over = when_over
        self._left: tuple[str, ...] = ()
        """Nodes whose clients have left last."""
        self._exits = ExitStack()
        self._log_watch = LogWatch(context.paths.logs, plan.resources.log_bytes)
        paths = context.paths
        self._folder_watch = FolderWatch(
            {broker: (paths.stored(broker), paths.socket(broker).parent) for broker in share.hosted(plan.overlay)}
        )

        def note_changed_logs() -> None:
            measured.changed_logs = self._log_watch.faults

        self._exits.callback(note_changed_logs)
        self._exits.enter_context(self._log_watch)
        self._trace: FileTrace | NullTrace = NullTrace(EMULATOR, plan.name)
        self._sent: SentBytes | None = None
        """The bytes that brokers send from the run phase on; None before."""
        self._programs: ProgramClients | None = None
        if plan.programs:
            measured.programs = []

    @property
    def counts(self) -> DriverStatus:
        statuses = [self._drivers.status, *(() if self._programs is None else (self._programs.status,))]
        return DriverStatus.total(statuses)

    @property
    def done(self) -> bool:
        return self._drivers.status.done

    def start(self) -> list[str]:
        start = HostStart(self._context, self._plan, self._share, self._measured, self._exits)
        self._network = start.network(self._driver)
        self.overlay = start.brokers(self._network)
        self._drivers = start.clients(self._network, self._note_ended_brokers)
        self._programs = start.programs(self._network, self._note_ended_brokers)
        sites = HostSites(
            self._plan.sites, self._drivers, self._network, self._programs, planned=self._plan.later_access
        )
        self.sites: LiveSites = sites
        start.sample_processors(self._network)
        run_id, foreign = self._context.paths.run_id, self._plan.foreign
        addresses = self.overlay.brokers.addresses
        self.fault_observer = HostObserver(
            self._network,
            addresses,
            run_id,
            foreign,
            sites=sites.present,
            cut=self.overlay.expected.cut,
            programs=self._plan.programs,
        )
        self._exits.callback(self.fault_observer.close)
        if (hold := self._context.hold) is not None:
            self.hands = HostHands(
                hold,
                drivers=self._drivers,
                network=self._network,
                processes=self._context.runtime.processes,
                logs=self._context.paths.logs,
                brokers=self._share.hosted(self._plan.overlay),
            )
        return [*self._drivers.names, *(() if self._programs is None else (self._programs.name,))]

    def open_event_log(self) -> FileTrace | NullTrace:
        node = f"{EMULATOR}{self._share.suffix}"
        if self._changing:  # other runs have no such log
            self._trace = FileTrace(log_file(self._context.paths.logs, node), node, self._plan.name)
            self._exits.callback(self._trace.close)
        return self._trace

    def begin(self) -> int:
        rendezvous = self._share.rendezvous
        start = int(rendezvous.begin(self._wait) * SECOND)
        self._drivers.begin(start, rendezvous.clock_offset)
        if self._programs is not None:
            self._programs.begin(start, rendezvous.clock_offset)
        return start

    def advance(self, until: int) -> None:
        self._context.interrupt.wait(min(TICK, max(0, until - time.monotonic_ns()) / SECOND))

    def look(self) -> None:
        context = self._context
        _log_listening(self.overlay.brokers.starts.taken(), self._trace)
        self._trace.flush()
        self._drivers.check()
        self._network.check()
        self._note_ended_brokers()
        if self._programs is not None:
            note_programs(self._context, self._measured, self._programs.endings())
        context.snapshot.brokers_up = len(self.overlay.expected.running)
        self._log_watch.look()
        self._folder_watch.look()
        context.show_counts(self.counts)

    @contextmanager
    def observing(self, seconds: float) -> Iterator[None]:
        quota = self._plan.resources.cpu
        processes = self._context.runtime.processes()
        pids = [process.pid for broker, process in processes.items() if broker not in self.schedule.brokers]
        ours = self._share.links(self._plan)
        links = probed_under_load(ours, self._used_links, self._plan.scenario.seed)
        observer = LoadObserver(
            self._network, links, self._context.paths.run_id,
            seconds=seconds, dilation=self._measured.time_dilation,
            steady={} if self._changing else directions_of(ours),
        )  # fmt: skip
        periods = count_periods(pids)
        self._sent = SentBytes(self._network, self._share.hosted(self._plan.overlay))
        with observer:
            self._context.log.info("observing", variant=self._plan.name)
            yield
        observer.report(self._measured)
        if quota is not None:
            self._measured.throttling = throttling(quota, periods, count_periods(pids))
        self._context.log.info("observed", host=self._measured.host, relay=self._measured.relay)

    def _used_links(self) -> set[frozenset[BrokerId]]:
        """Ends of the links that have carried messages."""
        return {
            frozenset((broker, end.neighbour))
            for broker, status in self.overlay.brokers.status().items()
            for end in status.links
            if end.sent or end.received
        }

    def look_regularly(self, verifier: FaultVerifier) -> RegularLooks:
        looks = RegularLooks(verifier, self.fault_observer.looks_again)
        self._exits.callback(looks.end)
        return looks

    def drained(self) -> None:
        if self._sent is not None:
            self._measured.sent = self._sent.by_direction()
        self._wait_for_all("drained")
        self.overlay.brokers.starts.close()
        self._when_over()

    def leave(self, *nodes: str) -> None:
        if self._programs is not None:
            note_programs(self._context, self._measured, self._programs.leave())
        for node in nodes:
            self._drivers.stop(f"{node}{self._share.suffix}")
        self._left = nodes
        self._wait_for_all(leaving_stage(nodes, LEFT))

    def settle(self, within: float) -> None:
        quiet, rendezvous = self.overlay.quiet_watch(), self._share.rendezvous
        settled = leaving_stage(self._left, SETTLED)

        def ballot(number: int, vote: Vote) -> list[Vote]:
            return [Vote(cast) for cast in rendezvous.votes(f"{settled}-{number}", vote, self._wait)]

        settle_together(quiet.settle, quiet.unmoved, ballot, within)

    def read_tables(self) -> Tables:
        tables = self.overlay.brokers.tables()
        self._wait_for_all(leaving_stage(self._left, READ))
        return tables

    def stop(self) -> None:
        self._exits.close()

    def abandon(self) -> None:
        self._exits.close()

    # Waiting

    def _wait_for_all(self, stage: str) -> None:
        self._share.rendezvous.wait_for_all(stage, self._wait)

    def _wait(self, seconds: float) -> None:
        """Waits while brokers run, and raises what `look` raises."""
        self._context.interrupt.wait(seconds)
        self.look()

    def _note_ended_brokers(self) -> None:
        """Notes brokers that have ended by themselves. Raises `BrokerDefectError` for one whose own code failed."""
        for ending in self.overlay.brokers.ended():
            self._measured.endings.append(ending)
            if ending.is_defect:  # a run without this broker proves nothing
                self._context.announce(f"{self._plan.name}: {ending}")
                raise ending.defect()
            self._context.announce(f"{self._plan.name}: {ending.with_output()}")


def _log_listening(found: Iterable[Listening], trace: FileTrace | NullTrace) -> None:
    """Logs the restarted brokers that listen by now."""
    for broker, not_before, seen in found:
        trace.write(
            TraceRecord(
                time=seen,
                node=trace.node,
                variant=trace.variant,
                event=Event.LISTENING,
                peer=broker,
                duration=seen - not_before,
            )
        )


def note_programs(context: HostRunContext, measured: Measurements, endings: Iterable[ProgramEnding]) -> None:
    """Notes client programs that have ended, or gone wrong."""
    for ending in endings:
        context.announce(f"{measured.variant}: {ending}")
        if ending.failed and measured.programs is not None:
            measured.programs.append(str(ending))
