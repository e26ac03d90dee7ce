"""Links with ends on two hosts.

Each host has one half of such a link: a link of the usual kind between the broker's node and an *exchange*, a node that
has no address and represents all other hosts. In the exchange all links to one other host meet in a bridge, with one
VXLAN interface (RFC 7348) whose only remote is that host:

    broker's node              exchange                                   network between the hosts
    [10.x.y.1] == shaped ==> [no address]--+
    [10.x.z.1] == shaped ==> [no address]--+--(bridge)--[VXLAN] ~~~ UDP ~~~> the same on the other host

The links stay apart all the same, because the bridge learns nothing and floods nothing: each link's two brokers have
hardware addresses of their own, and only for these does the bridge know a port, the near one's on the link's end and
the far one's on the VXLAN interface. Frames to any other address end there. Each pair of hosts has a VXLAN identifier
of its own, and each run a series of them.

A half applies the link's properties to frames that leave this host. Frames that arrive were shaped on the host they
came from. The delay of the network between the hosts is subtracted from the link's.

The VXLAN interface is made inside the exchange, but sends through the namespace that made it, the host's own. No
interface appears there, and all interfaces are removed with the exchange's shell.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import replace

from mininet.link import Intf

from emulation.network.host_tunnels import LINK_MTU, HostTunnels, Peer, less_tunnel_delay
from emulation.network.model import LinkNames, NetworkError
from emulation.network.namespaces import run_in_namespace
from emulation.network.nodes import INTERFACE_GROUP, IPV6_SETTINGS, Node
from topology.link_properties import LinkProperties

UNSHAPED = LinkProperties()
_TO = "to"
"""Names of interfaces in the exchange begin with it and the number of the other host."""
_MOST_LINKS = 1_000
"""Links between two hosts. The kernel lets a bridge have 1,024 ports."""
_KNOWN_ONLY = "type bridge_slave learning off flood off mcast_flood off bcast_flood off"
"""The settings of a port that gets frames for the addresses that were given to it, and no others."""


class ExchangeNode(Node):
    """Holds this host's ends of the VXLAN tunnels, one to each other host."""

    def __init__(self, name: str, run_id: str) -> None:
        super().__init__(name, run_id)
        self._links: Counter[str] = Counter()
        """The number of links to each host."""
        self._known: list[str] = []
        """Commands for the bridges' tables of addresses."""

    def want_interface(self, interface: Intf, ip: str, hardware_address: str, neighbour: tuple[str, str]) -> None:
        """Takes a link's end, which gets no address."""
        self._keep_quiet(interface.name)
        self.want(f"link set dev {interface.name} group {INTERFACE_GROUP} mtu {LINK_MTU}")

    def join(self, names: LinkNames, side: int, tunnels: HostTunnels, peer: Peer) -> None:
        """Joins a link to the tunnel to another host, which is made with the first one. To be called once the link is
        made."""
        bridge, tunnel = f"{_TO}{peer.number}r", f"{_TO}{peer.number}x"
        if not self._links[peer.name]:
            self._dig(names, bridge, tunnel, tunnels, peer)
        self._links[peer.name] += 1
        if self._links[peer.name] > _MOST_LINKS:
            raise NetworkError(
                f"more than {_MOST_LINKS:,} links lead to {peer.name}: place brokers otherwise, or use more hosts"
            )
        end = names.interfaces[1 - side]
        self._add_port(end, bridge)
        near, far = names.hardware_addresses[side], names.hardware_addresses[1 - side]
        self._known += [f"fdb add {near} dev {end} master static", f"fdb add {far} dev {tunnel} master static"]

    def configure(self) -> None:
        """Runs the noted commands, and tells the bridges their addresses. Raises `NetworkError`."""
        super().configure()
        known, self._known = self._known, []
        done = run_in_namespace(self.pid, ["bridge", "-batch", "-"], "\n".join([*known, ""]))
        if done.returncode:
            raise NetworkError(f"cannot configure the bridges of {self.name}: {' '.join(done.stderr.split())}")

    def _dig(self, names: LinkNames, bridge: str, tunnel: str, tunnels: HostTunnels, peer: Peer) -> None:
        """Makes the VXLAN interface to another host, and its bridge."""
        command = [
            "ip", "link", "add", tunnel, "netns", str(self.pid), "mtu", str(LINK_MTU), "type", "vxlan",
            "id", str(tunnels.identifier(peer)), "local", tunnels.address, "remote", peer.address,
            "dstport", str(tunnels.vxlan_port), "nolearning",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NetworkError(
                f"{names} cannot be carried to {peer.name} by VXLAN ({' '.join(done.stderr.split())}): load the kernel "
                f"module vxlan, and leave UDP port {tunnels.vxlan_port} to this run"
            )
        self.want(f"link add name {bridge} type bridge stp_state 0 mcast_snooping 0")
        self._keep_quiet(bridge)
        self.want(f"link set dev {bridge} group {INTERFACE_GROUP} mtu {LINK_MTU} up")
        self._keep_quiet(tunnel)
        self._add_port(tunnel, bridge)

    def _add_port(self, interface: str, bridge: str) -> None:
        self.want(f"link set dev {interface} group {INTERFACE_GROUP} master {bridge} up")
        self.want(f"link set dev {interface} {_KNOWN_ONLY}")

    def _keep_quiet(self, interface: str) -> None:
        """Keeps IPv6 from sending on an interface."""
        if IPV6_SETTINGS.exists():
            self.want(f"link set dev {interface} addrgenmode none")


def half(names: LinkNames, side: int, peer: Peer) -> LinkNames:
    """The half of a link that this host makes, with its broker at `side`. Raises `NetworkError` if the tunnel is
    slower."""
    link = names.link
    leaving = less_tunnel_delay(names, (link.forward, link.backward)[side], peer)
    forward, backward = (leaving, UNSHAPED) if side == 0 else (UNSHAPED, leaving)
    return replace(names, link=replace(link, forward=forward, backward=backward))
