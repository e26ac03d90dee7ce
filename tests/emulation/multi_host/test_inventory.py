from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from emulation.ansible import Inventory
from emulation.host.room import Host
from emulation.multi_host.check import Facts, common
from emulation.multi_host.inventory import hosts_of, read_hosts
from record.errors import BadInputError, HostError
from record.host_speed import LoopTimes


def write(directory: Path, hosts: str, variables: str = "{}") -> Path:
    file = directory / "inventory.yaml"
    file.write_text(f"all:\n  vars: {variables}\n  hosts:\n{hosts}")
    return file


def test_hosts_are_read_in_their_order(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "    z: {ansible_host: 10.9.0.3, brokerlab_brokers: [B1, B2]}\n"
        "    a: {ansible_host: a.example.org, brokerlab_address: 10.9.0.4, brokerlab_weight: 2.5}\n    10.9.0.5:\n",
        "{brokerlab_vxlan_port: 4000}",
    )
    hosts = read_hosts(file, tmp_path / "private")
    assert [(member.name, member.address, member.brokers) for member in hosts.members] == [
        ("z", "10.9.0.3", ("B1", "B2")),
        ("a", "10.9.0.4", ()),
        ("10.9.0.5", "10.9.0.5", ()),
    ]
    assert [member.weight for member in hosts.members] == [1.0, 2.5, 1.0]
    assert (hosts.vxlan_port, hosts.echo_port) == (4000, 14788)
    assert not (tmp_path / "private").exists()


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        ("    a: {ansible_host: 10.9.0.1, brokerlab_weight: -1}\n", "a: brokerlab_weight: a number above 0, not -1"),
        ("    a: {ansible_host: 10.9.0.1, brokerlab_weight: .inf}\n", "a: brokerlab_weight: a number above 0"),
        ("    a: {ansible_host: 10.9.0.1, brokerlab_weight: heavy}\n", "a: brokerlab_weight: .*, not 'heavy'"),
        ("    a: {ansible_host: 10.9.0.1, brokerlab_weight: yes}\n", "a: brokerlab_weight: a number above 0"),
        ("    a: {ansible_host: a.example.org}\n", "a: brokerlab_address: 'a.example.org' is not an IPv4 address"),
        ("    a: {ansible_host: 10.9.0.1, brokerlab_brokers: B1}\n", "a: brokerlab_brokers: a list of brokers' names"),
        (
            "    a: {ansible_host: 10.9.0.1}\n    b: {ansible_host: 10.9.0.1}\n",
            "a and b have the same address 10.9.0.1",
        ),
        ("    a: {ansible_host: 10.9.0.1, brokerlab_echo_port: many}\n", "brokerlab_echo_port: one UDP port"),
    ],
)
def test_what_is_wrong_with_an_inventory_is_named(tmp_path: Path, hosts: str, message: str) -> None:
    """The inventory is read without Ansible, which takes longer than the test."""
    file = write(tmp_path, hosts)
    variables = yaml.safe_load(file.read_text())["all"]["hosts"]
    with pytest.raises(BadInputError, match=message):
        hosts_of(Inventory(file, tuple(variables), variables), file)


def facts(container: str = "", netem: str = "") -> Facts:
    return Facts(
        links={"netem": netem, "userspace": ""},
        container=container,
        vxlan="",
        address="",
        ways=[],
        room=Host(2, 8 << 30),
        loops=LoopTimes(interpreter=1),
    )


def test_the_highest_rungs_that_all_hosts_have_are_taken() -> None:
    assert common({"h1": facts(), "h2": facts()}, "auto", "auto") == ("container", "netem")
    assert common({"h1": facts(), "h2": facts("no Docker", "no qdisc")}, "auto", "auto") == ("process", "userspace")
    assert common({"h1": facts(), "h2": facts()}, "process", "userspace") == ("process", "userspace")


def test_a_rung_that_some_host_lacks_is_not_replaced() -> None:
    with pytest.raises(HostError, match=r"runtime container does not work on all hosts \(h2: no Docker\)"):
        common({"h1": facts(), "h2": facts("no Docker")}, "container", "auto")
    with pytest.raises(BadInputError, match="there is no runtime 'simulated' on hosts"):
        common({"h1": facts()}, "simulated", "auto")
