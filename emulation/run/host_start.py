"""The start of a variant on this host: its network, then its brokers, then its clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec import UNSET

from emulation.drivers.driver import DriverConfig
from emulation.drivers.program_relay import ProgramEnd, RelayConfig
from emulation.drivers.site_end import SiteEnd
from emulation.fidelity import Measurements
from emulation.live_overlay import BrokerStatus, UnsettledError
from emulation.network.model import LinkDriver
from emulation.network.network import EmulatedNetwork
from emulation.network.site_namespaces import SiteNamespaces
from emulation.planning.plan import PROGRAMS, DriverInput, VariantPlan, write_driver_inputs
from emulation.run.client_programs import ClientPrograms, loopback_only
from emulation.run.context import HostRunContext
from emulation.run.drivers import DriverProcess, Drivers
from emulation.run.host_share import HostShare
from emulation.run.observation import link_checks
from emulation.run.processor_sampling import ProcessorSampler, no_sampling, sampling_request
from emulation.run.program_clients import PROGRAM_RELAY, ProgramClients
from emulation.runtimes.client_processes import ClientProcesses
from emulation.runtimes.client_programs import ProgramHost
from emulation.runtimes.foreign import files_by_level
from emulation.runtimes.host_brokers import Hosting
from emulation.runtimes.host_overlay import ARRIVALS_PORT, HostOverlay, broker_addresses, host_configs
from emulation.runtimes.patience import Patience, busy_processors
from record.contract import STATUS_LEVEL
from record.errors import HostError
from record.files import log_file
from record.wording import count_of
from topology.sites import Site, site_of_each_client

TICK = 0.5
"""Seconds between two looks at brokers and drivers."""
_CONNECT_WITHIN = 30.0
_CONNECT_WITHIN_EACH = 1.0
"""Seconds without progress that all brokers, and each further one, get to start and to connect: see `Patience`."""


class HostStart:
    """Makes what a variant, or this host's share of it, consists of, one part after another."""

    def __init__(
        self, context: HostRunContext, plan: VariantPlan, share: HostShare, measured: Measurements, exits: ExitStack
    ) -> None:
        """`plan` is dilated; what is made is entered into `exits`, which remove it."""
        self._context = context
        self._plan = plan
        self._share = share
        self._measured = measured
        self._exits = exits
        self._brokers = share.hosted(plan.overlay)
        self._sites = share.sites(plan.sites)
        self._links = share.links(plan)

    def network(self, driver: LinkDriver) -> EmulatedNetwork:
        """The network with its links, probed; those that appear later are removed. All hosts go on together."""
        snapshot = self._context.snapshot
        snapshot.brokers = len(self._brokers)
        later = [*self._plan.later_pairs, *((link.a, link.b) for link in self._share.later_access(self._plan))]
        links = len(self._links) - len(later) - len(self._sites)
        foreign = self._plan.foreign
        snapshot.links = links if foreign is None or foreign.level >= STATUS_LEVEL else None
        network = self._exits.enter_context(self._emulated_network(driver))
        self._share.rendezvous.wait_for_all("wired", self._context.interrupt.wait)
        self._context.interrupt.check()
        self._context.doing(f"probing {count_of(len(self._links), 'link')}")
        self._measured.links += link_checks(network.probe(), "before", self._measured.time_dilation)
        self._share.rendezvous.wait_for_all("probed", self._context.interrupt.wait)
        self._context.interrupt.check()
        for a, b in later:
            network.remove(a, b)
        return network

    def brokers(self, network: EmulatedNetwork) -> HostOverlay:
        """The brokers, each connected to its neighbours."""
        context, plan = self._context, self._plan
        context.doing("starting brokers")
        hosting = Hosting(
            runtime=context.runtime,
            network=network,
            namespace=network.pid,
            check_network=network.check,
            sockets=context.paths.socket,
            directory=context.paths.variant(plan.name),
            resources=plan.resources,
            individual=plan.individual_resources,
            wait=context.interrupt.wait,
        )
        files = files_by_level(context.runtime.files, plan.foreign)
        held = plan.sites and plan.scenario.timeline.held is not None
        configs = host_configs(
            plan.overlay,
            plan.broker_settings,
            context.paths.run_id,
            files,
            wired=plan.networked,
            access=[*(site.link for site in plan.sites), *plan.later_access],
            everywhere=[f"0.0.0.0:{ARRIVALS_PORT}"] if held else (),
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

    def clients(self, network: EmulatedNetwork, note_ended: Callable[[], None]) -> Drivers:
        """The driver processes, connected to their clients' brokers; `note_ended` notes brokers that have ended."""
        context, share = self._context, self._share
        context.doing("connecting clients")
        directory = context.paths.variant(self._plan.name)
        reach = () if self._plan.scenario.timeline.held is None else share.brokers
        inputs = write_driver_inputs(self._plan.workload, directory, share.brokers, share.suffix, reach=reach)
        context.snapshot.publications = sum(given.publications for given in inputs)
        configs = [(given.name, self._write_driver(given, network)) for given in inputs]
        drivers = self._exits.enter_context(Drivers(configs, context.paths.run_id, context.journal))
        patience = Patience(self._connect_within)
        while not drivers.ready:
            note_ended()
            if patience.has_ended(drivers.connected):
                reasons = [f"clients cannot connect to {', '.join(drivers.awaited)}", busy_processors()]
                raise HostError("; ".join([*filter(None, reasons), f"see {context.paths.directory}"]))
            context.interrupt.wait(TICK / 5)
        return drivers

    def programs(self, network: EmulatedNetwork, note_ended: Callable[[], None]) -> ProgramClients | None:
        """The clients that are programs of their own, each with a stream to the relay; None without any.

        `note_ended` notes brokers that have ended. Raises `HostError` for a program that opens no stream.
        """
        plan, context = self._plan, self._context
        if not plan.programs:
            return None
        context.doing("starting client programs")
        of_host = [client for client, program in plan.programs.items() if program.image is None]
        namespaces = self._exits.enter_context(SiteNamespaces(of_host)).processes
        host_of: dict[str, ProgramHost] = dict.fromkeys(
            of_host, ClientProcesses(context.paths, context.journal, namespaces)
        )
        if (containers := context.client_containers) is not None:
            of_images = [client for client in plan.programs if client not in host_of]
            host_of |= dict.fromkeys(of_images, containers)
            namespaces = {**namespaces, **containers.sandboxes(of_images)}
        loopback_only(namespaces)
        config = self._write_relay(network, namespaces)
        directory = context.paths.variant(plan.name)
        programs = ProgramClients(
            DriverProcess(PROGRAMS, config, context.paths.run_id, context.journal, PROGRAM_RELAY),
            ClientPrograms(plan.programs, host_of, directory, plan.scenario.timeline),
        )
        self._exits.enter_context(programs)
        programs.start()
        patience = Patience(self._connect_within)
        while not programs.ready:
            note_ended()
            if patience.has_ended(programs.relay.connecting.connected):
                raise HostError(programs.not_ready)
            context.interrupt.wait(TICK / 5)
        return programs

    def sample_processors(self, network: EmulatedNetwork) -> None:
        """Samples processors until brokers stop, on a kernel that can tell."""
        reason = no_sampling()
        self._measured.no_processor_times = reason
        if reason:
            return
        pids = {broker: network.pid(broker) for broker in self._brokers}
        request = sampling_request(self._context.paths, self._plan.name, pids)
        self._exits.enter_context(ProcessorSampler(request, self._context.paths.run_id, self._context.journal))

    def _emulated_network(self, driver: LinkDriver) -> EmulatedNetwork:
        context = self._context
        context.doing("making network namespaces")
        context.paths.make_socket_directories(self._brokers)
        sandboxes = context.runtime.sandboxes(self._brokers)
        context.interrupt.check()
        context.doing("wiring and shaping links")
        namespaces = self._exits.enter_context(SiteNamespaces(site.name for site in self._sites))
        return EmulatedNetwork(
            self._plan.networked,
            context.paths.run_id,
            driver,
            sandboxes,
            context.journal,
            seed=self._plan.scenario.seed,
            tunnels=self._share.tunnels,
            sites=namespaces.processes,
        )

    def _show(self, statuses: Mapping[str, BrokerStatus]) -> None:
        snapshot = self._context.snapshot
        snapshot.brokers_up = len(statuses)
        snapshot.links_up = sum(status.links_up for status in statuses.values()) // 2
        self._context.display.refresh()

    @property
    def _connect_within(self) -> float:
        """Slower links take longer to open, too."""
        return _CONNECT_WITHIN * self._measured.time_dilation + _CONNECT_WITHIN_EACH * len(self._brokers)

    def _write_relay(self, network: EmulatedNetwork, namespaces: Mapping[str, int]) -> Path:
        """Writes the configuration of the relay of programs; returns its path."""
        paths, plan = self._context.paths, self._plan
        site_of, addresses = site_of_each_client(plan.sites), broker_addresses(plan.networked, plan.sites, paths.run_id)
        ends = {
            client: ProgramEnd(namespace, _site_end(site_of[client], addresses, network))
            for client, namespace in namespaces.items()
        }
        limits = plan.scenario.brokers.limits
        config = RelayConfig(
            name=PROGRAMS,
            variant=plan.name,
            log=str(log_file(paths.logs, PROGRAMS)),
            programs=ends,
            message_bytes=limits.message_bytes,
            heartbeat=limits.heartbeat,
            reconnect_last=limits.reconnect_last,
            keeps_accepted=plan.promises.keeps_accepted,
        )
        path = paths.variant(plan.name) / f"{PROGRAMS}.json"
        path.write_bytes(msgspec.json.format(msgspec.json.encode(config), indent=2))
        return path

    def _write_driver(self, given: DriverInput, network: EmulatedNetwork) -> Path:
        """Writes a driver's configuration; returns its path."""
        paths, plan = self._context.paths, self._plan
        site_of = site_of_each_client(plan.sites)
        addresses = broker_addresses(plan.networked, plan.sites, paths.run_id)
        beside = given.reach.union(broker for client, broker in given.clients.items() if client not in site_of)
        at_sites = {
            client: _site_end(site_of[client], addresses, network) for client in given.clients if client in site_of
        }
        limits = self._plan.scenario.brokers.limits
        config = DriverConfig(
            name=given.name,
            variant=self._plan.name,
            log=str(log_file(paths.logs, given.name)),
            brokers={broker: f"unix:{paths.socket(broker)}" for broker in sorted(beside)},
            sites=at_sites,
            operations=str(given.path),
            message_bytes=limits.message_bytes,
            reconnect_first=limits.reconnect_first,
            reconnect_last=limits.reconnect_last,
            heartbeat=limits.heartbeat,
            keeps_accepted=self._plan.promises.keeps_accepted,
        )
        path = paths.variant(self._plan.name) / f"{given.name}.json"
        path.write_bytes(msgspec.json.format(msgspec.json.encode(config), indent=2))
        return path


def _site_end(site: Site, addresses: Mapping[str, str], network: EmulatedNetwork) -> SiteEnd:
    """The end of a session at a site; `addresses` are the brokers' over access links, by site."""
    reads = None if site.reads is UNSET else site.reads
    return SiteEnd(site.broker, addresses[site.name], network.pid(site.name), reads)
