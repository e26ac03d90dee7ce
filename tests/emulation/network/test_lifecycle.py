"""The resources that a network makes on the host, and their removal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from emulation.host.journal import Resource
from emulation.host.processes import processes_of_run
from emulation.network.drivers import usable_drivers
from emulation.network.model import LinkDriver, NetworkError, interface_prefix
from emulation.network.namespaces import run_in_namespace
from emulation.network.network import EmulatedNetwork
from tests.emulation.network.conftest import overlay_of
from tests.waiting import await_true
from topology.link_properties import BrokerId, Link, LinkDirection, LinkProperties

pytestmark = pytest.mark.container

LINK = Link("A", "B", LinkProperties(delay=0.002))


class Recorder:
    """A journal in memory."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, str]] = []

    def creating(self, resource: Resource, name: str) -> None:
        self.entries.append((f"creating {resource}", name))

    def started(self, name: str, pid: int) -> None:
        assert Path(f"/proc/{pid}").exists()
        self.entries.append(("started", name))

    def removed(self, resource: Resource, name: str) -> None:
        self.entries.append((f"removed {resource}", name))


def interfaces(pid: int) -> set[str]:
    """Names of the interfaces in a process's network namespace, other than the loopback's."""
    shown = run_in_namespace(pid, ["ip", "-json", "link", "show"])
    return {entry["ifname"] for entry in json.loads(shown.stdout)} - {"lo"}


def relay_pid(network: EmulatedNetwork) -> int:
    assert network._parts.relay is not None
    return network._parts.relay.pid


def test_mininet_hosts_end_with_the_network(run_id: str) -> None:
    journal = Recorder()
    network = EmulatedNetwork(overlay_of(LINK), run_id, LinkDriver.USERSPACE, journal=journal)
    network.start()
    assert interfaces(network.pid("A")) == {network.ends("A")[0].interface}
    assert interfaces(os.getpid()).isdisjoint(interfaces(network.pid("A")) | interfaces(network.pid("B")))
    assert len(list(processes_of_run(run_id))) >= 3, "a relay and two shells carry the run's mark"
    network.stop()
    assert list(processes_of_run(run_id)) == []
    network.stop()
    names = {name for _, name in journal.entries}
    assert len(names) == 3
    for name in names:
        assert [kind for kind, of in journal.entries if of == name] == [
            "creating process",
            "started",
            "removed process",
        ]


@pytest.mark.parametrize("driver", [LinkDriver.USERSPACE, LinkDriver.PLAIN])
def test_sandboxes_are_left_as_they_were(run_id: str, sandboxes: dict[BrokerId, int], driver: LinkDriver) -> None:
    network = EmulatedNetwork(overlay_of(Link("A", "B")), run_id, driver, sandboxes)
    with network:
        assert network.pid("A") == sandboxes["A"]
        assert interfaces(sandboxes["A"]) == {network.ends("A")[0].interface}
        assert all(probe.ok for probe in network.probe())
    assert interfaces(sandboxes["A"]) == interfaces(sandboxes["B"]) == set()
    for pid in sandboxes.values():
        os.kill(pid, 0)


def test_a_killed_relay_is_noticed(run_id: str) -> None:
    with EmulatedNetwork(overlay_of(LINK), run_id, LinkDriver.USERSPACE) as network:
        network.check()
        relay = relay_pid(network)
        os.kill(relay, signal.SIGKILL)
        await_true(lambda: has_failed(network), "check() raises")
        with pytest.raises(NetworkError, match=rf"the relay \(process {relay}\) was killed by signal 9"):
            network.check()
        with pytest.raises(NetworkError, match="was killed by signal 9"):
            network.change(LinkDirection("A", "B"), LinkProperties())


def has_failed(network: EmulatedNetwork) -> bool:
    try:
        network.check()
    except NetworkError:
        return True
    return False


OWNER = """
import sys
from emulation.network.model import LinkDriver
from emulation.network.network import EmulatedNetwork
from topology.model import Broker, Link, Overlay
overlay = Overlay(name="test", brokers=(Broker("A"), Broker("B")), links=(Link("A", "B"),))
sandboxes = {"A": int(sys.argv[2]), "B": int(sys.argv[3])} if len(sys.argv) > 2 else None
network = EmulatedNetwork(overlay, sys.argv[1], LinkDriver.USERSPACE, sandboxes)
network.start()
print("started", flush=True)
sys.stdin.read()
"""


def kill_owner(run_id: str, *sandboxes: int) -> None:
    """Have a process of its own start a network, and kill it."""
    command = [sys.executable, "-c", OWNER, run_id, *map(str, sandboxes)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"started\n"
        assert list(processes_of_run(run_id)) != []
        owner.kill()


def test_nothing_outlives_a_killed_owner(run_id: str) -> None:
    kill_owner(run_id)
    await_true(lambda: not list(processes_of_run(run_id)), "relay and shells end")


def test_no_interface_outlives_a_killed_owner(run_id: str, sandboxes: dict[BrokerId, int]) -> None:
    kill_owner(run_id, *sandboxes.values())
    await_true(lambda: not list(processes_of_run(run_id)), "the relay ends")
    await_true(lambda: interfaces(sandboxes["A"]) == interfaces(sandboxes["B"]) == set(), "its interfaces end")


def test_a_name_that_is_taken_is_an_error_that_names_the_link(run_id: str, sandboxes: dict[BrokerId, int]) -> None:
    taken = f"{interface_prefix(run_id)}0b"
    assert run_in_namespace(sandboxes["B"], ["ip", "link", "add", taken, "type", "veth"]).returncode == 0
    before = interfaces(sandboxes["B"])
    with pytest.raises(NetworkError, match=rf"link A-B: .*{taken}"):
        EmulatedNetwork(overlay_of(LINK), run_id, LinkDriver.USERSPACE, sandboxes).start()
    assert interfaces(sandboxes["A"]) == set()
    assert interfaces(sandboxes["B"]) == before
    assert list(processes_of_run(run_id)) == []


def test_a_sandbox_that_has_ended_is_an_error(run_id: str, sandboxes: dict[BrokerId, int]) -> None:
    with subprocess.Popen(["true"]) as ended:
        pass
    with pytest.raises(NetworkError, match=f"process {ended.pid}.* is gone"):
        EmulatedNetwork(overlay_of(LINK), run_id, LinkDriver.USERSPACE, sandboxes | {"B": ended.pid}).start()


def test_a_broker_without_a_sandbox_is_an_error(run_id: str) -> None:
    with pytest.raises(NetworkError, match="no sandbox was given for B"):
        EmulatedNetwork(overlay_of(LINK), run_id, LinkDriver.USERSPACE, {"A": 1})


def test_plain_links_connect_and_promise_nothing(run_id: str) -> None:
    with EmulatedNetwork(overlay_of(Link("A", "B")), run_id, LinkDriver.PLAIN) as network:
        assert [probe.ok for probe in network.probe()] == [True, True]
        assert network.relay_statistics() is None
        with pytest.raises(NetworkError, match="link A-B is a plain link"):
            network.change(LinkDirection("A", "B"), LinkProperties(delay=0.1))
    with pytest.raises(NetworkError, match="link A-B asks for properties"):
        EmulatedNetwork(overlay_of(LINK), run_id, LinkDriver.PLAIN).start()
    assert list(processes_of_run(run_id)) == []


def test_drivers_are_tried_for_real() -> None:
    netem, userspace = usable_drivers()
    assert (netem.driver, userspace.driver) == (LinkDriver.NETEM, LinkDriver.USERSPACE)
    assert userspace.usable
    assert netem.usable or "sch_netem" in netem.reason


def test_links_that_do_not_exist_cannot_be_changed(run_id: str) -> None:
    with (
        EmulatedNetwork(overlay_of(LINK), run_id, LinkDriver.USERSPACE) as network,
        pytest.raises(NetworkError, match="there is no link between A and X"),
    ):
        network.cut(LinkDirection("A", "X"))


def test_the_shell_of_a_node_is_safe_from_ctrl_c_before_it_leaves_the_process_group() -> None:
    """Ended there, it would have Mininet wait for its prompt for ever."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with EmulatedNetwork(overlay_of(LINK), "shells", LinkDriver.USERSPACE) as network:
        for broker in ("A", "B"):
            assert {signal.SIGINT, signal.SIGTERM} <= blocked_by(network.pid(broker))
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == blocked


def blocked_by(pid: int) -> set[int]:
    """The signals that a process blocks."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    (mask,) = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigBlk:")]
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}
