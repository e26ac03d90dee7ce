"""Names and addresses of links."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.network.model import MAXIMUM_LINKS, LinkNames, NetworkError, interface_prefix, name_links
from topology.link_properties import Link

LINK = Link("A", "B")
indices = st.integers(0, MAXIMUM_LINKS - 1)


@given(indices, st.text(min_size=1))
def test_names_fit_and_carry_ownership(index: int, run_id: str) -> None:
    names = LinkNames.of(LINK, index, run_id)
    for name in names.interfaces:
        assert len(name) <= 15
        assert name.startswith(interface_prefix(run_id))


@given(indices, indices)
def test_each_link_is_a_network_of_its_own(first: int, second: int) -> None:
    networks = []
    for index in (first, second):
        names = LinkNames.of(LINK, index, "run")
        a, b = (ipaddress.ip_interface(f"{address}/{names.prefix_length}") for address in names.addresses)
        assert a.network == b.network
        assert list(a.network.hosts()) == [a.ip, b.ip]
        assert a.network.subnet_of(ipaddress.ip_network("10.0.0.0/8"))
        networks.append((a.network, names.hardware_addresses))
    assert (networks[0] == networks[1]) is (first == second)


def test_an_end_is_the_link_as_its_broker_sees_it() -> None:
    names = LinkNames.of(LINK, 0, "run")
    first, second = names.end(0), names.end(1)
    assert (first.neighbour, second.neighbour) == ("B", "A")
    assert (first.local_address, first.remote_address) == ("10.0.0.1", "10.0.0.2")
    assert (second.local_address, second.remote_address) == ("10.0.0.2", "10.0.0.1")
    assert (first.first, second.first) == (True, False)


def test_two_links_between_the_same_brokers_are_refused() -> None:
    with pytest.raises(NetworkError, match="link B-A exists twice"):
        name_links([LINK, Link("B", "A")], "run")


def test_a_link_to_oneself_is_refused() -> None:
    with pytest.raises(NetworkError, match="link A-A joins a broker to itself"):
        name_links([Link("A", "A")], "run")
