"""The parts of an emulated network: nodes, links between them and the relay, which are made and removed together."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from mininet.log import lg

from emulation.host.journal import Resource
from emulation.network.host_tunnels import LINK_MTU, HostTunnels, Peer, require_near
from emulation.network.inter_host_links import ExchangeNode, half
from emulation.network.links import PlainLink, UserspaceLink
from emulation.network.model import ChangeJournal, LinkDriver, LinkNames, NetworkError, NetworkLinkEnd, name_links
from emulation.network.namespaces import run_in_namespace
from emulation.network.netem import NetemLink, burst_of
from emulation.network.nodes import Node, SandboxNode
from emulation.network.probing.messages import FarResponder
from emulation.network.probing.probes import DirectionSpec
from emulation.network.relay.handle import RelayProcess
from emulation.network.relay_statistics import RelayStatistics, gather_statistics
from topology.link_properties import BrokerId, Link, LinkProperties
from topology.model import Overlay

_EXCHANGE = "exchange"
"""The last part of the name of the node that represents other hosts."""


class NetworkParts:
    """Nodes, links and relay of one overlay's network on this host. Nothing is made before `start`."""

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
        """See `EmulatedNetwork`."""
        self.driver = driver
        self._run_id = run_id
        self._seed = seed
        self._sandboxes = {**(sandboxes or {}), **sites}
        self._journal = journal
        self._tunnels = tunnels
        self.far: Mapping[BrokerId, Peer] = {} if tunnels is None else tunnels.peers
        """Brokers on other hosts, which shape the frames that these send."""
        self._brokers = [broker.id for broker in overlay.brokers if broker.id not in self.far]
        self._names = name_links(overlay.links, run_id)
        self._nodes: dict[BrokerId, Node] = {}
        self._exchange: ExchangeNode | None = None
        self.links: dict[tuple[BrokerId, BrokerId], PlainLink] = {}
        self.relay: RelayProcess | None = None
        missing = [broker for broker in self._brokers if sandboxes and broker not in self._sandboxes]
        if missing:
            raise NetworkError(f"no sandbox was given for {', '.join(missing)}")

    def start(self) -> None:
        """Makes all parts and verifies them. Raises `NetworkError`; everything made until then is removed."""
        lg.setLogLevel("critical")  # Mininet's own errors are found by verification and raised
        try:
            _require_tools()
            if self.driver is LinkDriver.USERSPACE:
                self._start_relay()
            self._start_nodes()
            for index, names in enumerate(self._names):
                self._build(index, names)
            for node in self._all_nodes():
                node.configure()
            self._verify_interfaces(self._nodes)
            self._receive_probes()
            for link in self.links.values():
                link.verify()
        except BaseException:
            self.stop()
            raise

    def extend(self, link: Link) -> None:
        """Makes one more link, between two nodes of this host, and verifies it. Raises `NetworkError`."""
        if far := [self.far[end].name for end in (link.a, link.b) if end in self.far]:
            raise NetworkError(f"link {link.a}-{link.b} leads to {far[0]}: no link between hosts is made during a run")
        index = len(self._names)
        *_, names = name_links([*(names.link for names in self._names), link], self._run_id)
        if unknown := [end for end in (link.a, link.b) if end not in self._nodes]:
            raise NetworkError(f"there is no node {unknown[0]} for {names}")
        ends = self._nodes[link.a], self._nodes[link.b]
        made = self._make_link(index, names, ends)
        for node in ends:
            node.configure()
        self._names.append(names)
        self._verify_interfaces((link.a, link.b))
        made.verify()
        self.links = {**self.links, (link.a, link.b): made}  # replaced, because other threads go through them

    def stop(self) -> None:
        """Removes everything that `start` made. May be called at any time, and more than once."""
        for node in self._all_nodes():
            node.remove_interfaces()
        if self.relay is not None:
            self.relay.stop()
            self.relay = None
            self._note_end("relay")
        for node in self._all_nodes():
            node.hang_up()
        for node in self._all_nodes():
            node.terminate()
            if not isinstance(node, SandboxNode):
                self._note_end(node.name)
        self.links = {}
        self._nodes.clear()
        self._exchange = None

    def ends(self, broker: BrokerId) -> tuple[NetworkLinkEnd, ...]:
        """The broker's links from its own perspective."""
        pairs = ((names, (names.link.a, names.link.b)) for names in self._names)
        return tuple(names.end(brokers.index(broker)) for names, brokers in pairs if broker in brokers)

    def pid(self, broker: BrokerId) -> int:
        """A process in the network namespace of a broker's node."""
        return int(self._nodes[broker].pid)

    def direction(self, source: BrokerId, target: BrokerId) -> tuple[PlainLink, int]:
        """The link between two nodes, or this host's half of it, and the side at which frames from the first enter."""
        for ends, side in (((source, target), 0), ((target, source), 1)):
            if ends in self.links:
                return self.links[ends], side
        raise NetworkError(f"there is no link between {source} and {target}")

    def spec(self, source: BrokerId, target: BrokerId, properties: LinkProperties) -> DirectionSpec:
        """The direction between two brokers, to be probed for these properties."""
        require_near(source, self.far)
        link, side = self.direction(source, target)
        addresses = link.names.addresses
        peer, tunnels = self.far.get(target), self._tunnels
        responder = (
            None
            if tunnels is None or peer is None
            else FarResponder(peer.address, tunnels.echo_port, tunnels.token.hex())
        )
        return DirectionSpec(
            source=source,
            target=target,
            processes=(self.pid(source), 0 if peer is not None else self.pid(target)),
            addresses=(addresses[side], addresses[1 - side]),
            properties=properties,
            burst=burst_of(properties) if self.driver is LinkDriver.NETEM else 0,
            responder=responder,
        )

    def relay_statistics(self) -> RelayStatistics | None:
        """The relay's counters so far; None without a relay."""
        if self.relay is None:
            return None
        return gather_statistics(self.relay, [link for link in self.links.values() if isinstance(link, UserspaceLink)])

    def _start_nodes(self) -> None:
        for broker in self._brokers:
            name = f"{self._run_id}-{broker}"
            if broker in self._sandboxes:
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
        self.relay = RelayProcess(self._run_id, self._seed)
        self._note_identity("relay", self.relay.pid)

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
        here = [side for side in (0, 1) if ends[side] not in self.far]
        if len(here) == 2:
            self.links[ends] = self._make_link(index, names, (self._nodes[ends[0]], self._nodes[ends[1]]))
        elif here:
            self.links[ends] = self._make_half(index, names, here[0])

    def _make_half(self, index: int, names: LinkNames, side: int) -> PlainLink:
        """The half of a link whose end at `side` is here."""
        assert self._tunnels is not None and self._exchange is not None
        ends = names.link.a, names.link.b
        peer, node = self.far[ends[1 - side]], self._nodes[ends[side]]
        link = self._make_link(
            index, half(names, side, peer), (node, self._exchange) if side == 0 else (self._exchange, node)
        )
        node.want(f"link set dev {names.interfaces[side]} mtu {LINK_MTU}")
        self._exchange.join(names, side, self._tunnels, peer)
        return link

    def _receive_probes(self) -> None:
        """Receive the probes of directions from other hosts to this one."""
        for names in self._names:
            ends = names.link.a, names.link.b
            for side in (0, 1):
                if self._tunnels is not None and ends[side] not in self.far and ends[1 - side] in self.far:
                    self._tunnels.responder.listen(self.pid(ends[side]), names.addresses[side])

    def _make_link(self, index: int, names: LinkNames, nodes: tuple[Node, Node]) -> PlainLink:
        match self.driver:
            case LinkDriver.USERSPACE:
                assert self.relay is not None
                return UserspaceLink(nodes, names, index, self.relay)
            case LinkDriver.NETEM:
                return NetemLink(nodes, names)
            case LinkDriver.PLAIN:
                return PlainLink(nodes, names)

    def _verify_interfaces(self, brokers: Iterable[BrokerId]) -> None:
        for broker in brokers:
            shown = run_in_namespace(self.pid(broker), ["ip", "-json", "address", "show"])
            found = {
                interface["ifname"]: ("UP" in interface["flags"], {entry["local"] for entry in interface["addr_info"]})
                for interface in json.loads(shown.stdout or "[]")
            }
            for end in self.ends(broker):
                up, addresses = found.get(end.interface, (False, set()))
                if not up or end.local_address not in addresses:
                    raise NetworkError(f"interface {end.interface} of {broker} is not up with {end.local_address}")


def _require_tools() -> None:
    for tool, package in (
        ("mnexec", "mininet"),
        ("ifconfig", "net-tools"),
        ("ip", "iproute2"),
        ("bridge", "iproute2"),
        ("tc", "iproute2"),
    ):
        if shutil.which(tool) is None:
            raise NetworkError(f"the program {tool} is missing: install the package {package}")
