"""Reads the hosts of a run from an Ansible inventory.

Variables that a host, a group or the whole inventory may have:

    brokerlab_address      IPv4 address at which the other hosts reach it; by default `ansible_host`, if that is one
    brokerlab_brokers      list of brokers that must be on this host; the others are placed automatically
    brokerlab_weight       a number above 0: the host's part of the brokers relative to the others; 1 by default
    brokerlab_directory    directory of brokerlab and of running shares on the host; /var/lib/brokerlab by default
    brokerlab_python       Python with all packages; by default `brokerlab hosts prepare` makes an environment
    brokerlab_vxlan_port, brokerlab_echo_port    UDP ports, the same for all hosts
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulation.ansible import Inventory, read_inventory
from emulation.multi_host.model import Member
from emulation.network.host_tunnels import VXLAN_PORT
from emulation.network.probing.echo import ECHO_PORT
from record.errors import BadInputError


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts that may share a run."""

    inventory: Inventory
    members: tuple[Member, ...]
    vxlan_port: int
    echo_port: int

    @property
    def limit(self) -> str:
        """Names of the hosts as Ansible's option `--limit` takes them."""
        return ",".join(member.name for member in self.members)


def read_hosts(file: Path, private: Path) -> Hosts:
    """Reads an inventory with Ansible. Raises `BadInputError` naming the file, the host and the variable."""
    return hosts_of(read_inventory(file, private), file)


def hosts_of(inventory: Inventory, file: Path) -> Hosts:
    """The hosts of an inventory that was read from a file. Raises `BadInputError` as `read_hosts` does."""
    members = tuple(_member(file, name, inventory.variables[name]) for name in inventory.hosts)
    addresses: dict[str, str] = {}
    for member in members:
        if addresses.setdefault(member.address, member.name) != member.name:
            raise BadInputError(
                f"{file}: {addresses[member.address]} and {member.name} have the same address {member.address}"
            )
    return Hosts(
        inventory,
        members,
        vxlan_port=_port(file, inventory, "brokerlab_vxlan_port", VXLAN_PORT),
        echo_port=_port(file, inventory, "brokerlab_echo_port", ECHO_PORT),
    )


def _member(file: Path, name: str, variables: Mapping[str, Any]) -> Member:
    brokers = variables.get("brokerlab_brokers", [])
    if not isinstance(brokers, list) or not all(isinstance(broker, str) for broker in brokers):
        raise BadInputError(f"{file}: {name}: brokerlab_brokers: a list of brokers' names, such as [B1, B2]")
    given = variables.get("brokerlab_address", variables.get("ansible_host", name))
    try:
        address = ipaddress.IPv4Address(given)
    except ValueError as error:
        raise BadInputError(
            f"{file}: {name}: brokerlab_address: {given!r} is not an IPv4 address; give the one at which the other "
            "hosts reach it"
        ) from error
    weight = variables.get("brokerlab_weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
        raise BadInputError(f"{file}: {name}: brokerlab_weight: a number above 0, not {weight!r}")
    return Member(name=name, address=str(address), brokers=tuple(brokers), weight=float(weight))


def _port(file: Path, inventory: Inventory, variable: str, default: int) -> int:
    given = {variables.get(variable, default) for variables in inventory.variables.values()}
    port = given.pop()
    if given or not isinstance(port, int) or not 0 < port < 1 << 16:
        raise BadInputError(f"{file}: {variable}: one UDP port, the same for all hosts")
    return port
