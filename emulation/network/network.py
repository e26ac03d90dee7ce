"""The emulated network of an overlay: a Mininet host for each broker, and between them the overlay's links.

Mininet's `Mininet` object is not used, for it changes limits of the whole host; its hosts and links are used on their own.
There are no switches: each link is a network of two addresses, `10.x.y.z/30`, and a broker that talks to a neighbour talks
over that very link.

Interfaces are made inside the nodes' namespaces and never exist in the host's own. They go away with those namespaces (the
sandboxes', or those of the hosts' shells, which end when the emulator does) or, for TAP interfaces, with the relay.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from mininet.log import lg

from emulation.journal import Journal, Resource
from emulation.network.links import PlainLink, UserspaceLink
from emulation.network.model import LinkDriver, LinkEnd, LinkNames, NetworkError, name_links
from emulation.network.namespaces import run_in_namespace
from emulation.network.nodes import Node, SandboxNode
from emulation.network.relay_process import RelayProcess
from topology.model import BrokerId, Overlay


class EmulatedNetwork:
    """See the module. Also a context manager that starts and stops the network."""

    def __init__(
        self,
        overlay: Overlay,
        run_id: str,
        driver: LinkDriver,
        sandboxes: Mapping[BrokerId, int] | None = None,
        journal: Journal | None = None,
        seed: int = 0,
    ) -> None:
        """Plan the network; nothing is changed yet.

        `sandboxes` gives for each broker a process whose network namespace is to be the broker's node; None or nothing: Mininet
        hosts with namespaces of their own. `seed` decides what the relay loses and how much it delays.
        """
        self.driver = driver
        self._overlay = overlay
        self._run_id = run_id
        self._seed = seed
        self._sandboxes = dict(sandboxes or {})
        self._journal = journal
        self._names = name_links(overlay.links, run_id)
        self._nodes: dict[BrokerId, Node] = {}
        self._links: list[PlainLink] = []
        self._relay: RelayProcess | None = None
        missing = [broker.id for broker in overlay.brokers if self._sandboxes and broker.id not in self._sandboxes]
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
        """Build nodes and links, give the links their properties, and verify both.

        Raises `NetworkError`, which names the link and the remedy; what was built until then is removed.
        """
        lg.setLogLevel("critical")  # Mininet's own errors are found by verification and raised
        try:
            self._require_tools()
            self._start_nodes()
            if self.driver is LinkDriver.USERSPACE:
                self._start_relay()
            for index, names in enumerate(self._names):
                self._links.append(self._make_link(index, names))
            for node in self._nodes.values():
                node.configure()
            self._verify_interfaces()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Remove everything that `start` made. May be called at any time, and more than once."""
        if self._relay is not None:
            self._relay.stop()
            self._relay = None
        for node in self._nodes.values():
            node.terminate()
        self._links.clear()
        self._nodes.clear()

    def ends(self, broker: BrokerId) -> tuple[LinkEnd, ...]:
        """The broker's links, as it sees them."""
        pairs = ((names, (names.link.a, names.link.b)) for names in self._names)
        return tuple(names.end(brokers.index(broker)) for names, brokers in pairs if broker in brokers)

    def pid(self, broker: BrokerId) -> int:
        """A process in the network namespace of the broker's node."""
        return int(self._nodes[broker].pid)

    def check(self) -> None:
        """Raise `NetworkError` if the links no longer are what they should be, because the relay has ended."""
        if self._relay is not None:
            self._relay.check()

    def _require_tools(self) -> None:
        for tool, package in (("mnexec", "mininet"), ("ifconfig", "net-tools"), ("ip", "iproute2")):
            if shutil.which(tool) is None:
                raise NetworkError(f"the program {tool} is missing: install the package {package}")

    def _start_nodes(self) -> None:
        for broker in self._overlay.brokers:
            name = f"{self._run_id}-{broker.id}"
            if self._sandboxes:
                self._nodes[broker.id] = SandboxNode(name, self._run_id, process=self._sandboxes[broker.id])
                continue
            if self._journal is not None:
                self._journal.creating(Resource.PROCESS, name)
            node = self._nodes[broker.id] = Node(name, self._run_id)
            if self._journal is not None:
                self._journal.started(name, node.pid)

    def _start_relay(self) -> None:
        if self._journal is not None:
            self._journal.creating(Resource.PROCESS, "relay")
        self._relay = RelayProcess(self._run_id, self._seed)
        if self._journal is not None:
            self._journal.started("relay", self._relay.pid)

    def _make_link(self, index: int, names: LinkNames) -> PlainLink:
        nodes = self._nodes[names.link.a], self._nodes[names.link.b]
        match self.driver:
            case LinkDriver.USERSPACE:
                assert self._relay is not None
                return UserspaceLink(nodes, names, index, self._relay)
            case _:
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
