"""An access link that leads to another broker while the network runs: the old address is silent, and no more."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest

from emulation.network.model import LinkDriver, NetworkError
from emulation.network.namespaces import in_namespace
from emulation.network.network import EmulatedNetwork
from emulation.network.site_namespaces import SiteNamespaces
from tests.emulation.network.conftest import DEADLINE, overlay_of
from tests.emulation.network.test_lifecycle import interfaces
from topology.link_properties import BrokerId, Link, LinkProperties
from topology.sites import Site, with_sites

pytestmark = pytest.mark.container

UP, DOWN = LinkProperties(delay=0.002), LinkProperties(delay=0.003)
SITE = Site("x", "A", (), UP, DOWN)
SYN_SENT, ESTABLISHED = 2, 1
"""States of a connection that nobody has answered, and of one that is open (`tcp_info.tcpi_state`)."""


def test_a_moved_site_reaches_its_new_broker_and_hears_nothing_from_the_old_one(
    run_id: str, sandboxes: dict[BrokerId, int]
) -> None:
    with ExitStack() as stack, SiteNamespaces(["x"]) as namespaces:
        overlay = with_sites(overlay_of(Link("A", "B")), [SITE])
        network = EmulatedNetwork(overlay, run_id, LinkDriver.USERSPACE, sandboxes, sites=namespaces.processes)
        with network:
            before = {broker: interfaces(network.pid(broker)) for broker in ("A", "B", "x")}
            old = _listening(network, "A", stack)
            connected = _from_site(network, stack)
            connected.connect(old.getsockname())
            accepted, _ = old.accept()
            stack.enter_context(accepted)

            network.remove("x", "A")
            network.add(Link("x", "B", UP, DOWN))
            new = _listening(network, "B", stack)
            dialled = _from_site(network, stack)
            dialled.setblocking(False)
            dialled.connect_ex(old.getsockname())
            connected.sendall(b"lost")
            _exchange(_from_site(network, stack), new)
            assert (_state(dialled), _state(connected)) == (SYN_SENT, ESTABLISHED)
            accepted.setblocking(False)
            with pytest.raises(BlockingIOError):
                accepted.recv(4)

            network.remove("x", "B")
            network.add(SITE.link)
            accepted.settimeout(DEADLINE)
            assert accepted.recv(4) == b"lost"
            assert {probe.ok for probe in network.probe([Link("x", "A", UP, DOWN)])} == {True}
            made = {broker: interfaces(network.pid(broker)) - before[broker] for broker in before}
            assert {broker: len(found) for broker, found in made.items()} == {"A": 0, "B": 1, "x": 1}
        assert {broker: interfaces(pid) for broker, pid in sandboxes.items()} == {"A": set(), "B": set()}


def test_a_link_that_cannot_be_made_is_named(run_id: str) -> None:
    with EmulatedNetwork(overlay_of(Link("A", "B")), run_id, LinkDriver.PLAIN) as network:
        with pytest.raises(NetworkError, match="link A-A joins a broker to itself"):
            network.add(Link("A", "A"))
        with pytest.raises(NetworkError, match="there is no node C for link A-C"):
            network.add(Link("A", "C"))


def _listening(network: EmulatedNetwork, broker: BrokerId, stack: ExitStack) -> socket.socket:
    """A socket that listens at the broker's end of the access link of the site."""
    end = next(end for end in network.ends(broker) if end.neighbour == "x")
    made = in_namespace(network.pid(broker), lambda: socket.create_server((end.local_address, 0)))
    made.settimeout(DEADLINE)
    return stack.enter_context(made)


def _from_site(network: EmulatedNetwork, stack: ExitStack) -> socket.socket:
    made = in_namespace(network.pid("x"), lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    made.settimeout(DEADLINE)
    return stack.enter_context(made)


def _exchange(client: socket.socket, listening: socket.socket) -> None:
    """A round trip over a connection of its own."""
    client.connect(listening.getsockname())
    with listening.accept()[0] as accepted:
        client.sendall(b"there")
        assert accepted.recv(5) == b"there"
        accepted.sendall(b"back")
        assert client.recv(4) == b"back"


def _state(made: socket.socket) -> int:
    return made.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
