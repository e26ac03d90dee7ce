"""A running overlay on this host: broker processes or containers of a runtime, on a network between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from broker_service.config import Disturbance
from emulation.host.processes import ProcessIdentity
from emulation.live_overlay import (
    BrokerConfigs,
    BrokerFiles,
    BrokerSettings,
    BrokerStatus,
    ExpectedOverlay,
    LinkAddresses,
    QuietDetector,
    Tables,
    UnsettledError,
)
from emulation.live_overlay.quiet import link_obstacles, too_slow
from emulation.network.model import name_links
from emulation.runtimes.control import BrokerControls
from emulation.runtimes.interface import Ending, Launch, Resources, Runtime
from emulation.runtimes.patience import Patience, busy_processors
from record.callbacks import do_nothing
from record.errors import HostError
from record.service_time import ServiceTime
from topology.link_properties import BrokerId, Link, LinkDirection, LinkProperties
from topology.model import Overlay

BROKER_PORT = 7000
"""Port on which a broker listens on each of its link addresses; namespaces of their own keep it free."""

STOP_WITHIN = 10.0
"""Seconds after which a broker that was asked to stop is killed."""

_FIRST_LOOKS, _LOOKS_AT_START, _LOOKS_AT_MESSAGES = 0.005, 0.25, 0.08
"""Seconds between two looks at an overlay that is awaited: short at first, then longer up to one of the latter two.
Most overlays settle at once; those that wait for a broker to start, or for a failure to be noticed, take longer."""
_CHECK_INTERVAL = 0.2
"""Seconds between two checks that all brokers still run, while time passes."""

_MOST_NAMED = 5
"""Brokers that an error message lists."""


class Network(Protocol):
    """The links between brokers' network namespaces, as `emulation.network.EmulatedNetwork` has them."""

    def pid(self, broker: BrokerId) -> int: ...

    def check(self) -> None: ...

    def cut(self, source: BrokerId, target: BrokerId) -> None: ...

    def restore(self, source: BrokerId, target: BrokerId) -> None: ...

    def change(self, source: BrokerId, target: BrokerId, properties: LinkProperties) -> None: ...

    def connect(self, link: Link) -> None: ...

    def disconnect(self, a: BrokerId, b: BrokerId) -> None: ...

    def corrupt(self, source: BrokerId, target: BrokerId, share: float) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosting:
    """The means by which brokers run on this host."""

    runtime: Runtime
    network: Network
    sockets: Callable[[BrokerId], Path]
    """A broker's socket, as seen from the host."""
    directory: Path
    """Parent of the directories with the brokers' configuration files."""
    resources: Resources = field(default_factory=Resources)
    wait: Callable[[float], None] = time.sleep
    """Sleeps that many seconds; may raise, which ends the wait."""


class HostOverlay:
    """A `LiveOverlay` of processes. Brokers that end by themselves are left as they are; see `ended`."""

    def __init__(
        self,
        overlay: Overlay,
        configs: BrokerConfigs,
        hosting: Hosting,
        *,
        brokers: Iterable[BrokerId] | None = None,
        on_status: Callable[[Mapping[BrokerId, BrokerStatus]], None] = do_nothing,
    ) -> None:
        """`brokers` are those on this host, all when None; `on_status` receives every status that is waited with."""
        self.overlay = overlay
        names = [broker.id for broker in overlay.brokers]
        hosted = set(names if brokers is None else brokers)
        self.expected = ExpectedOverlay(
            [link for link in overlay.links if hosted & {link.a, link.b}], [name for name in names if name in hosted]
        )
        self._configs = configs
        self._hosting = hosting
        self._runtime, self._network = hosting.runtime, hosting.network
        self._on_status = on_status
        self.addresses = {broker: f"unix:{hosting.sockets(broker)}" for broker in self.expected.brokers}
        """Address of each broker for clients and control."""
        self._controls = BrokerControls(self.addresses)
        self._incarnations = dict.fromkeys(self.expected.brokers, 1)
        self._paused: dict[BrokerId, list[Callable[[], None]]] = {}
        """Paused brokers, and the requests that each gets when it continues."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def as_started(self) -> bool:
        """True while all brokers run in their first incarnation, with no link cut."""
        first = all(incarnation == 1 for incarnation in self._incarnations.values())
        return first and not self.expected.down and not self.expected.cut

    def start(self) -> None:
        """Starts all brokers, those first that dial few neighbours.

        Most neighbours then listen before they are dialled. A dial without an answer is repeated and takes a
        millisecond of processor time, which would slow the start of the others.
        """
        self._start(sorted(self.expected.brokers, key=self._configs.dialled_by))

    def await_links(self, within: float) -> None:
        patience, interval = Patience(within), _FIRST_LOOKS
        while True:
            self.require_running()
            statuses = self.status()
            self._on_status(statuses)
            silent = [broker for broker in self.expected.running if broker not in statuses]
            if not silent and next(link_obstacles(statuses, self.expected), None) is None:
                return
            if patience.has_ended(len(statuses) + sum(status.links_up for status in statuses.values())):
                raise UnsettledError(self._not_connected(silent, statuses))
            self._hosting.wait(interval)
            interval = min(1.5 * interval, _LOOKS_AT_START)

    def stop(self, within: float = STOP_WITHIN) -> None:
        """Stops all brokers; those that have not ended after `within` seconds are killed. Their network stays."""
        self._controls.close()
        self._runtime.stop(self.expected.brokers, within)

    def processes(self) -> Mapping[BrokerId, ProcessIdentity]:
        """Processes of the running brokers."""
        return self._runtime.processes()

    def ended(self) -> list[Ending]:
        """Brokers that have ended by themselves since the last call."""
        gone = [broker for broker, process in self._runtime.processes().items() if not process.alive]
        self.expected.down.update(gone)
        return [self._runtime.ending(broker) for broker in gone]

    def require_running(self) -> None:
        """Raises an error when a broker has ended by itself, or the network.

        `BrokerDefectError` when the broker's own code failed, `UnsettledError` when it ended for another reason,
        `NetworkError` for the network.
        """
        self._network.check()
        if endings := self.ended():
            if (failed := next((ending for ending in endings if ending.is_defect), None)) is not None:
                raise failed.defect()
            raise UnsettledError("\n".join([str(endings[0]), *endings[0].last_lines]))

    # Faults of brokers

    def runs(self, broker: BrokerId) -> bool:
        process = self._runtime.processes().get(broker)
        return process is not None and process.alive

    def kill(self, broker: BrokerId) -> None:
        self._runtime.kill(broker)
        self.expected.down.add(broker)

    def stop_broker(self, broker: BrokerId) -> None:
        self._runtime.stop([broker], STOP_WITHIN)
        self.expected.down.add(broker)

    def restart(self, broker: BrokerId) -> None:
        self._incarnations[broker] += 1
        self._start([broker])
        self.expected.down.discard(broker)

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
        self._request(broker, partial(self._controls.set_service_time, broker, wanted))

    # Links that appear and vanish

    def add_link(self, link: Link) -> None:
        """A broker that is paused learns of its neighbour once it continues, one that is down when it is restarted.

        The network must have a path for the link. `b` learns of it first, because `a` dials.
        """
        self._configs.add_link(link)
        self._network.connect(link)
        self.expected.links.append(link)
        for broker, neighbour in ((link.b, link.a), (link.a, link.b)):
            end = self._configs.link(broker, neighbour)
            self._request(broker, partial(self._controls.add_link, broker, end))

    def remove_link(self, a: BrokerId, b: BrokerId) -> None:
        """A broker that is paused learns of it once it continues, one that is down when it is restarted. The path is
        closed after the two brokers have closed their streams over it."""
        self._configs.remove_link(a, b)
        self.expected.links[:] = [link for link in self.expected.links if {link.a, link.b} != {a, b}]
        for broker, neighbour in ((a, b), (b, a)):
            self._request(broker, partial(self._controls.remove_link, broker, neighbour))
        self._network.disconnect(a, b)

    # Faults of links

    def cut(self, direction: LinkDirection) -> None:
        self._network.cut(direction.source, direction.target)
        self.expected.cut.add(direction)

    def restore(self, direction: LinkDirection) -> None:
        self._network.restore(direction.source, direction.target)
        self.expected.cut.discard(direction)

    def change(self, direction: LinkDirection, properties: LinkProperties) -> None:
        source, target = direction.source, direction.target
        self._network.change(source, target, properties)
        if properties.send_time != self._configs.link(source, target).send_time:
            self._configs.change_send_time(direction, properties.send_time)
            self._request(source, partial(self._controls.set_send_time, source, target, properties.send_time))

    def corrupt(self, direction: LinkDirection, share: float) -> None:
        self._network.corrupt(direction.source, direction.target, share)

    def reset(self, direction: LinkDirection) -> None:
        self._request(direction.source, partial(self._controls.reset, direction.source, direction.target))

    def disturb(self, direction: LinkDirection, disturbance: Disturbance) -> None:
        self._configs.disturb(direction, disturbance)
        neighbour, broker = direction.source, direction.target
        self._request(broker, partial(self._controls.disturb, broker, neighbour, disturbance))

    # Observation

    def status(self) -> Mapping[BrokerId, BrokerStatus]:
        return self._controls.status(self.expected.running)

    def tables(self) -> Tables:
        return self._controls.tables(self.expected.running)

    def quiet_watch(self) -> HostQuietWatch:
        return HostQuietWatch(self)

    def quiet_looks(self) -> HostQuietLooks:
        """Looks that begin with the next one."""
        return HostQuietLooks(self)

    def settle(self, within: float) -> None:
        self.quiet_looks().settle(within)

    def wait(self, seconds: float) -> None:
        """Returns after that many seconds, or raises to end whatever waits."""
        self._hosting.wait(seconds)

    def pass_time(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.require_running()
            self._hosting.wait(min(left, _CHECK_INTERVAL))

    # Inside

    def _start(self, brokers: Sequence[BrokerId]) -> None:
        hosting = self._hosting
        launches = [
            Launch(
                config=self._configs.of(broker, self._incarnations[broker]),
                config_directory=hosting.directory / broker,
                resources=hosting.resources,
            )
            for broker in brokers
        ]
        self._runtime.start(launches, {broker: self._network.pid(broker) for broker in brokers})

    def _request(self, broker: BrokerId, request: Callable[[], None]) -> None:
        """Makes a request of a broker, which one that is paused gets once it continues, and one that is down never."""
        if broker in self._paused:
            self._paused[broker].append(partial(self._request, broker, request))
        elif self.runs(broker):
            request()

    def _not_connected(self, silent: list[BrokerId], statuses: Mapping[BrokerId, BrokerStatus]) -> str:
        busy = busy_processors()
        besides = [] if busy is None else [busy]
        if silent:
            return "; ".join([f"brokers {', '.join(silent[:_MOST_NAMED])} do not answer", *besides])
        partial = [broker for broker, status in statuses.items() if status.links_up < len(status.links)]
        up, ends = (sum(found) for found in zip(*((s.links_up, len(s.links)) for s in statuses.values()), strict=True))
        problem = (
            f"brokers {', '.join(partial[:_MOST_NAMED])} cannot reach all their neighbours over the emulated links: "
            f"{up:,} of {ends:,} ends of links are up, and no more come up"
        )
        links = [link for link in self.expected.links if {link.a, link.b} & set(partial)]
        return "; ".join([problem, *besides, *too_slow(links, self._configs.heartbeat)])


class HostQuietWatch:
    """A `QuietWatch` that asks the brokers for their status."""

    def __init__(self, overlay: HostOverlay) -> None:
        self._overlay = overlay
        self._detector = QuietDetector()

    @property
    def busy(self) -> list[BrokerId]:
        return self._detector.busy

    @property
    def quiet_for(self) -> float:
        return self._detector.quiet_for

    def look(self, end: int) -> None:
        statuses = self._overlay.status()
        if time.monotonic_ns() < end:
            self._detector.look(statuses, self._overlay.expected)


class HostQuietLooks:
    """Looks at the brokers of one host, each of which compares their counters with those of the look before."""

    def __init__(self, overlay: HostOverlay) -> None:
        self._overlay = overlay
        self._detector = QuietDetector()

    def settle(self, within: float) -> None:
        """Looks until nothing moves and every link that should work is up; once at least. Raises `UnsettledError`."""
        deadline, interval = time.monotonic() + within, _FIRST_LOOKS
        while not self.unmoved():
            self._overlay.require_running()
            if time.monotonic() > deadline:
                raise UnsettledError(f"not settled after {within:g} seconds: {self._detector.obstacle}")
            self._overlay.wait(interval)
            interval = min(1.5 * interval, _LOOKS_AT_MESSAGES)

    def unmoved(self) -> bool:
        """Looks once; returns whether nothing has moved since the look before."""
        return self._detector.look(self._overlay.status(), self._overlay.expected)


def host_configs(
    overlay: Overlay,
    settings: BrokerSettings,
    run_id: str,
    files: Callable[[BrokerId], BrokerFiles],
    *,
    wired: Overlay | None = None,
) -> BrokerConfigs:
    """Configurations of brokers whose links have the addresses that the run's emulated network gives them.

    `wired` is the overlay that the network was made for, which may have more links; None where it is the same.
    """
    addresses: dict[tuple[BrokerId, BrokerId], LinkAddresses] = {}
    for names in name_links((wired or overlay).links, run_id):
        a, b = (f"{address}:{BROKER_PORT}" for address in names.addresses)
        addresses[names.link.a, names.link.b] = LinkAddresses(a, b)
        addresses[names.link.b, names.link.a] = LinkAddresses(b, a)

    def addresses_of(link: Link) -> LinkAddresses:
        if (link.a, link.b) not in addresses:
            raise HostError(f"the emulated network has no path for a link {link.a} - {link.b}")
        return addresses[link.a, link.b]

    return BrokerConfigs(overlay, settings, files=files, addresses=addresses_of)
