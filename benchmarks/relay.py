"""Cost and precision of the relay behind userspace links, and the time until an overlay of such links is up.

    python -m benchmarks.relay            about 30 seconds, as root
    python -m benchmarks.relay --quick    shorter, with a small overlay

Costs are CPU time of the relay's process divided by the frames it delivered, under more load than it can carry. Without
`--quick` they are measured at a hundredth and a tenth of that load, too, the error of delays at delays a hundred times
apart, and an overlay of three links beside the large one.
"""

from __future__ import annotations

import argparse
import random
import socket
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import networkx as nx
from rich.table import Table

from benchmarks.support.growth import growth_of
from benchmarks.targets import Bound, Judgement, Target, conclude, console
from emulation.host.reference_loops import Reference
from emulation.network.model import LinkDriver, NetworkError
from emulation.network.namespaces import in_namespace
from emulation.network.network import EmulatedNetwork
from emulation.network.probing.messages import OVERHEAD, SMALL_PAYLOAD, ProbedDirection, ProbeTask
from emulation.network.probing.prober import carry_out
from topology.link_properties import Link, LinkProperties
from topology.model import Broker, Overlay

FRAME_PAYLOAD = 300
"""Bytes of a frame that carries a few publications."""
OFFERED = 150_000
"""Frames a second offered to the relay, more than it can carry."""
FEWER = (OFFERED // 100, OFFERED // 10)
PER_FRAME = "system calls for each wake-up of the relay, which serves more frames the more there are"
DELAYS = (0.0005, 0.005, 0.05)
AT_WAKE_UP = "the time from the end of the relay's timer until it runs, which does not depend on the delay"
REPETITIONS = 5
NODES, LINKS = 56, 136
FEW_LINKS = ((3, 2), (12, 20))
SEED = 1

ERROR = Target("error of the median one-way delay over a userspace link", Bound.AT_MOST, 300, "us", Reference.LOOPBACK)
OUTSIDE = Target("directions of links outside the fidelity check's tolerance", Bound.AT_MOST, 0)

PLAIN = LinkProperties(delay=0.005)
SHAPED = LinkProperties(delay=0.005, jitter=0.0005, loss=0.001, rate=1e9)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions of a link, and the target for the CPU time of a frame over it, a median of repetitions."""

    name: str
    properties: LinkProperties
    cost: Target

    @classmethod
    def named(cls, name: str, properties: LinkProperties) -> Conditions:
        """Conditions with their target. Of 100 samples of the relay under this load, 61 to 67 were in the interpreter
        and its library, and 31 to 34 in the kernel, a third of them or more in switches between processes."""
        return cls(
            name,
            properties,
            Target(f"CPU time of the relay for a frame, {name}", Bound.AT_MOST, 6, "us", Reference.INTERPRETER),
        )


CONDITIONS = (
    Conditions.named("delay alone", PLAIN),
    Conditions.named("delay, jitter, loss and rate", SHAPED),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Lines of the table, each a name and a value, and judgements of what was measured."""

    lines: list[tuple[str, str]]
    judgements: list[Judgement]


def pair(properties: LinkProperties) -> EmulatedNetwork:
    """A network of one link."""
    brokers = (Broker("A"), Broker("B"))
    overlay = Overlay(name="pair", brokers=brokers, links=(Link("A", "B", properties, properties),))
    return EmulatedNetwork(overlay, "bench-relay", LinkDriver.USERSPACE, seed=SEED)


@contextmanager
def sockets(network: EmulatedNetwork, kind: socket.SocketKind) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Sockets in A and in B, the second bound."""
    first, second = (in_namespace(network.pid(broker), lambda: socket.socket(socket.AF_INET, kind)) for broker in "AB")
    with first, second:
        second.bind((network.ends("B")[0].local_address, 0))
        yield first, second


def cpu_seconds(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9


def saturate(properties: LinkProperties, seconds: float, offered: int = OFFERED) -> tuple[float, float]:
    """Frames carried of so many offered a second, and the relay's CPU time for a frame in microseconds."""
    with pair(properties) as network, sockets(network, socket.SOCK_DGRAM) as (sender, receiver):
        sender.connect(receiver.getsockname())
        before = network.relay_statistics()
        assert before is not None
        payload, batch = bytes(FRAME_PAYLOAD), offered // 1000
        cpu, start = cpu_seconds(before.pid), time.monotonic()
        for turn in range(round(seconds * 1000)):
            while time.monotonic() < start + turn / 1000:
                time.sleep(0.0002)
            for _ in range(batch):
                sender.send(payload)
        elapsed = time.monotonic() - start
        time.sleep(properties.delay + 0.05)
        after = network.relay_statistics()
        assert after is not None
        frames = after.frames - before.frames
        return frames / elapsed, (cpu_seconds(after.pid) - cpu) / frames * 1e6


def cost(conditions: Conditions, seconds: float, repetitions: int, fewer: Sequence[int] = ()) -> Measured:
    """`fewer` are loads at which growth is measured, in frames a second."""
    costs = {offered: saturate(conditions.properties, seconds, offered)[1] for offered in fewer}
    runs = [saturate(conditions.properties, seconds) for _ in range(repetitions)]
    frames, microseconds = statistics.median(run[0] for run in runs), statistics.median(run[1] for run in runs)
    spread = f"{microseconds:.1f} us ({min(run[1] for run in runs):.1f}-{max(run[1] for run in runs):.1f})"
    return Measured(
        [
            (f"CPU time of a frame, {conditions.name}", spread),
            (f"frames/s carried, {conditions.name}", f"{frames:,.0f} of {OFFERED:,} offered"),
        ],
        [conditions.cost.judge(microseconds, growth_of("frames/s", costs | {OFFERED: microseconds}, PER_FRAME))],
    )


def stream(seconds: float) -> Measured:
    """A TCP stream over an unlimited link."""
    with pair(LinkProperties()) as network, sockets(network, socket.SOCK_STREAM) as (sender, listener):
        listener.listen()
        sender.connect(listener.getsockname())
        connection, _ = listener.accept()
        received = 0

        def receive() -> None:
            nonlocal received
            with connection:
                while count := len(connection.recv(1 << 20)):
                    received += count

        thread = threading.Thread(target=receive)
        thread.start()
        start, chunk = time.monotonic(), bytes(1 << 20)
        while time.monotonic() < start + seconds:
            sender.sendall(chunk)
        sender.shutdown(socket.SHUT_WR)
        thread.join()
        rate = received * 8 / (time.monotonic() - start) / 1e9
        return Measured([("TCP over an unlimited link", f"{rate:.2f} Gbit/s")], [])


def delay_error(packets: int, delays: Sequence[float] = ()) -> Measured:
    """Difference of one-way delays from the delay asked for, with a packet every 2 ms in each direction.

    `delays` are others at which growth is measured, in seconds.
    """
    medians = {round(delay * 1e6): abs(statistics.median(_errors(delay, packets // 4))) for delay in delays}
    errors = _errors(PLAIN.delay, packets)
    text = ", ".join(f"p{share} {errors[share * (len(errors) - 1) // 100]:+.0f}" for share in (50, 95, 99))
    median = abs(statistics.median(errors))
    name = f"one-way delay error, frames of {SMALL_PAYLOAD + OVERHEAD} bytes"
    growth = growth_of("us of delay", medians, AT_WAKE_UP)
    return Measured([(name, f"{text}, greatest {errors[-1]:+.0f} us")], [ERROR.judge(median, growth)])


def _errors(delay: float, packets: int) -> list[float]:
    """Errors of the delays of both directions, microseconds, in ascending order."""
    with pair(LinkProperties(delay=delay)) as network:
        a = network.ends("A")[0]
        there = ProbedDirection(
            processes=(network.pid("A"), network.pid("B")), addresses=(a.local_address, a.remote_address), delay=0.1
        )
        back = ProbedDirection(processes=there.processes[::-1], addresses=there.addresses[::-1], delay=0.1)
        found = carry_out(ProbeTask(directions=[there, back], rounds=packets, interval=0.002, trains=0))
    return sorted((measured - delay) * 1e6 for samples in found for measured in samples.delays)


def random_overlay(nodes: int, links: int) -> Overlay:
    """A connected overlay with links like those of `scenarios/cyclic-30.yaml`."""
    generator = random.Random(SEED)
    graph = nx.random_labeled_tree(nodes, seed=SEED)
    while graph.number_of_edges() < links:
        graph.add_edge(*generator.sample(range(nodes), 2))

    def properties() -> LinkProperties:
        return LinkProperties(delay=generator.uniform(0.002, 0.010), jitter=0.0003, rate=10e6)

    edges = tuple(Link(f"B{a}", f"B{b}", properties(), properties()) for a, b in graph.edges)
    return Overlay(name="bench", brokers=tuple(Broker(f"B{node}") for node in graph), links=edges)


def start_up(nodes: int, links: int, few: Sequence[tuple[int, int]] = ()) -> Measured:
    """Times to start, probe and remove an overlay of Mininet hosts.

    `few` are smaller overlays, as numbers of nodes and links, with which growth is measured.
    """
    smaller = {links: _started(nodes, links).outside for nodes, links in few}
    started = _started(nodes, links)
    size = f"{nodes} nodes, {links} links"
    growth = growth_of("links", smaller | {links: started.outside}, "probes that share two processors")
    return Measured(
        [
            (f"{size}: up and verified", f"{started.up:.1f} s"),
            (f"{size}: delay, rate and loss probed", f"{started.probed:.1f} s"),
            (f"{size}: removed", f"{started.removed:.1f} s"),
        ],
        [OUTSIDE.judge(started.outside, growth)],
    )


@dataclass(frozen=True, slots=True)
class Started:
    """Seconds of the parts of an overlay's life, and directions of links outside the tolerance."""

    up: float
    probed: float
    removed: float
    outside: int


def _started(nodes: int, links: int) -> Started:
    network = EmulatedNetwork(random_overlay(nodes, links), "bench-overlay", LinkDriver.USERSPACE, seed=SEED)
    times = [time.monotonic()]
    try:
        network.start()
        times.append(time.monotonic())
        probes = network.probe()
        times.append(time.monotonic())
    finally:
        network.stop()
    times.append(time.monotonic())
    up, probed, removed = (after - before for before, after in pairwise(times))
    return Started(up, probed, removed, sum(not probe.ok for probe in probes))


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter runs and a small overlay")
    quick = parser.parse_args(arguments).quick
    seconds, repetitions = (0.3, 3) if quick else (1.0, REPETITIONS)
    table = Table("measurement", "value", title="relay")
    judgements: list[Judgement] = []
    try:
        for measured in (
            *(cost(conditions, seconds, repetitions, () if quick else FEWER) for conditions in CONDITIONS),
            stream(seconds),
            delay_error(200) if quick else delay_error(2_000, DELAYS),
            start_up(8, 12) if quick else start_up(NODES, LINKS, FEW_LINKS),
        ):
            for line in measured.lines:
                table.add_row(*line)
            judgements += measured.judgements
    except NetworkError as error:
        raise SystemExit(f"cannot measure the relay: {error}") from error
    console().print(table)
    return judgements


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
