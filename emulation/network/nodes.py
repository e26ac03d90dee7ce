"""Mininet hosts as brokers' nodes, and their interfaces.

Mininet starts several processes to configure an interface. Here an interface only notes its commands, and its node runs
all of them by one `ip -batch`, so that 56 nodes and 136 links start in seconds instead of tens of seconds.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from subprocess import Popen
from typing import Any

from mininet.link import Intf
from mininet.node import Host

from emulation.host.processes import RUN_VARIABLE
from emulation.network.model import NetworkError
from emulation.network.namespaces import run_in_namespace

IPV6_SETTINGS = Path("/proc/sys/net/ipv6")
"""Exists if the kernel has IPv6."""
INTERFACE_GROUP = 7000
"""Marks the interfaces of links within their node's namespace."""


class Node(Host):  # type: ignore[misc]
    """A Mininet host with a network namespace, and a shell in it, of its own."""

    def __init__(self, name: str, run_id: str, **parameters: Any) -> None:
        self._run_id = run_id
        self._wanted: list[str] = []
        super().__init__(name, **parameters)

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802 - Mininet's name
        """Starts the shell with Ctrl-C and SIGTERM blocked, for itself and its children.

        Both reach the emulator's process group, which the shell leaves only once `mnexec` runs. If they ended the shell
        before, Mininet would wait for its prompt for ever.
        """
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        try:
            super().startShell(mnopts)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def _popen(self, cmd: list[str], **parameters: Any) -> Popen[bytes]:
        """Starts a process in the node, marked as one of the run."""
        return super()._popen(cmd, env=os.environ | {RUN_VARIABLE: self._run_id}, **parameters)  # type: ignore[no-any-return]

    def remove_interfaces(self) -> None:
        """Removes the interfaces of the node's links, all at once: one by one the kernel takes 20 ms each.

        Interfaces that vanished with the namespace or the relay are not an error.
        """
        with contextlib.suppress(NetworkError):
            run_in_namespace(self.pid, ["ip", "link", "delete", "group", str(INTERFACE_GROUP)])

    def hang_up(self) -> None:
        """Ends the shell without waiting as `terminate` does, so that many shells end in parallel."""
        os.killpg(self.pid, signal.SIGHUP)

    def want(self, command: str) -> None:
        """Notes an `ip` command, for `configure`."""
        self._wanted.append(command)

    def want_interface(self, interface: Intf, ip: str, hardware_address: str, neighbour: tuple[str, str]) -> None:
        """Notes the commands that configure a new interface of this node."""
        name = interface.name
        if IPV6_SETTINGS.exists():
            self.want(f"link set dev {name} addrgenmode none")
        self.want(f"link set dev {name} group {INTERFACE_GROUP} address {hardware_address} up")
        self.want(f"addr add {ip} dev {name}")
        self.want(f"neigh replace {neighbour[0]} lladdr {neighbour[1]} nud permanent dev {name}")

    def configure(self) -> None:
        """Runs the noted commands. Raises `NetworkError` with the first one that failed."""
        commands, self._wanted = self._wanted, []
        done = run_in_namespace(self.pid, ["ip", "-batch", "-"], "\n".join(["link set dev lo up", *commands, ""]))
        if done.returncode:
            reason = " ".join(done.stderr.split())
            raise NetworkError(f"cannot configure the interfaces of {self.name}: {reason}")


class SandboxNode(Node):
    """A Mininet host whose namespace is that of a running process, such as a sandbox container's; it needs no shell."""

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802 - Mininet's name
        """Takes the namespace of the process given as parameter `process`."""
        self.pid = self.params["process"]

    def hang_up(self) -> None:
        """Does nothing, because the node has no shell, and the namespace belongs to the sandbox."""

    def cmd(self, *words: Any, **_: Any) -> str:
        """Runs a command line in the node's network namespace; its output, errors included, as Mininet has it."""
        if len(words) == 1 and isinstance(words[0], list):
            words = tuple(words[0])
        line = " ".join(map(str, words))
        done = run_in_namespace(self.pid, ["sh", "-c", line])
        return done.stdout + done.stderr


class NodeInterface(Intf):  # type: ignore[misc]
    """An interface that is configured together with the others of its node.

    The far end's hardware address is entered permanently, so that no ARP exchange crosses the link, where it would be
    delayed, lost and counted. The same holds for the messages of IPv6, which gets no address.
    """

    def config(self, ip: str, hardware_address: str, neighbour: tuple[str, str], **_: Any) -> dict[str, Any]:
        """Notes the configuration: `ip` with its prefix length, and the `neighbour`'s address and hardware address."""
        want_interface(self, ip, hardware_address, neighbour)
        return {}


def want_interface(interface: Intf, ip: str, hardware_address: str, neighbour: tuple[str, str]) -> None:
    """Notes the commands that configure a new interface, with its node."""
    interface.ip, interface.prefixLen = ip.split("/")
    interface.mac = hardware_address
    interface.node.want_interface(interface, ip, hardware_address, neighbour)
