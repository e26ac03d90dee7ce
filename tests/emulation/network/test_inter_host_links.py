"""Links that cross hosts, between network namespaces that stand for hosts."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import pytest

from emulation.host.journal import Resource
from emulation.network.host_tunnels import VXLAN_PORT, HostTunnels, Peer, ResponderProcess, require_route
from emulation.network.model import LinkDriver, NetworkError
from emulation.network.namespaces import in_namespace, run_in_namespace
from emulation.network.network import EmulatedNetwork
from emulation.network.probing.echo import ECHO_PORT, TOKEN_BYTES, Clock, FarHost
from tests.emulation.network.conftest import Ports, overlay_of
from tests.tries import one_of_three
from topology.link_properties import Link, LinkDirection, LinkProperties
from topology.model import Overlay

pytestmark = pytest.mark.container

ADDRESSES = ("192.168.77.1", "192.168.77.2")
UNUSED = 0x88B5
"""An Ethernet type for local experiments (IEEE 802)."""
HOMES = {"A": 0, "B": 1, "C": 1}
_Result = TypeVar("_Result")


@pytest.fixture
def hosts() -> Iterator[tuple[int, int]]:
    """Processes with network namespaces of their own, joined by a cable."""
    command = ["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in ADDRESSES]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    first, second = (process.pid for process in processes)
    cable = f"link add name eth0 netns {first} type veth peer name eth0 netns {second}"
    subprocess.run(["ip", *cable.split()], check=True)
    for process, address in zip((first, second), ADDRESSES, strict=True):
        configured = run_in_namespace(
            process, ["ip", "-batch", "-"], f"addr add {address}/24 dev eth0\nlink set eth0 up\nlink set lo up\n"
        )
        assert configured.returncode == 0, configured.stderr
    yield first, second
    for host in processes:
        host.kill()
        host.communicate()


class Processes:
    """A journal that remembers the processes of a network's parts."""

    def __init__(self) -> None:
        self.by_name: dict[str, int] = {}

    def creating(self, resource: Resource, name: str) -> None:
        """Does nothing, because no process exists yet."""

    def started(self, name: str, pid: int) -> None:
        self.by_name[name] = pid

    def removed(self, resource: Resource, name: str) -> None:
        self.by_name.pop(name, None)


class TwoHosts:
    """An overlay's network over two hosts."""

    def __init__(self, hosts: tuple[int, int], overlay: Overlay, run_id: str, delay: float = 0.0) -> None:
        self._hosts = hosts
        self._stack = ExitStack()
        self.processes = Processes(), Processes()
        self._token = secrets.token_bytes(TOKEN_BYTES)
        homes = {broker.id: HOMES[broker.id] for broker in overlay.brokers}
        self.networks = [
            self.on(side, lambda side=side: self._network(side, homes, overlay, run_id, delay))  # type: ignore[misc]
            for side in (0, 1)
        ]

    def on(self, side: int, work: Callable[[], _Result]) -> _Result:
        return in_namespace(self._hosts[side], work)

    def start(self) -> None:
        for side, network in enumerate(self.networks):
            self._stack.callback(self.on, side, network.stop)
            self.on(side, network.start)

    def stop(self) -> None:
        self._stack.close()

    def _network(
        self, side: int, homes: Mapping[str, int], overlay: Overlay, run_id: str, delay: float
    ) -> EmulatedNetwork:
        responder = ResponderProcess(run_id, ADDRESSES[side], ECHO_PORT, self._token)
        self._stack.callback(responder.stop)
        tunnels = HostTunnels(
            address=ADDRESSES[side],
            peers={
                broker: Peer(f"host{home}", ADDRESSES[home], home, delay)
                for broker, home in homes.items()
                if home != side
            },
            number=side,
            vxlan_port=VXLAN_PORT,
            echo_port=ECHO_PORT,
            first_identifier=1 << 23,
            token=self._token,
            responder=responder,
        )
        return EmulatedNetwork(
            overlay, f"{run_id}-{side}", LinkDriver.USERSPACE, journal=self.processes[side], seed=1, tunnels=tunnels
        )


@pytest.fixture
def build(hosts: tuple[int, int], run_id: str) -> Iterator[Callable[..., TwoHosts]]:
    built: list[TwoHosts] = []

    def make(overlay: Overlay, delay: float = 0.0) -> TwoHosts:
        built.append(TwoHosts(hosts, overlay, run_id, delay))
        return built[-1]

    yield make
    for pair in built:
        pair.stop()


FORWARD = LinkProperties(delay=0.008, rate=2e6)
BACKWARD = LinkProperties(delay=0.003, loss=0.1)


@pytest.mark.proof
@pytest.mark.alone
def test_a_crossing_link_has_its_properties_in_either_direction(build: Callable[..., TwoHosts], ports: Ports) -> None:
    overlay = overlay_of(Link("A", "B", FORWARD, BACKWARD), Link("B", "C", FORWARD, FORWARD))
    both = build(overlay)
    both.start()
    near, far = both.networks
    with ThreadPoolExecutor(2) as pool:
        there, back = pool.map(lambda side: both.on(side, both.networks[side].probe), (0, 1))
    assert [(probe.a, probe.b) for probe in there] == [("A", "B")]
    assert [(probe.a, probe.b) for probe in back] == [("B", "A"), ("B", "C"), ("C", "B")]
    for probe in (*there, *back):
        assert probe.delay_measured == pytest.approx(probe.delay_asked, abs=0.003)
    assert there[0].rate_measured == pytest.approx(2e6, rel=0.03)
    assert back[0].loss_measured == pytest.approx(0.1, abs=0.05)

    listening = ports.open(far, "B", socket.SOCK_STREAM)
    listening.listen()
    calling = ports.open(near, "A", socket.SOCK_STREAM)
    calling.connect(listening.getsockname())
    calling.sendall(b"x" * 100_000)
    accepted, _ = listening.accept()
    received = 0
    with accepted:
        while received < 100_000:
            received += len(accepted.recv(65536))
        near.remove("A", "B")  # what comes from there is dropped here
        accepted.sendall(b"y")
        calling.settimeout(0.3)
        with pytest.raises(TimeoutError):
            calling.recv(1)
        near.add(overlay.links[0])
        calling.settimeout(60)
        assert calling.recv(1) == b"y"

    near.cut(LinkDirection("A", "B"))
    assert both.on(0, lambda: near.probe_under_load(overlay.links)) == []
    near.restore(LinkDirection("A", "B"))
    near.change(LinkDirection("A", "B"), LinkProperties(delay=0.015))
    (changed,) = both.on(0, lambda: near.probe_under_load(overlay.links))
    assert changed.delay_asked == 0.015
    assert changed.delay_measured == pytest.approx(0.015, abs=0.003)
    with pytest.raises(NetworkError, match="are shaped on host host1"):
        near.change(LinkDirection("B", "A"), FORWARD)


def test_two_links_between_two_hosts_share_a_tunnel_and_stay_apart(build: Callable[..., TwoHosts]) -> None:
    both = build(overlay_of(Link("A", "B"), Link("A", "C")))
    both.start()
    near, far = both.networks
    for side, processes in enumerate(both.processes):
        (exchange,) = (pid for name, pid in processes.by_name.items() if name.endswith("-exchange"))
        shown = json.loads(run_in_namespace(exchange, ["ip", "-json", "-details", "link", "show"]).stdout)
        kinds = Counter(device.get("linkinfo", {}).get("info_kind", "none") for device in shown)
        assert kinds["vxlan"] == kinds["bridge"] == 1 and kinds["tun"] == 2, (side, kinds)

    with ExitStack() as stack:
        frames = {
            broker: stack.enter_context(
                in_namespace(network.pid(broker), lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
            )
            for broker, network in (("A", near), ("B", far), ("C", far))
        }
        for number, broker in enumerate("BC"):
            frames[broker].settimeout(60)
            frames[broker].bind((far.ends(broker)[0].interface, UNUSED))
            for target in ("ffffffffffff", "020000000909", f"0200{number:06x}0b"):
                frame = bytes.fromhex(f"{target}0200{number:06x}0a{UNUSED:04x}") + broker.encode() * 50
                frames["A"].sendto(frame, (near.ends("A")[number].interface, 0))
        for broker in "BC":  # frames to all, and to strangers, were sent before, and have not come
            received = frames[broker].recv(200)
            assert (received[:2], received[14:]) == (b"\x02\x00", broker.encode() * 50), received


def test_what_the_underlay_takes_is_taken_off(build: Callable[..., TwoHosts], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulation.network.probing.probes.ATTEMPTS", 1)  # the direction looks wrong every time
    both = build(overlay_of(Link("A", "B", LinkProperties(delay=0.020), LinkProperties(delay=0.020))), delay=0.012)
    both.start()

    def check() -> None:
        (probe,) = both.on(0, both.networks[0].probe)
        assert not probe.ok  # the cable of this test takes no time, so that 8 of 20 ms are left
        assert probe.delay_measured == pytest.approx(0.008, abs=0.002)

    one_of_three(check)


def test_an_underlay_slower_than_a_link_is_refused(build: Callable[..., TwoHosts]) -> None:
    both = build(overlay_of(Link("A", "B", LinkProperties(delay=0.002), LinkProperties(delay=0.002))), delay=0.012)
    with pytest.raises(NetworkError, match=r"A-B is to take 2 ms, but the network to host1 alone takes 12\.00 ms"):
        both.start()


def test_nothing_appears_outside_the_nodes(build: Callable[..., TwoHosts], hosts: tuple[int, int]) -> None:
    both = build(overlay_of(Link("A", "B", BACKWARD, BACKWARD)))
    both.start()
    for host in hosts:
        shown = run_in_namespace(host, ["ip", "-brief", "link"]).stdout
        assert {line.split("@")[0].split()[0] for line in shown.splitlines()} == {"lo", "eth0"}


def test_a_stranger_is_not_answered(hosts: tuple[int, int], run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulation.network.probing.echo._MOST_ATTEMPTS", 1)
    token = secrets.token_bytes(TOKEN_BYTES)
    responder = in_namespace(hosts[0], lambda: ResponderProcess(run_id, ADDRESSES[0], ECHO_PORT, token))
    try:
        friend = in_namespace(hosts[1], lambda: FarHost(ADDRESSES[0], ECHO_PORT, token))
        reading = friend.clock(Clock.MONOTONIC, echoes=10)
        assert abs(reading.offset) <= reading.error  # one kernel, one clock
        stranger = in_namespace(hosts[1], lambda: FarHost(ADDRESSES[0], ECHO_PORT, bytes(TOKEN_BYTES)))
        with pytest.raises(NetworkError, match=r"192\.168\.77\.1 does not reply on UDP port"):
            stranger.clock(Clock.MONOTONIC, echoes=1)
        friend.close()
        stranger.close()
    finally:
        responder.stop()


def test_a_port_that_is_taken_is_named(hosts: tuple[int, int], run_id: str) -> None:
    token = secrets.token_bytes(TOKEN_BYTES)
    responder = in_namespace(hosts[0], lambda: ResponderProcess(run_id, ADDRESSES[0], ECHO_PORT, token))
    try:
        with pytest.raises(NetworkError, match=rf"UDP 192\.168\.77\.1:{ECHO_PORT}: Address already in use"):
            in_namespace(hosts[0], lambda: ResponderProcess(run_id, ADDRESSES[0], ECHO_PORT, token))
    finally:
        responder.stop()
    assert not Path(f"/proc/{responder.pid}").exists()


def test_a_way_of_small_frames_is_refused(hosts: tuple[int, int]) -> None:
    in_namespace(hosts[0], lambda: require_route(ADDRESSES[1]))
    with pytest.raises(NetworkError, match=r"there is no route to 198\.51\.100\.1"):
        in_namespace(hosts[0], lambda: require_route("198.51.100.1"))
    run_in_namespace(hosts[0], ["ip", "link", "set", "eth0", "mtu", "1400"])
    with pytest.raises(NetworkError, match=r"eth0, which leads to .* has an MTU of 1400; .* need 1478"):
        in_namespace(hosts[0], lambda: require_route(ADDRESSES[1]))
