"""The network between hosts, which carries the overlay's links that cross them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from emulation.host.processes import RUN_VARIABLE
from emulation.network.echo import FarHost
from emulation.network.model import NetworkError
from topology.model import BrokerId

VXLAN_PORT = 14789
"""UDP port of the underlay that carries links, unless the inventory gives another."""
LINK_MTU = 1428
"""Bytes of content that a frame of a crossing link may have, on all hosts alike: what probes of the rate need."""
VXLAN_OVERHEAD = 50
"""Bytes that Ethernet, VXLAN, UDP and IPv4 add to a frame's content (RFC 7348, section 5)."""

_END_TIMEOUT = 5.0
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Peer:
    """Another host of the run."""

    name: str
    address: str
    """On the underlay."""
    delay: float = 0.0
    """Seconds that the underlay itself takes to it, one way; links are given so much less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTunnels:
    """How this host's brokers reach those of other hosts."""

    address: str
    """Of this host."""
    peers: Mapping[BrokerId, Peer]
    """The host of each broker that is not here."""
    vxlan_port: int
    echo_port: int
    first_identifier: int
    """The VXLAN network identifier of link 0; the others follow."""
    token: bytes
    responder: ResponderProcess

    def identifier(self, index: int) -> int:
        """The VXLAN network identifier of the `index`-th link: the same on both of its hosts."""
        return (self.first_identifier + index) % (1 << 24)

    def far_host(self, peer: Peer) -> FarHost:
        """A way to ask a host's responder. Raises `NetworkError`."""
        return FarHost(peer.address, self.echo_port, self.token)


class ResponderProcess:
    """This host's responder, running."""

    def __init__(self, run_id: str, address: str, port: int, token: bytes) -> None:
        """Raises `NetworkError` when the address is not this host's, or the port is taken."""
        command = [sys.executable, "-m", "emulation.network.responder", address, str(port)]
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
            self._tell(token.hex())
        except NetworkError:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def listen(self, process: int, address: str) -> None:
        """Takes probes at an address in the network namespace of a process. Raises `NetworkError`."""
        self._tell(f"{process} {address}")

    def stop(self) -> None:
        """Ends it. Harmless when it has ended already."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        try:
            self._process.wait(_END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise NetworkError("the responder, which answers other hosts, has ended") from error
        answer = self._process.stdout.readline().strip()
        if answer != "ok":
            raise NetworkError(answer or "the responder, which answers other hosts, has ended")


def require_way(address: str) -> None:
    """Raises `NetworkError` when there is no route to this address of the underlay, or only one of small frames."""
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
