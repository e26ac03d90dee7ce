"""Overlays, and sockets in the nodes of a network."""

from __future__ import annotations

import socket
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from emulation.network.namespaces import in_namespace
from emulation.network.network import EmulatedNetwork
from topology.link_properties import BrokerId, Link
from topology.model import Broker, Overlay

DEADLINE = 60.0
"""Seconds after which something awaited is taken for never to come."""


def overlay_of(*links: Link) -> Overlay:
    """The overlay these links make."""
    brokers = dict.fromkeys(broker for link in links for broker in (link.a, link.b))
    return Overlay(name="test", brokers=tuple(map(Broker, brokers)), links=links)


class Ports:
    """UDP and TCP sockets inside nodes; closed together."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def open(self, network: EmulatedNetwork, broker: BrokerId, kind: socket.SocketKind) -> socket.socket:
        """A socket in the broker's namespace, bound to the address of its first link."""
        opened = in_namespace(network.pid(broker), lambda: socket.socket(socket.AF_INET, kind))
        self._stack.enter_context(opened)
        opened.settimeout(DEADLINE)
        opened.bind((network.ends(broker)[0].local_address, 0))
        return opened

    def pair(self, network: EmulatedNetwork, source: BrokerId, target: BrokerId) -> tuple[socket.socket, socket.socket]:
        """UDP sockets at both ends of a link, the first connected to the second."""
        sender = self.open(network, source, socket.SOCK_DGRAM)
        receiver = self.open(network, target, socket.SOCK_DGRAM)
        sender.connect(receiver.getsockname())
        return sender, receiver

    def close(self) -> None:
        self._stack.close()


@pytest.fixture
def ports() -> Iterator[Ports]:
    opened = Ports()
    yield opened
    opened.close()


@pytest.fixture
def run_id() -> str:
    return f"test-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def sandboxes() -> Iterator[dict[BrokerId, int]]:
    """Processes with network namespaces of their own, as sandbox containers are, for brokers A and B."""
    command = ["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"]
    processes = {broker: subprocess.Popen(command, stdout=subprocess.PIPE) for broker in ("A", "B")}
    for process in processes.values():
        assert process.stdout is not None
        process.stdout.readline()
    yield {broker: process.pid for broker, process in processes.items()}
    for process in processes.values():
        process.kill()
        process.communicate()
