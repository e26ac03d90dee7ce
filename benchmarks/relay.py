"""What the relay behind userspace links costs, how exact it is, and how soon an overlay is up.

    python -m benchmarks.relay            everything, against the targets (about 30 seconds; as root)
    python -m benchmarks.relay --quick    shorter, with a small overlay

Costs are CPU time of the relay's process by the frames it delivered, under more load than it can carry. Exit code 1: a
target missed.
"""

from __future__ import annotations

import random
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import networkx as nx
import typer
from rich.console import Console
from rich.table import Table

from emulation.network import EmulatedNetwork, LinkDriver, NetworkError
from emulation.network.namespaces import in_namespace
from emulation.network.probe_messages import OVERHEAD, SMALL_PAYLOAD, ProbedDirection, ProbeTask
from emulation.network.prober import carry_out
from topology.model import Broker, Link, LinkProperties, Overlay

FRAME_PAYLOAD = 300
"""Bytes: a frame of a batch of a few publications."""
OFFERED = 150_000
"""Frames per second offered to a relay that is to be saturated."""
REPETITIONS = 5
NODES, LINKS = 56, 136
SEED = 1

TARGET_COST = 6.0
"""Microseconds a frame, median of the repetitions."""
TARGET_ERROR = 0.3e3
"""Microseconds that the median delay may be off."""

PLAIN = LinkProperties(delay=0.005)
SHAPED = LinkProperties(delay=0.005, jitter=0.0005, loss=0.001, rate=1e9)


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table."""

    what: str
    value: str
    target: str = ""
    kept: bool = True


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


def saturate(properties: LinkProperties, seconds: float) -> tuple[float, float]:
    """Frames per second carried, and the relay's CPU time for one in microseconds."""
    with pair(properties) as network, sockets(network, socket.SOCK_DGRAM) as (sender, receiver):
        sender.connect(receiver.getsockname())
        before = network.relay_statistics()
        assert before is not None
        payload, batch = bytes(FRAME_PAYLOAD), OFFERED // 1000
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


def cost(name: str, properties: LinkProperties, seconds: float, repetitions: int) -> list[Result]:
    runs = [saturate(properties, seconds) for _ in range(repetitions)]
    frames, microseconds = statistics.median(run[0] for run in runs), statistics.median(run[1] for run in runs)
    shown = f"{microseconds:.1f} us ({min(run[1] for run in runs):.1f}-{max(run[1] for run in runs):.1f})"
    return [
        Result(f"CPU a frame, {name}", shown, f"{TARGET_COST:g} us", microseconds <= TARGET_COST),
        Result(f"frames/s carried, {name}", f"{frames:,.0f} of {OFFERED:,} offered"),
    ]


def stream(seconds: float) -> Result:
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
        return Result("TCP over an unlimited link", f"{received * 8 / (time.monotonic() - start) / 1e9:.2f} Gbit/s")


def delay_error(packets: int) -> list[Result]:
    """How far one-way delays are from what was asked, a packet every 2 ms in each direction."""
    with pair(PLAIN) as network:
        a = network.ends("A")[0]
        there = ProbedDirection(
            processes=(network.pid("A"), network.pid("B")), addresses=(a.local_address, a.remote_address), delay=0.1
        )
        back = ProbedDirection(processes=there.processes[::-1], addresses=there.addresses[::-1], delay=0.1)
        found = carry_out(ProbeTask(directions=[there, back], rounds=packets, interval=0.002, trains=0))
    errors = sorted((delay - PLAIN.delay) * 1e6 for samples in found for delay in samples.delays)
    text = ", ".join(f"p{share} {errors[share * (len(errors) - 1) // 100]:+.0f}" for share in (50, 95, 99))
    median = statistics.median(errors)
    what = f"one-way delay error, frames of {SMALL_PAYLOAD + OVERHEAD} bytes"
    return [
        Result(what, f"{text}, greatest {errors[-1]:+.0f} us", f"p50 {TARGET_ERROR:g} us", abs(median) <= TARGET_ERROR)
    ]


def random_overlay(nodes: int, links: int) -> Overlay:
    """A connected overlay with links like the quickstart's."""
    generator = random.Random(SEED)
    graph = nx.random_labeled_tree(nodes, seed=SEED)
    while graph.number_of_edges() < links:
        graph.add_edge(*generator.sample(range(nodes), 2))

    def properties() -> LinkProperties:
        return LinkProperties(delay=generator.uniform(0.002, 0.010), jitter=0.0003, rate=10e6)

    edges = tuple(Link(f"B{a}", f"B{b}", properties(), properties()) for a, b in graph.edges)
    return Overlay(name="bench", brokers=tuple(Broker(f"B{node}") for node in graph), links=edges)


def start_up(nodes: int, links: int) -> list[Result]:
    """An overlay of Mininet hosts: from nothing to verified links, measured, and gone."""
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
    started, probed, stopped = (after - before for before, after in pairwise(times))
    good = sum(probe.ok for probe in probes)
    what = f"{nodes} nodes, {links} links"
    return [
        Result(f"{what}: up and verified", f"{started:.1f} s"),
        Result(f"{what}: delay, rate and loss probed", f"{probed:.1f} s"),
        Result(f"{what}: directions within tolerance", f"{good} of {len(probes)}", "all", good == len(probes)),
        Result(f"{what}: removed", f"{stopped:.1f} s"),
    ]


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs and a small overlay.")] = False,
) -> None:
    """Measure the relay behind userspace links."""
    seconds, repetitions = (0.3, 3) if quick else (1.0, REPETITIONS)
    console = Console()
    table = Table("measured", "value", "target", "", title="relay")
    missed = False
    try:
        for results in (
            cost("delay alone", PLAIN, seconds, repetitions),
            cost("delay, jitter, loss and rate", SHAPED, seconds, repetitions),
            [stream(seconds)],
            delay_error(200 if quick else 2_000),
            start_up(*((8, 12) if quick else (NODES, LINKS))),
        ):
            for result in results:
                table.add_row(result.what, result.value, result.target, "" if result.kept else "missed")
                missed |= not result.kept
    except NetworkError as error:
        console.print(f"cannot measure the relay: {error}", style="red", highlight=False)
        raise typer.Exit(4) from error
    console.print(table)
    raise typer.Exit(1 if missed else 0)


if __name__ == "__main__":
    typer.run(main)
