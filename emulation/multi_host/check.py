"""Examines this host for a run and prints the result as JSON: `python -m emulation.multi_host.check ADDRESS ECHO_PORT
VXLAN_PORT OTHER...`

ADDRESS is the address at which the OTHER hosts, given by their addresses, reach this one.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence

import msgspec

from emulation.host.docker_host import docker_client, find_image
from emulation.host.loop_times import loop_times
from emulation.host.room import Host, this_host
from emulation.network.drivers import usable_drivers
from emulation.network.host_tunnels import require_route
from emulation.network.model import NetworkError
from emulation.runtimes.ladder import AUTO
from record.errors import BadInputError, HostError
from record.host_speed import LoopTimes


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The capabilities of one host. An obstacle is the reason why something does not work; it is empty if it works."""

    links: dict[str, str]
    """The obstacle to each link driver, best first."""
    container: str
    """The obstacle to containers."""
    vxlan: str
    """The obstacle to links to other hosts."""
    address: str
    """The obstacle to reaching the host at its address."""
    ways: list[str]
    """The obstacles to reaching other hosts."""
    room: Host
    """The processors, and the memory that is left."""
    loops: LoopTimes
    """The host's speed, by which the run is planned. When the run begins, it is measured again on each host."""

    @property
    def obstacles(self) -> list[str]:
        """The obstacles that keep the host from taking part at all."""
        lacking = [] if any(not obstacle for obstacle in self.links.values()) else ["; ".join(self.links.values())]
        return [obstacle for obstacle in (self.vxlan, self.address, *self.ways, *lacking) if obstacle]


def examine(address: str, echo_port: int, vxlan_port: int, others: Sequence[str]) -> Facts:
    """Tries everything on this host, in namespaces that end with the trial."""
    return Facts(
        links={trial.driver.value: "" if trial.usable else trial.reason for trial in usable_drivers()},
        container=_container(),
        vxlan=_vxlan(vxlan_port),
        address=_address(address, echo_port),
        ways=[obstacle for other in others if (obstacle := _route(other))],
        room=this_host(),
        loops=loop_times(),
    )


def common(facts: dict[str, Facts], runtime: str, links: str) -> tuple[str, str]:
    """The runtime and the link driver that all hosts have: the requested ones, or the highest for `auto`.

    Raises `HostError` naming the hosts that lack one.
    """
    runtimes = {name: {"container": found.container, "process": ""} for name, found in facts.items()}
    drivers = {name: found.links for name, found in facts.items()}
    return _common("runtime", runtime, runtimes), _common("link driver", links, drivers)


def _common(kind: str, wanted: str, obstacles: dict[str, dict[str, str]]) -> str:
    known = list(next(iter(obstacles.values())))
    if wanted not in (AUTO, *known):
        raise BadInputError(f"there is no {kind} {wanted!r} on hosts; choose {AUTO}, {' or '.join(known)}")
    reasons: list[str] = []
    for rung in known if wanted == AUTO else [wanted]:
        lacking = [f"{host}: {rungs[rung]}" for host, rungs in obstacles.items() if rungs[rung]]
        if not lacking:
            return rung
        reasons.append(f"{kind} {rung} does not work on all hosts ({'; '.join(lacking)})")
    raise HostError("; ".join(reasons))


def _container() -> str:
    try:
        client = docker_client()
        return "" if find_image(client) is not None else "the broker image is missing"
    except HostError as error:
        return str(error)


def _vxlan(port: int) -> str:
    for tool in ("unshare", "ip", "mnexec"):
        if shutil.which(tool) is None:
            return f"the program {tool} is missing"
    trials = (
        ("VXLAN", "vxlan", ["type", "vxlan", "id", "1", "dev", "lo", "remote", "127.0.0.2", "dstport", str(port)]),
        ("bridge", "bridge", ["type", "bridge"]),
    )
    for kind, module, words in trials:
        command = ["unshare", "--net", "ip", "link", "add", "name", "trial", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"no {kind} interfaces ({' '.join(done.stderr.split())}): load the kernel module {module}"
    return ""


def _address(address: str, port: int) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
        try:
            trial.bind((address, port))
        except OSError as error:
            return f"{address}:{port} (UDP) cannot be bound: {error.strerror}; set brokerlab_address in the inventory"
    return ""


def _route(address: str) -> str:
    try:
        require_route(address)
    except NetworkError as error:
        return str(error)
    return ""


def main(arguments: Sequence[str]) -> None:
    address, echo_port, vxlan_port, *others = arguments
    facts = examine(address, int(echo_port), int(vxlan_port), others)
    sys.stdout.buffer.write(msgspec.json.encode(facts) + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
