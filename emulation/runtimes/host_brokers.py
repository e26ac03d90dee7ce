"""The brokers of an overlay that run on this host, as a runtime's processes, and the faults that befall them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from broker_service.config import Disturbance
from emulation.host.processes import ProcessIdentity
from emulation.live_overlay import BrokerConfigs, BrokerStatus, ExpectedOverlay, LiveLinks, Tables
from emulation.runtimes.control import BrokerControls
from emulation.runtimes.foreign import crowded
from emulation.runtimes.interface import Ending, Launch, Resources, Runtime
from emulation.runtimes.listening import ListeningWatch
from record.callbacks import do_nothing
from record.contract import STATUS_LEVEL
from record.service_time import ServiceTime
from topology.link_properties import BrokerId, LinkDirection

STOP_WITHIN = 10.0
"""Seconds after which a broker that was asked to stop is killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosting:
    """The means by which an overlay runs on this host."""

    runtime: Runtime
    network: LiveLinks
    """The links between brokers' network namespaces."""
    namespace: Callable[[BrokerId], int]
    """A process in the network namespace of a broker."""
    check_network: Callable[[], None] = do_nothing
    """Raises an error when the network has failed."""
    sockets: Callable[[BrokerId], Path]
    """A broker's socket, as seen from the host."""
    directory: Path
    """Parent of the directories with the brokers' configuration files."""
    resources: Resources = field(default_factory=Resources)
    individual: Mapping[BrokerId, Resources] = field(default_factory=dict)
    """Resources of the brokers that have some of their own."""
    wait: Callable[[float], None] = time.sleep
    """Sleeps that many seconds; may raise, which ends the wait."""

    @property
    def tells_status(self) -> bool:
        """True where brokers tell their state when they are asked."""
        foreign = self.resources.foreign
        return foreign is None or foreign.level >= STATUS_LEVEL

    def resources_of(self, broker: BrokerId) -> Resources:
        """The resources of one broker."""
        return self.individual.get(broker, self.resources)


class HostBrokers:
    """`LiveBrokers` of this host. Brokers that end by themselves are left as they are; see `ended`."""

    def __init__(self, configs: BrokerConfigs, hosting: Hosting, expected: ExpectedOverlay) -> None:
        """`expected` has the names of the brokers on this host, and learns which of them are down."""
        self._configs = configs
        self._hosting = hosting
        self._runtime = hosting.runtime
        self._expected = expected
        self.addresses = {broker: f"unix:{hosting.sockets(broker)}" for broker in expected.brokers}
        """Address of each broker for clients and control."""
        self.controls = BrokerControls(self.addresses)
        self.starts = ListeningWatch(self.addresses)
        """Looks at restarted brokers until they listen."""
        self._incarnations = dict.fromkeys(expected.brokers, 1)
        self._paused: dict[BrokerId, list[Callable[[], None]]] = {}
        """Paused brokers, and the requests that each gets when it continues."""

    @property
    def restarted(self) -> bool:
        """True once any broker has had a further incarnation."""
        return any(incarnation > 1 for incarnation in self._incarnations.values())

    def start(self, brokers: Sequence[BrokerId]) -> None:
        """Starts the present incarnation of brokers."""
        hosting = self._hosting
        launches = [
            Launch(
                config=self._configs.of(broker, self._incarnations[broker]),
                config_directory=hosting.directory / broker,
                resources=hosting.resources_of(broker),
            )
            for broker in brokers
        ]
        self._runtime.start(launches, {broker: hosting.namespace(broker) for broker in brokers})

    def stop_all(self, within: float) -> None:
        """Stops all brokers; those that have not ended after `within` seconds are killed."""
        self.starts.close()
        self.controls.close()
        self._runtime.stop(self._expected.brokers, within)

    def processes(self) -> Mapping[BrokerId, ProcessIdentity]:
        """Processes of the running brokers."""
        return self._runtime.processes()

    def ended(self) -> list[Ending]:
        """Brokers that have ended by themselves since the last call."""
        gone = [broker for broker, process in self._runtime.processes().items() if not process.alive]
        self._expected.down.update(gone)
        return [self._runtime.ending(broker) for broker in gone]

    def request(self, broker: BrokerId, request: Callable[[], None]) -> None:
        """Makes a request of a broker, which one that is paused gets once it continues, and one that is down never."""
        if broker in self._paused:
            self._paused[broker].append(partial(self.request, broker, request))
        elif self.runs(broker):
            request()

    # Faults

    def runs(self, broker: BrokerId) -> bool:
        process = self._runtime.processes().get(broker)
        return process is not None and process.alive

    def kill(self, broker: BrokerId) -> None:
        self._runtime.kill(broker)
        self.starts.end(broker)
        self._expected.down.add(broker)

    def stop(self, broker: BrokerId) -> None:
        self._runtime.stop([broker], STOP_WITHIN)
        self.starts.end(broker)
        self._expected.down.add(broker)

    def restart(self, broker: BrokerId) -> None:
        self._incarnations[broker] += 1
        self.start([broker])
        self.starts.begin(broker)
        self._expected.down.discard(broker)

    def pause(self, broker: BrokerId) -> None:
        self._runtime.pause(broker)
        self._paused[broker] = []

    def resume(self, broker: BrokerId) -> None:
        requests = self._paused.pop(broker, [])
        self._runtime.resume(broker)
        for request in requests:
            request()

    def throttle(self, broker: BrokerId, cores: float | None) -> None:
        self._runtime.throttle(broker, cores)

    def slow(self, broker: BrokerId, service_time: ServiceTime | None) -> None:
        wanted = self._configs.of(broker).service_time if service_time is None else service_time
        self.request(broker, partial(self.controls.set_service_time, broker, wanted))

    def reset(self, direction: LinkDirection) -> None:
        self.request(direction.source, partial(self.controls.reset, direction.source, direction.target))

    def disturb(self, direction: LinkDirection, disturbance: Disturbance) -> None:
        self._configs.disturb(direction, disturbance)
        neighbour, broker = direction.source, direction.target
        self.request(broker, partial(self.controls.disturb, broker, neighbour, disturbance))

    # Observation

    def crowded(self) -> list[str]:
        """Brokers that have as many processes as they may have, in words; only those that are not brokerlab's."""
        pids = {
            broker: process.pid
            for broker, process in self._runtime.processes().items()
            if self._hosting.resources_of(broker).foreign is not None
        }
        return list(crowded(pids, {broker: self._hosting.resources_of(broker).processes for broker in pids}))

    def status(self) -> Mapping[BrokerId, BrokerStatus]:
        if not self._hosting.tells_status:
            return {}
        return self.controls.status(self._expected.running)

    def tables(self) -> Tables:
        return self.controls.tables(self._expected.running)
