"""The emulated network of an overlay: a Mininet host for each broker, and the overlay's links between them.

Mininet's `Mininet` object is not used, because it changes limits of the whole host; its hosts and links are used on
their own. There are no switches: each link is a network of two addresses, `10.x.y.z/30`, and a broker's messages to a
neighbour travel over the link between them.

If an overlay is spread over several hosts (`tunnels`), each has such a network of its brokers, and its half of the
links to other hosts (`inter_host_links`). Operations on links then affect the frames that this host's brokers send.

Interfaces are made inside the nodes' namespaces and never exist in the host's own. They are removed with those
namespaces (those of the sandboxes, or of the hosts' shells, which end when the emulator does), TAP interfaces with the
relay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType, TracebackType
from typing import Self

from emulation.network.host_tunnels import HostTunnels, less_tunnel_delay, require_near
from emulation.network.model import ChangeJournal, LinkDriver, NetworkLinkEnd
from emulation.network.probing.messages import DirectionSamples
from emulation.network.probing.probes import DirectionSpec, LinkProbe, probe_fault, probe_idle, probe_under_load
from emulation.network.relay.messages import Punctuality
from emulation.network.relay_statistics import RelayStatistics
from topology.link_properties import BrokerId, Link, LinkDirection, LinkProperties
from topology.model import Overlay


class EmulatedNetwork:
    """The emulated network of one overlay, and a context manager that starts and stops it."""

    def __init__(
        self,
        overlay: Overlay,
        run_id: str,
        driver: LinkDriver,
        sandboxes: Mapping[BrokerId, int] | None = None,
        journal: ChangeJournal | None = None,
        *,
        seed: int = 0,
        tunnels: HostTunnels | None = None,
        sites: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Plan the network; nothing is changed yet.

        `sandboxes` holds for each broker a process whose network namespace becomes the broker's node; without sandboxes
        there are Mininet hosts with namespaces of their own. `seed` decides which frames the relay loses and how long
        it delays them. `tunnels` names the brokers on other hosts, and how to reach them; None means that there are
        none. `sites` are nodes of the overlay that are no brokers, each with a process in its namespace.
        """
        from emulation.network.parts import NetworkParts  # noqa: PLC0415 - imports Mininet, which is of an extra

        self._parts = NetworkParts(overlay, run_id, driver, sandboxes, journal, seed=seed, tunnels=tunnels, sites=sites)
        self._far = self._parts.far
        self._properties: dict[tuple[BrokerId, BrokerId], LinkProperties] = {}
        for link in overlay.links:
            self._properties |= {(link.a, link.b): link.forward, (link.b, link.a): link.backward}
        self._cut: set[tuple[BrokerId, BrokerId]] = set()
        self._damaging: set[tuple[BrokerId, BrokerId]] = set()
        self._changes: Counter[tuple[BrokerId, BrokerId]] = Counter()
        """Number of cuts, restorations and changes of each direction."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Builds nodes and links, gives the links their properties, and verifies both.

        Raises `NetworkError`, which names the link and the remedy; everything built until then is removed.
        """
        self._parts.start()

    def stop(self) -> None:
        """Removes everything that `start` made. May be called at any time, and more than once."""
        self._parts.stop()

    def ends(self, broker: BrokerId) -> tuple[NetworkLinkEnd, ...]:
        """The broker's links from its own perspective."""
        return self._parts.ends(broker)

    def pid(self, broker: BrokerId) -> int:
        """A process in the network namespace of the broker's node."""
        return self._parts.pid(broker)

    def check(self) -> None:
        """Raises `NetworkError` if the relay has ended, because the links then have lost their properties."""
        if self._parts.relay is not None:
            self._parts.relay.check()

    def change(self, direction: LinkDirection, properties: LinkProperties) -> None:
        """Changes the properties of frames that are sent in a direction from now on; frames in flight keep theirs."""
        source, target = direction.source, direction.target
        require_near(source, self._far)
        self._changes[source, target] += 1
        link, side = self._parts.direction(source, target)
        peer = self._far.get(target)
        link.change(side, properties if peer is None else less_tunnel_delay(link.names, properties, peer))
        self._properties[source, target] = properties

    def cut(self, direction: LinkDirection) -> None:
        """Drops frames that are sent in a direction from now on. Frames in flight, and the other direction, still
        arrive. Frames that come from another host are dropped on arrival."""
        source, target = direction.source, direction.target
        self._changes[source, target] += 1
        link, side = self._parts.direction(source, target)
        self._cut.add((source, target))
        link.cut(side)

    def restore(self, direction: LinkDirection) -> None:
        """Undoes `cut`."""
        source, target = direction.source, direction.target
        self._changes[source, target] += 1
        link, side = self._parts.direction(source, target)
        link.restore(side)
        self._cut.discard((source, target))

    def add(self, link: Link) -> None:
        """Lets frames into a link that was removed, which has these properties from now on; one that never was is made.

        Raises `NetworkError`.
        """
        if (link.a, link.b) not in self._properties:
            self._parts.extend(link)
            self._properties |= {(link.a, link.b): link.forward, (link.b, link.a): link.backward}
            return
        for source, target, properties in ((link.a, link.b, link.forward), (link.b, link.a, link.backward)):
            direction = LinkDirection(source, target)
            if self._properties[source, target] != properties:
                self.change(direction, properties)
            self.restore(direction)

    def remove(self, a: BrokerId, b: BrokerId) -> None:
        """Lets no frames into a link, in either direction. Frames in flight still arrive."""
        self.cut(LinkDirection(a, b))
        self.cut(LinkDirection(b, a))

    def corrupt(self, direction: LinkDirection, share: float) -> None:
        """Damages this share of the frames that are sent in a direction from now on; a share of 0 ends the damage.

        The receiver's checksums detect the damage, and TCP sends again: a damaged frame is a lost one that uses the
        link.
        """
        source, target = direction.source, direction.target
        require_near(source, self._far)
        self._changes[source, target] += 1
        link, side = self._parts.direction(source, target)
        (self._damaging.add if share else self._damaging.discard)((source, target))
        link.corrupt(side, share)

    def probe(self, links: Iterable[Link] | None = None) -> list[LinkProbe]:
        """Measures delay, jitter, rate and loss of links that carry nothing else: one probe a direction.

        All links of the overlay when none are given. Takes a few seconds, however many there are.
        """
        return probe_idle(self._directions(links))

    def probe_under_load(self, links: Iterable[Link] | None = None) -> list[LinkProbe]:
        """Measures the delay of links in use, by a few small packets each: one probe a direction.

        Directions that a fault cuts or changes meanwhile have none, because no value would be right.
        """
        changes = self._changes.copy()
        unsound = self._cut | self._damaging
        directions = [direction for direction in self._directions(links) if direction.ends not in unsound]
        probes = probe_under_load(directions) if directions else []
        pairs = zip(directions, probes, strict=True)
        return [probe for direction, probe in pairs if self._changes[direction.ends] == changes[direction.ends]]

    def probe_faults(
        self, asked: Mapping[LinkDirection, LinkProperties], lost: Mapping[LinkDirection, float]
    ) -> dict[LinkDirection, tuple[DirectionSpec, DirectionSamples]]:
        """Probes directions in use for properties that a fault may have given them, whatever this network set."""
        specs = {
            direction: self._parts.spec(direction.source, direction.target, properties)
            for direction, properties in asked.items()
        }
        samples = probe_fault(list(specs.values()), [lost[direction] for direction in specs])
        return dict(zip(specs, zip(specs.values(), samples, strict=True), strict=True))

    def relay_statistics(self) -> RelayStatistics | None:
        """The relay's counters so far; None without a relay."""
        return self._parts.relay_statistics()

    def punctuality(self) -> Punctuality | None:
        """The relay's lateness so far; None without a relay. The question costs the relay next to nothing."""
        return None if self._parts.relay is None else self._parts.relay.punctuality()

    def _directions(self, links: Iterable[Link] | None) -> list[DirectionSpec]:
        wanted = self._parts.links if links is None else [(link.a, link.b) for link in links]
        directions = (direction for a, b in wanted for direction in ((a, b), (b, a)))
        return [
            self._parts.spec(source, target, self._properties[source, target])
            for source, target in directions
            if source not in self._far
        ]
