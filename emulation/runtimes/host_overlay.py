"""A running overlay on this host: broker processes or containers of a runtime, on a network between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

from emulation.live_overlay import (
    BrokerConfigs,
    BrokerFiles,
    BrokerSettings,
    BrokerStatus,
    ExpectedOverlay,
    LinkAddresses,
    QuietDetector,
    UnsettledError,
)
from emulation.live_overlay.quiet import link_obstacles, too_slow
from emulation.network.model import name_links
from emulation.runtimes.canaries import Canaries, CanaryWatch
from emulation.runtimes.host_brokers import STOP_WITHIN, HostBrokers, Hosting
from emulation.runtimes.host_links import HostLinks
from emulation.runtimes.patience import Patience, busy_processors
from record.callbacks import do_nothing
from record.errors import HostError
from topology.link_properties import BrokerId, Link
from topology.model import Overlay
from topology.sites import Site

BROKER_PORT = 7000
"""Port on which a broker listens on each of its link addresses; namespaces of their own keep it free."""

ARRIVALS_PORT = 7001
"""Port on which a broker listens on all addresses, where sites may arrive over links that nobody planned."""

_FIRST_LOOKS, _LOOKS_AT_START, _LOOKS_AT_MESSAGES = 0.005, 0.25, 0.08
"""Seconds between two looks at an overlay that is awaited: short at first, then longer up to one of the latter two.
Most overlays settle at once; those that wait for a broker to start, or for a failure to be noticed, take longer."""
_CHECK_INTERVAL = 0.2
"""Seconds between two checks that all brokers still run, while time passes."""

_MOST_NAMED = 5
"""Brokers that an error message lists."""


class HostOverlay:
    """A `LiveOverlay` of processes on this host. Brokers that end by themselves are left as they are."""

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
        self.brokers = HostBrokers(configs, hosting, self.expected)
        self.links = HostLinks(configs, hosting.network, self.brokers, self.expected)
        self.wait = hosting.wait
        """Sleeps that many seconds; may raise, which ends the wait."""
        self._configs = configs
        self._check_network = hosting.check_network
        self._on_status = on_status
        self._canaries = None if hosting.tells_status else Canaries(self.brokers.addresses, self.expected)

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
        return not (self.brokers.restarted or self.expected.down or self.expected.cut)

    def start(self) -> None:
        """Starts all brokers, those first that dial few neighbours.

        Most neighbours then listen before they are dialled. A dial without an answer is repeated and takes a
        millisecond of processor time, which would slow the start of the others.
        """
        self.brokers.start(sorted(self.expected.brokers, key=self._configs.dialled_by))

    def await_links(self, within: float) -> None:
        """Returns when all links are up. Raises `UnsettledError` after `within` seconds in which none came up."""
        if self._canaries is not None:
            self._await_canaries(self._canaries, within)
            return
        patience, interval = Patience(within), _FIRST_LOOKS
        while True:
            self.require_running()
            statuses = self.brokers.status()
            self._on_status(statuses)
            silent = [broker for broker in self.expected.running if broker not in statuses]
            if not silent and next(link_obstacles(statuses, self.expected), None) is None:
                return
            if patience.has_ended(len(statuses) + sum(status.links_up for status in statuses.values())):
                raise UnsettledError(self._not_connected(silent, statuses))
            self.wait(interval)
            interval = min(1.5 * interval, _LOOKS_AT_START)

    def _await_canaries(self, canaries: Canaries, within: float) -> None:
        """Returns when canaries have come from each broker to each. Raises `UnsettledError` as `await_links` does."""
        patience = Patience(within)
        watch = self._watch_canaries(canaries)
        while not canaries.whole:
            canaries.watch()
            self.require_running()
            if patience.has_ended(canaries.progress):
                silent = canaries.silent
                unwelcome = f"brokers {', '.join(silent[:_MOST_NAMED])} do not welcome clients"
                raise UnsettledError("; ".join([unwelcome if silent else watch.obstacle, *self._hindrances()]))
            self.wait(_LOOKS_AT_MESSAGES)

    def _watch_canaries(self, canaries: Canaries) -> CanaryWatch:
        return CanaryWatch(canaries, self.require_running, self.wait)

    def stop(self, within: float = STOP_WITHIN) -> None:
        """Stops all brokers; those that have not ended after `within` seconds are killed. Their network stays."""
        if self._canaries is not None:
            self._canaries.close()
            self._canaries = None
        self.brokers.stop_all(within)

    def require_running(self) -> None:
        """Raises an error when a broker has ended by itself, or the network.

        `BrokerDefectError` when the broker's own code failed, `UnsettledError` when it ended for another reason,
        `NetworkError` for the network.
        """
        self._check_network()
        if endings := self.brokers.ended():
            if (failed := next((ending for ending in endings if ending.is_defect), None)) is not None:
                raise failed.defect()
            raise UnsettledError(endings[0].with_output())

    def quiet_watch(self) -> HostQuietWatch | CanaryWatch:
        return HostQuietWatch(self) if self._canaries is None else self._watch_canaries(self._canaries)

    def settle(self, within: float) -> None:
        self.quiet_watch().settle(within)

    def pass_time(self, seconds: float) -> None:
        """Returns after that many seconds, in which all brokers must run."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.require_running()
            self.wait(min(left, _CHECK_INTERVAL))

    def _not_connected(self, silent: list[BrokerId], statuses: Mapping[BrokerId, BrokerStatus]) -> str:
        besides = self._hindrances()
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

    def _hindrances(self) -> list[str]:
        """Reasons on this host why brokers do not come up."""
        busy = busy_processors()
        return [*self.brokers.crowded(), *([] if busy is None else [busy])]


class HostQuietWatch:
    """A `QuietWatch` that asks the brokers of one host for their status, and compares it with that of the look
    before."""

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
        statuses = self._overlay.brokers.status()
        if time.monotonic_ns() < end:
            self._detector.look(statuses, self._overlay.expected)

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
        return self._detector.look(self._overlay.brokers.status(), self._overlay.expected)


def host_configs(
    overlay: Overlay,
    settings: BrokerSettings,
    run_id: str,
    files: Callable[[BrokerId], BrokerFiles],
    *,
    wired: Overlay | None = None,
    access: Iterable[Link] = (),
    everywhere: Iterable[str] = (),
) -> BrokerConfigs:
    """Configurations of brokers whose links have the addresses that the run's emulated network gives them.

    `wired` is the overlay that the network was made for, which may have more links, those of sites to their brokers
    among them (`access`); None where it is the same. `everywhere` are addresses that each broker listens on besides.
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

    listen: dict[BrokerId, list[str]] = {broker.id: list(everywhere) for broker in overlay.brokers}
    for link in access:
        listen[link.b].append(addresses_of(link).b)
    return BrokerConfigs(overlay, settings, files=files, addresses=addresses_of, listen=listen)


def broker_addresses(wired: Overlay, sites: Sequence[Site], run_id: str) -> Mapping[str, str]:
    """The address of its broker for each site, over its access link in the network that was made for `wired`."""
    if not sites:
        return {}
    ends = {(names.link.a, names.link.b): names.addresses[1] for names in name_links(wired.links, run_id)}
    return {site.name: f"{ends[site.name, site.broker]}:{BROKER_PORT}" for site in sites}
