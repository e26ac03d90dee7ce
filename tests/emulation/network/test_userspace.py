"""Links through the relay: what they do, and, alone on the host, how long they take for it."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from emulation.network.model import LinkDriver
from emulation.network.network import EmulatedNetwork
from emulation.network.probing.probes import LinkProbe
from tests.emulation.network.conftest import Ports, overlay_of
from tests.tries import one_of_three
from tests.waiting import await_true
from topology.link_properties import JitterDistribution, Link, LinkDirection, LinkProperties

pytestmark = pytest.mark.container
measured = pytest.mark.alone

LINKS = (
    Link("A", "B", LinkProperties(delay=0.005), LinkProperties(delay=0.020, jitter=0.001)),
    Link("B", "C", LinkProperties(delay=0.002, rate=10e6), LinkProperties(rate=2e6, queue_limit=20)),
    Link(
        "C",
        "D",
        LinkProperties(delay=0.003, loss=0.05),
        LinkProperties(delay=0.008, jitter=0.002, distribution=JitterDistribution.UNIFORM),
    ),
    Link(
        "D",
        "A",
        LinkProperties(delay=0.010, jitter=0.002, distribution=JitterDistribution.PARETO),
        LinkProperties(delay=0.004, jitter=0.0005, loss=0.02, rate=5e6),
    ),
)


@pytest.fixture(scope="module")
def network() -> Iterator[EmulatedNetwork]:
    with EmulatedNetwork(overlay_of(*LINKS), "test-userspace", LinkDriver.USERSPACE, seed=7) as started:
        yield started


def single(run_id: str, forward: LinkProperties) -> EmulatedNetwork:
    """A network of one link, from A to B."""
    return EmulatedNetwork(overlay_of(Link("A", "B", forward)), run_id, LinkDriver.USERSPACE)


@measured
def test_every_direction_is_what_was_asked(network: EmulatedNetwork) -> None:
    probes = one_of_three(lambda: all_as_asked(network))
    assert [(probe.a, probe.b) for probe in probes] == [ends for link in LINKS for ends in link.directions]
    by_ends = {(probe.a, probe.b): probe for probe in probes}
    assert by_ends["B", "C"].rate_measured == pytest.approx(10e6, rel=0.03)
    assert by_ends["C", "B"].rate_measured == pytest.approx(2e6, rel=0.03)
    assert by_ends["A", "B"].rate_measured is None
    lossy = by_ends["C", "D"].loss_measured
    assert lossy is not None
    assert 0.01 < lossy < 0.12


def all_as_asked(network: EmulatedNetwork, links: Sequence[Link] | None = None) -> list[LinkProbe]:
    probes = network.probe(links)
    assert [f"{probe.a}-{probe.b}: {probe.detail}" for probe in probes if not probe.ok] == []
    return probes


@measured
def test_jitter_is_there(network: EmulatedNetwork) -> None:
    def check() -> None:
        by_ends = {(probe.a, probe.b): probe.jitter_measured for probe in network.probe([LINKS[0], LINKS[2]])}
        smooth, normal, uniform = by_ends["A", "B"], by_ends["B", "A"], by_ends["D", "C"]
        assert smooth is not None
        assert normal is not None
        assert uniform is not None
        assert smooth < 0.0003
        assert 0.0004 < normal < 0.002
        assert 0.0008 < uniform < 0.004

    one_of_three(check)


@measured
def test_a_probe_notices_what_was_not_asked_for(network: EmulatedNetwork) -> None:
    secrets = {
        ("A", "B"): LinkProperties(delay=0.006),
        ("B", "C"): LinkProperties(delay=0.002, rate=11e6),
        ("C", "D"): LinkProperties(delay=0.003, loss=0.2),
    }
    for ends, secret in secrets.items():
        network._parts.links[ends].change(0, secret)  # behind the network's back
    try:
        probes = {(probe.a, probe.b): probe for probe in network.probe(LINKS[:3])}
    finally:
        for link in LINKS[:3]:
            network._parts.links[link.a, link.b].change(0, link.forward)
    assert not any(probes[ends].ok for ends in secrets)
    assert "ms instead of" in probes["A", "B"].detail
    assert "Mbit/s instead of" in probes["B", "C"].detail
    assert "packets lost instead of" in probes["C", "D"].detail


@measured
def test_a_light_probe_tells_the_delay_alone(network: EmulatedNetwork) -> None:
    def check() -> None:
        forward, backward = network.probe_under_load([LINKS[0]])
        assert forward.ok
        assert backward.ok
        assert forward.delay_measured == pytest.approx(0.005, abs=0.0003)
        assert (forward.rate_measured, forward.loss_measured) == (None, None)

    one_of_three(check)


def test_the_queue_limit_drops_what_comes_on_top(run_id: str, ports: Ports) -> None:
    with single(run_id, LinkProperties(rate=50e3, queue_limit=10)) as network:
        sender, _ = ports.pair(network, "A", "B")
        for _ in range(50):
            sender.send(bytes(1000))
        await_true(lambda: queue_full(network) == 39, "50 frames, less one on the line and 10 waiting, are dropped")


def queue_full(network: EmulatedNetwork) -> int:
    statistics = network.relay_statistics()
    assert statistics is not None
    return statistics.directions["A", "B"].queue_full


@measured
def test_a_change_leaves_alone_what_is_under_way(run_id: str, ports: Ports) -> None:
    with single(run_id, LinkProperties(delay=0.3)) as network:
        sender, receiver = ports.pair(network, "A", "B")
        started = time.monotonic()
        sender.send(b"before")
        network.change(LinkDirection("A", "B"), LinkProperties(delay=0.05))
        sender.send(b"after")
        assert [receiver.recv(10), receiver.recv(10)] == [b"before", b"after"]
        assert time.monotonic() - started > 0.299
        changed = time.monotonic()
        sender.send(b"now")
        receiver.recv(10)
        assert time.monotonic() - changed > 0.049
        assert one_of_three(lambda: all_as_asked(network))[0].delay_asked == 0.05


def test_a_cut_is_one_way_and_can_be_undone(run_id: str, ports: Ports) -> None:
    with single(run_id, LinkProperties(delay=0.001)) as network:
        there, receiver = ports.pair(network, "A", "B")
        back, way_back = ports.pair(network, "B", "A")
        network.cut(LinkDirection("A", "B"))
        there.send(b"lost")
        back.send(b"other way")
        assert way_back.recv(10) == b"other way"
        network.restore(LinkDirection("A", "B"))
        there.send(b"found")
        assert receiver.recv(10) == b"found"
        statistics = network.relay_statistics()
        assert statistics is not None
        assert statistics.directions["A", "B"].down == 1


def test_a_damaged_frame_is_found_out_one_way_only(run_id: str, ports: Ports) -> None:
    with single(run_id, LinkProperties(delay=0.001)) as network:
        there, receiver = ports.pair(network, "A", "B")
        back, way_back = ports.pair(network, "B", "A")
        network.corrupt(LinkDirection("A", "B"), 1.0)
        for _ in range(20):
            there.send(b"damaged")
        back.send(b"other way")
        assert way_back.recv(10) == b"other way"
        network.corrupt(LinkDirection("A", "B"), 0.0)
        there.send(b"clean")
        assert receiver.recv(10) == b"clean"
        statistics = network.relay_statistics()
        assert statistics is not None
        assert [direction.damaged for direction in statistics.directions.values()] == [20, 0]
        assert statistics.directions["A", "B"].lost == 0


def test_tcp_overcomes_damage(run_id: str, ports: Ports) -> None:
    with single(run_id, LinkProperties(delay=0.001)) as network:
        network.corrupt(LinkDirection("A", "B"), 0.02)
        assert_a_stream_arrives_whole(network, ports, 300_000)
        statistics = network.relay_statistics()
        assert statistics is not None
        assert statistics.directions["A", "B"].damaged > 0


@pytest.mark.parametrize("properties", [LinkProperties(), LinkProperties(delay=0.002, rate=50e6)])
def test_tcp_streams_arrive_whole(run_id: str, ports: Ports, properties: LinkProperties) -> None:
    with single(run_id, properties) as network:
        assert_a_stream_arrives_whole(network, ports, 3_000_000)
        assert_frames_fit(network, properties)


def assert_a_stream_arrives_whole(network: EmulatedNetwork, ports: Ports, length: int) -> None:
    """From A to B."""
    content = random.Random(1).randbytes(length)
    listener = ports.open(network, "B", socket.SOCK_STREAM)
    listener.listen()
    sender = ports.open(network, "A", socket.SOCK_STREAM)
    sender.connect(listener.getsockname())

    def send() -> None:
        sender.sendall(content)
        sender.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=send)
    thread.start()
    received = hashlib.sha256()
    connection, _ = listener.accept()
    with connection:
        while chunk := connection.recv(1 << 20):
            received.update(chunk)
    thread.join()
    assert received.digest() == hashlib.sha256(content).digest()


def assert_frames_fit(network: EmulatedNetwork, properties: LinkProperties) -> None:
    """A link with a rate carries frames, one without may carry stretches of the stream."""
    statistics = network.relay_statistics()
    assert statistics is not None
    direction = statistics.directions["A", "B"]
    mean = direction.octets / direction.frames
    assert mean <= 1514 if properties.rate else mean > 1514
    assert direction.undeliverable == 0


@measured
def test_a_relay_that_was_stopped_knows_for_how_long(run_id: str) -> None:
    with single(run_id, LinkProperties(delay=0.001)) as network:
        statistics = network.relay_statistics()
        assert statistics is not None
        pid = statistics.pid

        def check() -> None:
            before = _held_up(network)
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.3)
            os.kill(pid, signal.SIGCONT)
            await_true(lambda: _held_up(network) > before, "the relay's next tick")
            assert 0.25 <= (_held_up(network) - before) / 1e9 <= 0.6

        one_of_three(check)


def _held_up(network: EmulatedNetwork) -> int:
    found = network.punctuality()
    assert found is not None
    return found.held_up


@measured
def test_directions_that_a_fault_changes_are_not_probed_under_load(run_id: str) -> None:
    def probed(network: EmulatedNetwork) -> list[tuple[str, float]]:
        probes = network.probe_under_load()
        assert [probe.detail for probe in probes if not probe.ok] == []
        return [(probe.a, probe.delay_asked) for probe in probes]

    with single(run_id, LinkProperties(delay=0.002)) as network:
        network.cut(LinkDirection("A", "B"))
        assert one_of_three(lambda: probed(network)) == [("B", 0.0)]
        network.corrupt(LinkDirection("B", "A"), 0.5)
        assert probed(network) == []
        network.restore(LinkDirection("A", "B"))
        network.change(LinkDirection("A", "B"), LinkProperties(delay=0.004))
        assert one_of_three(lambda: probed(network)) == [("A", 0.004)]


def test_a_relay_that_gave_up_its_precedence_says_so(run_id: str) -> None:
    with single(run_id, LinkProperties(delay=0.001)) as network:
        statistics = network.relay_statistics()
        assert statistics is not None
        if not statistics.priority.startswith("real-time"):
            pytest.skip("this host allows no real-time scheduling")
        assert "given up" not in statistics.priority
        os.sched_setscheduler(statistics.pid, os.SCHED_OTHER, os.sched_param(0))
        later = network.relay_statistics()
        assert later is not None
        assert later.priority.endswith("given up because it never paused")


def test_a_link_that_appears_again_has_other_properties(run_id: str, ports: Ports) -> None:
    with single(run_id, LinkProperties(delay=0.001)) as network:
        there, receiver = ports.pair(network, "A", "B")
        back, way_back = ports.pair(network, "B", "A")
        network.remove("B", "A")
        there.send(b"lost")
        back.send(b"lost, too")
        network.add(Link("B", "A", LinkProperties(), LinkProperties(delay=0.2)))
        begin = time.monotonic()
        there.send(b"found")
        back.send(b"found, too")
        assert way_back.recv(10) == b"found, too"
        assert receiver.recv(10) == b"found"
        assert time.monotonic() - begin > 0.199
        statistics = network.relay_statistics()
        assert statistics is not None
        assert [direction.down for direction in statistics.directions.values()] == [1, 1]
