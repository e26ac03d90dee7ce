"""Sites are namespaces without a process, in which a driver makes its sockets."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from emulation.host.processes import processes_of_run
from emulation.network.model import LinkDriver
from emulation.network.namespaces import in_namespace
from emulation.network.network import EmulatedNetwork
from emulation.network.site_namespaces import SiteNamespaces
from tests.emulation.network.conftest import DEADLINE, overlay_of
from topology.link_properties import Link, LinkProperties
from topology.sites import Site, with_sites

pytestmark = pytest.mark.container

SITES = [Site(name, "A", (), LinkProperties(delay=0.002), LinkProperties(delay=0.003)) for name in ("x", "y")]


def test_a_socket_made_inside_a_site_reaches_its_broker_over_the_access_link(run_id: str) -> None:
    overlay = with_sites(overlay_of(Link("A", "B")), SITES)
    with (
        SiteNamespaces(site.name for site in SITES) as namespaces,
        EmulatedNetwork(overlay, run_id, LinkDriver.USERSPACE, sites=namespaces.processes) as network,
    ):
        processes = namespaces.processes
        own = Path("/proc/self/ns/net").stat().st_ino
        inodes = {Path(f"/proc/{process}/ns/net").stat().st_ino for process in processes.values()}
        assert len(inodes - {own}) == len(SITES)
        assert len(list(processes_of_run(run_id))) == 3  # two brokers' hosts and the relay, and nothing for sites
        end = next(end for end in network.ends("A") if end.neighbour == "y")
        with (
            in_namespace(network.pid("A"), lambda: socket.create_server((end.local_address, 0))) as listening,
            in_namespace(processes["y"], lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as made,
        ):
            made.settimeout(DEADLINE)
            made.connect(listening.getsockname())
            assert made.getsockname()[0] == end.remote_address
    assert not any(Path(f"/proc/{process}").exists() for process in processes.values())
