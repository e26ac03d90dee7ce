"""The tunnels between the hosts of a run, which carry the overlay's links from one host to another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from emulation.host.processes import RUN_VARIABLE, end_child
from emulation.network.model import LinkNames, NetworkError
from emulation.network.probing.echo import stage_number
from emulation.network.probing.tolerance import DELAY_FLOOR
from topology.link_properties import BrokerId, LinkProperties

VXLAN_PORT = 14789
"""UDP port of the tunnels, unless the inventory gives another one."""
LINK_MTU = 1428
"""Greatest content in bytes of a frame on a link between hosts, the same on all hosts: probes of the rate need as
much."""
VXLAN_OVERHEAD = 50
"""Bytes that Ethernet, VXLAN, UDP and IPv4 add to a frame's content (RFC 7348, section 5)."""

_END_TIMEOUT = 5.0
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Peer:
    """Another host of the run."""

    name: str
    address: str
    """IPv4 address at which this host reaches it."""
    number: int
    """Index of the host among the hosts of the run."""
    delay: float = 0.0
    """One-way delay to it in seconds, which is subtracted from the delays of links."""


def less_tunnel_delay(names: LinkNames, asked: LinkProperties, peer: Peer) -> LinkProperties:
    """The properties that are left to emulate. Raises `NetworkError` if the tunnel's own delay is longer than the
    link's."""
    if peer.delay > asked.delay + DELAY_FLOOR:
        raise NetworkError(
            f"{names} is to take {asked.delay * 1e3:g} ms, but the network to {peer.name} alone takes "
            f"{peer.delay * 1e3:.2f} ms: place both brokers on one host (`brokerlab_brokers` in the inventory)"
        )
    return replace(asked, delay=max(0.0, asked.delay - peer.delay))


def require_near(source: BrokerId, far: Mapping[BrokerId, Peer]) -> None:
    """Raises `NetworkError` for a node on another host, which shapes the frames that this one sends."""
    if source in far:
        raise NetworkError(f"frames from {source} are shaped on host {far[source].name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTunnels:
    """The connection of this host's brokers with those of other hosts."""

    address: str
    """IPv4 address of this host."""
    number: int
    """The place of this host among those of the run."""
    peers: Mapping[BrokerId, Peer]
    """The host of each broker and site that is on another host."""
    vxlan_port: int
    echo_port: int
    first_identifier: int
    """The VXLAN network identifier of the first pair of hosts; those of the others follow."""
    token: bytes
    responder: ResponderProcess

    def identifier(self, peer: Peer) -> int:
        """The VXLAN network identifier of this host and another: the same on both."""
        low, high = sorted((self.number, peer.number))
        return (self.first_identifier + high * (high - 1) // 2 + low) % (1 << 24)


class ResponderProcess:
    """The responder of this host."""

    def __init__(self, run_id: str, address: str, port: int, token: bytes) -> None:
        """Starts it. Raises `NetworkError` if the address is not this host's, or the port is taken."""
        command = [sys.executable, "-m", "emulation.network.probing.responder", address, str(port)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
            env=os.environ | {RUN_VARIABLE: run_id},
            start_new_session=True,  # Ctrl-C is the emulator's to handle
        )
        try:
            self._command(token.hex())
        except NetworkError:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def listen(self, process: int, address: str) -> None:
        """Receives probes at an address in the network namespace of a process. Raises `NetworkError`."""
        self._command(f"listen {process} {address}")

    def announce(self, stage: str, value: int = 0) -> None:
        """Replies from now on that this host has reached a stage, with this value. Raises `NetworkError`."""
        self._command(f"reached {stage_number(stage)} {value}")

    def stop(self) -> None:
        """Ends it. Does nothing if it has ended."""
        end_child(self._process, _END_TIMEOUT)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _command(self, line: str) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise NetworkError("the responder, which replies to other hosts, has ended") from error
        answer = self._process.stdout.readline().strip()
        if answer != "ok":
            raise NetworkError(answer or "the responder, which replies to other hosts, has ended")


def require_route(address: str) -> None:
    """Raises `NetworkError` without a route to this address, or if the route carries only small frames."""
    route = subprocess.run(["ip", "-json", "route", "get", address], capture_output=True, text=True, check=False)
    if route.returncode:
        raise NetworkError(f"there is no route to {address}: {' '.join(route.stderr.split())}")
    interface = json.loads(route.stdout)[0]["dev"]
    mtu = int(json.loads(_shown(interface))[0]["mtu"])
    if mtu < LINK_MTU + VXLAN_OVERHEAD:
        raise NetworkError(
            f"{interface}, which leads to {address}, has an MTU of {mtu}; links between hosts need "
            f"{LINK_MTU + VXLAN_OVERHEAD}"
        )


def _shown(interface: str) -> str:
    return subprocess.run(["ip", "-json", "link", "show", interface], capture_output=True, text=True, check=True).stdout
