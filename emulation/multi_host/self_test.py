"""Tests what this host gives to a run, and prints the result as JSON:
`python -m emulation.multi_host.self_test SECONDS`

Half of the time all processors do the work of the reference loop at once, which shows how many the host really has for
a run: processors that are halves of a core, that other programs use, or that the hypervisor gives to other machines
count for less. In the other half a relay carries frames over one link as fast as it can.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import msgspec

from emulation.host.loop_times import loop_times
from emulation.host.reference_loops import Reference, looping
from emulation.network.model import LinkDriver, NetworkError
from emulation.network.namespaces import in_namespace
from emulation.network.network import EmulatedNetwork
from record.time_units import SECOND
from topology.link_properties import Link, LinkProperties
from topology.model import Broker, Overlay

SECONDS = 5.0
"""Duration of a self-test."""
PAYLOAD = 300
"""Bytes of a frame that carries a few publications."""
_BATCH = 50
_NAME = "self-test"
_DELAY = 0.001


class SelfTest(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a host's self-test."""

    processors: float
    """Processors' worth of work that the host does at once, in those that one of them does by itself."""
    frames: float | None
    """Frames a second that a relay carries with a processor of its own; None where the host has no userspace links."""


def self_test(seconds: float) -> SelfTest:
    """Tests for so long, and for the second or two in which the reference loop is timed."""
    alone = loop_times().interpreter
    return SelfTest(processors=_processors(seconds / 2, alone), frames=_frames(seconds / 2))


def _processors(seconds: float, alone: int) -> float:
    """The loops that all processors do in this time, in those that one processor does by itself."""
    processors = sorted(os.sched_getaffinity(0))
    with ProcessPoolExecutor(len(processors), get_context("fork")) as pool:
        begin = time.monotonic() + 0.1  # when all have started
        passes = pool.map(_passes, processors, [begin] * len(processors), [seconds] * len(processors))
        return sum(passes) * alone / seconds / SECOND


def _passes(processor: int, begin: float, seconds: float) -> int:
    """The number of passes of the reference loop on one processor between two moments."""
    os.sched_setaffinity(0, {processor})
    passes = 0
    with looping(Reference.INTERPRETER) as loop:
        while (now := time.monotonic()) < begin + seconds:
            loop()
            passes += now >= begin
    return passes


def _frames(seconds: float) -> float | None:
    """The frames that a relay would carry in a second of processor time, by those that it carries in this time."""
    link = LinkProperties(delay=_DELAY)
    overlay = Overlay(name=_NAME, brokers=(Broker("A"), Broker("B")), links=(Link("A", "B", link, link),))
    try:
        with EmulatedNetwork(overlay, f"{_NAME}-{os.getpid()}", LinkDriver.USERSPACE) as network:
            before = network.relay_statistics()
            assert before is not None
            used = _processor_time(before.pid)
            _flood(network, time.monotonic() + seconds)
            after = network.relay_statistics()
            assert after is not None
            took = _processor_time(before.pid) - used
            return (after.frames - before.frames) * SECOND / took if took else None
    except NetworkError:
        return None


def _flood(network: EmulatedNetwork, end: float) -> None:
    """Sends as many frames over the link as there is processor time for."""
    sender, receiver = (
        in_namespace(network.pid(broker), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for broker in "AB"
    )
    with sender, receiver:
        receiver.bind((network.ends("B")[0].local_address, 0))
        sender.connect(receiver.getsockname())
        payload = bytes(PAYLOAD)
        while time.monotonic() < end:
            for _ in range(_BATCH):
                sender.send(payload)


def _processor_time(pid: int) -> int:
    """Nanoseconds that a process has run (proc(5), schedstat)."""
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0])


def main(arguments: Sequence[str]) -> None:
    (seconds,) = arguments
    sys.stdout.buffer.write(msgspec.json.encode(self_test(float(seconds))) + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
