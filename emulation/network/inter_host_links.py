"""Links with ends on two hosts.

Each host has one half of such a link: a link of the usual kind between the broker's node and an *exchange*, a node that
has no address and represents all other hosts. In the exchange a bridge joins the link's end with a VXLAN interface
(RFC 7348) whose only remote is the other host:

    broker's node              exchange                                   network between the hosts
    [10.x.y.1] == shaped ==> [no address]--(bridge)--[VXLAN identifier] ~~~ UDP ~~~> the same on the other host

A half applies the link's properties to frames that leave this host. Frames that arrive were shaped on the host they
came from. The delay of the network between the hosts is subtracted from the link's. Each link has a VXLAN identifier of
its own, and each run a series of them.

The VXLAN interface is made inside the exchange, but sends through the namespace that made it, the host's own. No
interface appears there, and all interfaces are removed with the exchange's shell.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace

from mininet.link import Intf

from emulation.network.host_tunnels import LINK_MTU, HostTunnels, Peer, less_tunnel_delay
from emulation.network.model import LinkNames, NetworkError
from emulation.network.nodes import INTERFACE_GROUP, IPV6_SETTINGS, Node
from topology.link_properties import LinkProperties

UNSHAPED = LinkProperties()


class ExchangeNode(Node):
    """Holds this host's ends of the VXLAN tunnels."""

    def want_interface(self, interface: Intf, ip: str, hardware_address: str, neighbour: tuple[str, str]) -> None:
        """Join a link's end, which gets no address, to a bridge of its own."""
        bridge = _bridge(interface.name)
        self._want_quiet(f"link add name {bridge} type bridge stp_state 0 mcast_snooping 0", bridge)
        self._want_quiet(None, interface.name)
        self.want(f"link set dev {interface.name} group {INTERFACE_GROUP} mtu {LINK_MTU} master {bridge} up")
        self.want(f"link set dev {bridge} group {INTERFACE_GROUP} mtu {LINK_MTU} up")

    def tunnel(self, names: LinkNames, side: int, index: int, tunnels: HostTunnels, peer: Peer) -> None:
        """Join the link's bridge with a VXLAN interface. To be called once the link is made."""
        name = f"{names.interfaces[1 - side][:-1]}x"
        command = [
            "ip", "link", "add", name, "netns", str(self.pid), "mtu", str(LINK_MTU), "type", "vxlan",
            "id", str(tunnels.identifier(index)), "local", tunnels.address, "remote", peer.address,
            "dstport", str(tunnels.vxlan_port), "nolearning",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NetworkError(
                f"{names} cannot be carried to {peer.name} by VXLAN ({' '.join(done.stderr.split())}): load the kernel "
                f"module vxlan, and leave UDP port {tunnels.vxlan_port} to this run"
            )
        self._want_quiet(None, name)
        self.want(f"link set dev {name} group {INTERFACE_GROUP} master {_bridge(name)} up")

    def _want_quiet(self, command: str | None, interface: str) -> None:
        """Notes the command that makes an interface, if there is one, and keeps IPv6 from sending on it."""
        if command is not None:
            self.want(command)
        if IPV6_SETTINGS.exists():
            self.want(f"link set dev {interface} addrgenmode none")


def half(names: LinkNames, side: int, peer: Peer) -> LinkNames:
    """The half of a link that this host makes, with its broker at `side`. Raises `NetworkError` if the tunnel is
    slower."""
    link = names.link
    leaving = less_tunnel_delay(names, (link.forward, link.backward)[side], peer)
    forward, backward = (leaving, UNSHAPED) if side == 0 else (UNSHAPED, leaving)
    return replace(names, link=replace(link, forward=forward, backward=backward))


def _bridge(interface: str) -> str:
    """The bridge of a link, by one of its interfaces in the exchange."""
    return f"{interface[:-1]}r"
