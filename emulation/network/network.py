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

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Self

from mininet.log import lg

from emulation.host.journal import Resource
from emulation.network.host_tunnels import LINK_MTU, HostTunnels, Peer
from emulation.network.inter_host_links import ExchangeNode, half, less_tunnel_delay
from emulation.network.links import PlainLink, UserspaceLink
from emulation.network.model import ChangeJournal, LinkDriver, LinkNames, NetworkError, NetworkLinkEnd, name_links
from emulation.network.namespaces import run_in_namespace
from emulation.network.netem import NetemLink, burst_of
from emulation.network.nodes import Node, SandboxNode
from emulation.network.probing.messages import DirectionSamples, FarResponder
from emulation.network.probing.probes import DirectionSpec, LinkProbe, probe_fault, probe_idle, probe_under_load
from emulation.network.relay.handle import RelayProcess
from emulation.network.relay.messages import Punctuality
from emulation.network.relay_statistics import RelayStatistics, gather_statistics
from topology.link_properties import BrokerId, Link, LinkDirection, LinkProperties
from topology.model import Overlay

_EXCHANGE = "exchange"
"""The last part of the name of the node that represents other hosts."""


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
    ) -> None:
        """Plan the network; nothing is changed yet.

        `sandboxes` holds for each broker a process whose network namespace becomes the broker's node; without sandboxes
        there are Mininet hosts with namespaces of their own. `seed` decides which frames the relay loses and how long
        it delays them. `tunnels` names the brokers on other hosts, and how to reach them; None means that there are
        none.
        """
        self.driver = driver
        self._overlay = overlay
        self._run_id = run_id
        self._seed = seed
        self._sandboxes = dict(sandboxes or {})
        self._journal = journal
        self._tunnels = tunnels
        self._far: Mapping[BrokerId, Peer] = {} if tunnels is None else tunnels.peers
        self._brokers = [broker.id for broker in overlay.brokers if broker.id not in self._far]
        self._names = name_links(overlay.links, run_id)
        self._properties: dict[tuple[BrokerId, BrokerId], LinkProperties] = {}
        for link in overlay.links:
            self._properties |= {(link.a, link.b): link.forward, (link.b, link.a): link.backward}
        self._cut: set[tuple[BrokerId, BrokerId]] = set()
        self._damaging: set[tuple[BrokerId, BrokerId]] = set()
        self._changes: Counter[tuple[BrokerId, BrokerId]] = Counter()
        """Number of cuts, restorations and changes of each direction."""
        self._nodes: dict[BrokerId, Node] = {}
        self._exchange: ExchangeNode | None = None
        self._links: dict[tuple[BrokerId, BrokerId], PlainLink] = {}
        self._relay: RelayProcess | None = None
        missing = [broker for broker in self._brokers if self._sandboxes and broker not in self._sandboxes]
        if missing:
            raise NetworkError(f"no sandbox was given for {', '.join(missing)}")

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
        lg.setLogLevel("critical")  # Mininet's own errors are found by verification and raised
        try:
            self._require_tools()
            if self.driver is LinkDriver.USERSPACE:
                self._start_relay()
            self._start_nodes()
            for index, names in enumerate(self._names):
                self._build(index, names)
            for node in self._all_nodes():
                node.configure()
            self._verify_interfaces()
            self._receive_probes()
            for link in self._links.values():
                link.verify()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Removes everything that `start` made. May be called at any time, and more than once."""
        for node in self._all_nodes():
            node.remove_interfaces()
        if self._relay is not None:
            self._relay.stop()
            self._relay = None
            self._note_end("relay")
        for node in self._all_nodes():
            node.hang_up()
        for node in self._all_nodes():
            node.terminate()
            if not isinstance(node, SandboxNode):
                self._note_end(node.name)
        self._links.clear()
        self._nodes.clear()
        self._exchange = None

    def ends(self, broker: BrokerId) -> tuple[NetworkLinkEnd, ...]:
        """The broker's links from its own perspective."""
        pairs = ((names, (names.link.a, names.link.b)) for names in self._names)
        return tuple(names.end(brokers.index(broker)) for names, brokers in pairs if broker in brokers)

    def pid(self, broker: BrokerId) -> int:
        """A process in the network namespace of the broker's node."""
        return int(self._nodes[broker].pid)

    def check(self) -> None:
        """Raises `NetworkError` if the relay has ended, because the links then have lost their properties."""
        if self._relay is not None:
            self._relay.check()

    def change(self, source: BrokerId, target: BrokerId, properties: LinkProperties) -> None:
        """Changes the properties of frames that `source` sends `target` from now on; frames in flight keep theirs."""
        self._changes[source, target] += 1
        link, side = self._direction(source, target)
        peer = self._far.get(target)
        link.change(side, properties if peer is None else less_tunnel_delay(link.names, properties, peer))
        self._properties[source, target] = properties

    def cut(self, source: BrokerId, target: BrokerId) -> None:
        """Drops frames that `source` sends to `target` from now on. Frames in flight, and the other direction, still
        arrive."""
        self._changes[source, target] += 1
        link, side = self._direction(source, target)
        self._cut.add((source, target))
        link.cut(side)

    def restore(self, source: BrokerId, target: BrokerId) -> None:
        """Undo `cut`."""
        self._changes[source, target] += 1
        link, side = self._direction(source, target)
        link.restore(side)
        self._cut.discard((source, target))

    def connect(self, link: Link) -> None:
        """Lets frames into a link that was disconnected, which has these properties from now on."""
        for source, target, properties in ((link.a, link.b, link.forward), (link.b, link.a, link.backward)):
            if self._properties[source, target] != properties:
                self.change(source, target, properties)
            self.restore(source, target)

    def disconnect(self, a: BrokerId, b: BrokerId) -> None:
        """Lets no frames into a link, in either direction. Frames in flight still arrive."""
        self.cut(a, b)
        self.cut(b, a)

    def corrupt(self, source: BrokerId, target: BrokerId, share: float) -> None:
        """Damage this share of the frames that `source` sends to `target` from now on; a share of 0 ends the damage.

        The receiver's checksums detect the damage, and TCP sends again: a damaged frame is a lost one that uses the
        link.
        """
        self._changes[source, target] += 1
        link, side = self._direction(source, target)
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
            direction: self._direction_spec(direction.source, direction.target, properties)
            for direction, properties in asked.items()
        }
        samples = probe_fault(list(specs.values()), [lost[direction] for direction in specs])
        return dict(zip(specs, zip(specs.values(), samples, strict=True), strict=True))

    def relay_statistics(self) -> RelayStatistics | None:
        """The relay's counters so far; None without a relay."""
        if self._relay is None:
            return None
        links = [link for link in self._links.values() if isinstance(link, UserspaceLink)]
        return gather_statistics(self._relay, links)

    def punctuality(self) -> Punctuality | None:
        """The relay's lateness so far; None without a relay. The question costs the relay next to nothing."""
        return None if self._relay is None else self._relay.punctuality()

    def _direction(self, source: BrokerId, target: BrokerId) -> tuple[PlainLink, int]:
        """The link between two brokers, and the side of the first one."""
        if source in self._far:
            raise NetworkError(f"frames from {source} are shaped on host {self._far[source].name}")
        for ends, side in (((source, target), 0), ((target, source), 1)):
            if ends in self._links:
                return self._links[ends], side
        raise NetworkError(f"there is no link between {source} and {target}")

    def _directions(self, links: Iterable[Link] | None) -> list[DirectionSpec]:
        wanted = self._links if links is None else [(link.a, link.b) for link in links]
        directions = (direction for a, b in wanted for direction in ((a, b), (b, a)))
        return [
            self._direction_spec(source, target, self._properties[source, target])
            for source, target in directions
            if source not in self._far
        ]

    def _direction_spec(self, source: BrokerId, target: BrokerId, properties: LinkProperties) -> DirectionSpec:
        link, side = self._direction(source, target)
        addresses = link.names.addresses
        return DirectionSpec(
            source=source,
            target=target,
            processes=(self.pid(source), 0 if target in self._far else self.pid(target)),
            addresses=(addresses[side], addresses[1 - side]),
            properties=properties,
            burst=burst_of(properties) if self.driver is LinkDriver.NETEM else 0,
            responder=self._responder_of(target),
        )

    def _responder_of(self, broker: BrokerId) -> FarResponder | None:
        """The responder that receives probes for a broker on another host; None for a broker on this one."""
        if self._tunnels is None or broker not in self._far:
            return None
        return FarResponder(self._far[broker].address, self._tunnels.echo_port, self._tunnels.token.hex())

    def _require_tools(self) -> None:
        for tool, package in (("mnexec", "mininet"), ("ifconfig", "net-tools"), ("ip", "iproute2"), ("tc", "iproute2")):
            if shutil.which(tool) is None:
                raise NetworkError(f"the program {tool} is missing: install the package {package}")

    def _start_nodes(self) -> None:
        for broker in self._brokers:
            name = f"{self._run_id}-{broker}"
            if self._sandboxes:
                self._nodes[broker] = SandboxNode(name, self._run_id, process=self._sandboxes[broker])
                continue
            self._note_start(name)
            node = self._nodes[broker] = Node(name, self._run_id)
            self._note_identity(name, node.pid)
        if self._tunnels is not None:
            name = f"{self._run_id}-{_EXCHANGE}"
            self._note_start(name)
            self._exchange = ExchangeNode(name, self._run_id)
            self._note_identity(name, self._exchange.pid)

    def _all_nodes(self) -> list[Node]:
        return [*self._nodes.values(), *([] if self._exchange is None else [self._exchange])]

    def _start_relay(self) -> None:
        self._note_start("relay")
        self._relay = RelayProcess(self._run_id, self._seed)
        self._note_identity("relay", self._relay.pid)

    def _note_start(self, process: str) -> None:
        if self._journal is not None:
            self._journal.creating(Resource.PROCESS, process)

    def _note_identity(self, process: str, pid: int) -> None:
        if self._journal is not None:
            self._journal.started(process, pid)

    def _note_end(self, process: str) -> None:
        if self._journal is not None:
            self._journal.removed(Resource.PROCESS, process)

    def _build(self, index: int, names: LinkNames) -> None:
        """Makes a link, or this host's half of it; a link between two other hosts is left out."""
        ends = names.link.a, names.link.b
        here = [side for side in (0, 1) if ends[side] not in self._far]
        if len(here) == 2:
            self._links[ends] = self._make_link(index, names, (self._nodes[ends[0]], self._nodes[ends[1]]))
        elif here:
            self._links[ends] = self._make_half(index, names, here[0])

    def _make_half(self, index: int, names: LinkNames, side: int) -> PlainLink:
        """The half of a link whose end at `side` is here."""
        assert self._tunnels is not None and self._exchange is not None
        ends = names.link.a, names.link.b
        peer, node = self._far[ends[1 - side]], self._nodes[ends[side]]
        link = self._make_link(
            index, half(names, side, peer), (node, self._exchange) if side == 0 else (self._exchange, node)
        )
        node.want(f"link set dev {names.interfaces[side]} mtu {LINK_MTU}")
        self._exchange.tunnel(names, side, index, self._tunnels, peer)
        return link

    def _receive_probes(self) -> None:
        """Receive the probes of directions from other hosts to this one."""
        for names in self._names:
            ends = names.link.a, names.link.b
            for side in (0, 1):
                if self._tunnels is not None and ends[side] not in self._far and ends[1 - side] in self._far:
                    self._tunnels.responder.listen(self.pid(ends[side]), names.addresses[side])

    def _make_link(self, index: int, names: LinkNames, nodes: tuple[Node, Node]) -> PlainLink:
        match self.driver:
            case LinkDriver.USERSPACE:
                assert self._relay is not None
                return UserspaceLink(nodes, names, index, self._relay)
            case LinkDriver.NETEM:
                return NetemLink(nodes, names)
            case LinkDriver.PLAIN:
                return PlainLink(nodes, names)

    def _verify_interfaces(self) -> None:
        for broker, node in self._nodes.items():
            shown = run_in_namespace(node.pid, ["ip", "-json", "address", "show"])
            found = {
                interface["ifname"]: ("UP" in interface["flags"], {entry["local"] for entry in interface["addr_info"]})
                for interface in json.loads(shown.stdout or "[]")
            }
            for end in self.ends(broker):
                up, addresses = found.get(end.interface, (False, set()))
                if not up or end.local_address not in addresses:
                    raise NetworkError(f"interface {end.interface} of {broker} is not up with {end.local_address}")
