from __future__ import annotations

import ipaddress
from contextlib import closing

from emulation.live_overlay import LinkAddresses
from emulation.runtimes.loopback import LoopbackNetwork
from topology.link_properties import Link


def hosts_of(network: LoopbackNetwork, links: int) -> list[ipaddress.IPv4Address]:
    """The addresses of both ends of this many links, without their ports."""
    ends = [network.addresses(Link(f"A{number}", f"B{number}")) for number in range(links)]
    return [ipaddress.IPv4Address(end.rpartition(":")[0]) for link in ends for end in (link.a, link.b)]


def test_every_end_of_a_link_has_an_address_of_its_own() -> None:
    with closing(LoopbackNetwork()) as network:
        hosts = hosts_of(network, 1_600)
    assert len(set(hosts)) == 3_200
    assert all(host.is_loopback and host.packed[3] not in (0, 255) for host in hosts)


def test_a_link_that_comes_again_has_the_same_addresses_seen_from_either_end() -> None:
    with closing(LoopbackNetwork()) as network:
        first = network.addresses(Link("A", "B"))
        network.addresses(Link("A", "C"))
        assert network.addresses(Link("A", "B")) == first
        assert network.addresses(Link("B", "A")) == LinkAddresses(first.b, first.a)


def test_networks_that_exist_at_the_same_time_share_no_address() -> None:
    with closing(LoopbackNetwork()) as one, closing(LoopbackNetwork()) as other:
        assert not set(hosts_of(one, 300)) & set(hosts_of(other, 300))


def test_a_closed_network_gives_its_addresses_back() -> None:
    for _ in range(300):  # more than there are blocks of addresses
        LoopbackNetwork().close()
