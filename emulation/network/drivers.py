"""Finds the link drivers that work on this host, by using them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from emulation.network.model import LinkDriver, NetworkError
from emulation.network.namespaces import enter_new_namespace, in_thread
from emulation.network.relay.tap import TAP_DEVICE, open_tap
from topology.link_properties import JitterDistribution, LinkProperties


@dataclass(frozen=True, slots=True)
class DriverTrial:
    """The result of trying a link driver on this host."""

    driver: LinkDriver
    usable: bool
    reason: str
    """The obstacle with its remedy, or the evidence that it works."""


def usable_drivers() -> list[DriverTrial]:
    """Try each driver that gives links properties, best first, in a network namespace made for the purpose."""
    trials = ((LinkDriver.NETEM, _try_netem), (LinkDriver.USERSPACE, _try_userspace))
    return [_trial(driver, attempt) for driver, attempt in trials]


def _trial(driver: LinkDriver, attempt: Callable[[], str]) -> DriverTrial:
    try:
        return DriverTrial(driver, True, in_thread(enter_new_namespace, attempt))
    except (NetworkError, OSError) as error:
        return DriverTrial(driver, False, str(error))


def _try_netem() -> str:
    """Shape a veth pair with everything a link may ask for."""
    from emulation.network.netem import REMEDY, netem_arguments  # noqa: PLC0415 - imports Mininet, of an extra

    properties = LinkProperties(0.001, 0.0005, JitterDistribution.NORMAL, 0.01, 1e6)
    for command, remedy in (
        ("ip link add veth-a type veth peer name veth-b", "load the kernel module veth"),
        ("tc qdisc add dev veth-a root handle 5:0 htb default 1", REMEDY),
        ("tc class add dev veth-a parent 5:0 classid 5:1 htb rate 1mbit", REMEDY),
        (f"tc qdisc add dev veth-a parent 5:1 handle 10: netem {netem_arguments(properties)}", REMEDY),
    ):
        try:
            done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise NetworkError("the programs ip and tc are missing: install the package iproute2") from error
        if done.returncode:
            output = " ".join(done.stderr.split())
            raise NetworkError(f"{remedy} (`{command}` failed: {output})")
    return "the kernel shapes veth pairs with HTB and netem"


def _try_userspace() -> str:
    """Opens a TAP interface."""
    try:
        os.close(open_tap("tap-trial"))
    except FileNotFoundError as error:
        raise NetworkError(
            f"{TAP_DEVICE} is missing: load the kernel module tun, or give it to the container"
        ) from error
    except OSError as error:
        raise NetworkError(
            f"cannot open a TAP interface ({error.strerror}): run as root, with CAP_NET_ADMIN"
        ) from error
    return f"TAP interfaces can be opened through {TAP_DEVICE}"
