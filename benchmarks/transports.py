"""Processor time of a hop over the brokers' own transport, compared with gRPC's library for Python.

A process of either transport sends back messages of 300 bytes, 2,000 a second, each in a frame of its own: what a
broker's transport does for a publication at that rate. Brokers carry publications at the same rate meanwhile, so that a
hop with gRPC's library is a broker's hop with the difference of the two added. The two transports take turns.

    python -m benchmarks.transports
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import uvloop

from benchmarks.support.echo import GRPCIO, OWN
from benchmarks.support.loopback import ROOT, end, wait_for
from benchmarks.support.processes import Usage
from benchmarks.targets import Bound, Judgement, Target, conclude
from benchmarks.throughput import OVERLAYS, run_trial
from broker_service.transport.channel import Call, dial
from broker_service.transport.methods import LINK, UNIX

SHARE = Target("processor time of a hop, in that with gRPC's library", Bound.AT_MOST, 0.8)

RATE = 2_000
MESSAGE = bytes(300)
ROUNDS = 3
_LARGEST = 1 << 20
_TOGETHER = 0.001
"""Seconds between two looks at the schedule."""


async def _exchange(path: str, seconds: float) -> int:
    """Sends messages at `RATE` and reads what comes back, all of it; returns the number."""
    call = await dial(UNIX + path, LINK, _LARGEST)
    count = round(RATE * seconds)
    reading = asyncio.create_task(_read(call, count))
    begin, sent = time.monotonic(), 0
    while sent < count:
        while sent < min(count, (time.monotonic() - begin) * RATE):
            await call.write(MESSAGE)
            sent += 1
        await asyncio.sleep(_TOGETHER)
    await reading
    call.close()
    return count


async def _read(call: Call, count: int) -> None:
    for _ in range(count):
        await call.read()


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def cost_of(transport: str, seconds: float) -> float:
    """Microseconds of processor time that a process of a transport takes for a message in and out."""
    with tempfile.TemporaryDirectory(prefix="transports-") as directory:
        path = Path(directory) / "socket"
        process = subprocess.Popen([sys.executable, "-m", "benchmarks.support.echo", transport, str(path)], cwd=ROOT)
        try:
            wait_for(lambda: _listens(path), process)
            uvloop.run(_exchange(str(path), 0.2))
            before = Usage.of(process.pid)
            messages = uvloop.run(_exchange(str(path), seconds))
            return (Usage.of(process.pid).cpu - before.cpu) / messages * 1e6
        finally:
            end(process)


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a measurement")
    seconds = parser.parse_args(arguments).seconds
    costs: dict[str, list[float]] = {OWN: [], GRPCIO: []}
    hops = []
    for _ in range(ROUNDS):
        for transport, taken in costs.items():
            taken.append(cost_of(transport, seconds))
        hops.append(run_trial(OVERLAYS["line-3"], RATE, seconds).cpu_per_hop)
    own, other = (statistics.median(taken) for taken in costs.values())
    hop = statistics.median(hops)
    print(f"a message in and out: {own:.1f} us over the own transport, {other:.1f} us over gRPC's library")
    print(f"a broker's hop: {hop:.1f} us, with gRPC's library {hop - own + other:.1f} us")
    return [SHARE.judge(hop / (hop - own + other))]


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
