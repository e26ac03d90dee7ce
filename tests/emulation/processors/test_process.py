"""The sampler reads what the kernel counts for the threads of a run's nodes, as they come and go, and costs little."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from emulation.processors.process import Sampler
from emulation.processors.request import SamplingRequest
from emulation.processors.threads import Threads
from emulation.run.processor_sampling import SAMPLER_PROGRAM, no_sampling
from record.processors import INTERVAL, RELAY, HostBlock, ProcessorBlock, ProcessorLine, ProcessorSampling

SOURCE = Path(__file__).resolve().parents[3]
MARK = f"SAMPLED_RUN=test-{os.getpid()}"
BUSY = """
import sys, threading, time
def work(seconds):
    time.sleep(1.5)
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass
    time.sleep(0.3)
threading.Thread(target=work, args=(0.1,)).start()
work(0.1)
time.sleep(float(sys.argv[1]))
"""

pytestmark = pytest.mark.skipif(bool(no_sampling()), reason=no_sampling())


def node(*arguments: str) -> subprocess.Popen[bytes]:
    name, _, value = MARK.partition("=")
    return subprocess.Popen([sys.executable, "-c", BUSY, *arguments], env=os.environ | {name: value})


def request(file: Path) -> SamplingRequest:
    return SamplingRequest(
        mark=MARK,
        variant="base",
        file=str(file),
        brokers={Path("/proc/self/ns/net").stat().st_ino: "B1"},
        broker_program="a.broker",
        acting_programs=("a.driver", "a.programs"),
        relay_program="a.relay",
    )


def sampler(file: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", SAMPLER_PROGRAM, msgspec.json.encode(request(file)).decode()]
    return subprocess.Popen(command, stdin=subprocess.PIPE, cwd=SOURCE)


def sampled(file: Path) -> tuple[Counter[str], ProcessorSampling]:
    """Microseconds for which each node ran, and the last line."""
    ran: Counter[str] = Counter()
    lines = [msgspec.json.decode(line, type=ProcessorLine) for line in file.read_bytes().splitlines()]
    last = lines.pop()
    assert isinstance(last, ProcessorSampling)
    for block in lines:
        if isinstance(block, HostBlock):  # this host's hypervisor stole
            continue
        assert isinstance(block, ProcessorBlock)
        for number in range(0, len(block.intervals), INTERVAL):
            place, begin, end, waiting, running = block.intervals[number : number + INTERVAL]
            assert begin < end
            assert waiting or running, "intervals without any are left out"
            ran[block.nodes[place]] += running
    return ran, last


def test_nodes_that_come_and_go_are_sampled_with_all_their_threads(tmp_path: Path) -> None:
    sampling = sampler(tmp_path / "processors.jsonl")
    first = [
        node("30", "a.broker"),
        node("0", "a.driver", "/somewhere/driver-2.json"),
        node("0", "a.programs", "/somewhere/programs.json"),
    ]
    stranger = node("0", "another program")
    try:
        first[1].wait(20)
        first[2].wait(20)
        restarted = node("0", "a.relay")
        restarted.wait(20)
        stranger.wait(20)
    finally:
        first[0].kill()
        first[0].wait()
        time.sleep(0.3)
        assert sampling.stdin is not None
        sampling.stdin.close()
        assert sampling.wait(5) == 0
    ran, last = sampled(tmp_path / "processors.jsonl")
    assert ran.keys() == {"B1", "driver-2", "programs", RELAY}
    assert all(195_000 <= time <= 400_000 for time in ran.values()), ran
    assert (last.processes, last.unread) == (4, 0)
    assert last.used < 0.02 * last.seconds + 0.1, "the first search reads all processes of the host"
    assert last.looks > 10 * last.seconds


def test_threads_are_looked_at_after_they_were_opened_and_not_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, looked = [], []
    monkeypatch.setattr(Threads, "watch", lambda _, __, ___, now: opened.append(now))
    monkeypatch.setattr(Threads, "look", lambda _, now: looked.append(now) or {})
    broker = node("30", "a.broker")
    ends, close = os.pipe()
    os.close(close)
    try:
        with (tmp_path / "processors.jsonl").open("wb") as file:
            Sampler(request(tmp_path / "processors.jsonl"), file).run(ends)
    finally:
        broker.kill()
        broker.wait()
        os.close(ends)
    assert opened
    assert max(opened) < min(looked)


def test_a_kernel_that_does_not_count_is_a_reason(tmp_path: Path) -> None:
    assert "CONFIG_SCHED_INFO" in no_sampling(tmp_path)
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "schedstat").write_text("0 0 0\n")
    assert "does not count" in no_sampling(tmp_path)
    (tmp_path / "self" / "schedstat").write_text("1200 0 3\n")
    assert no_sampling(tmp_path) == ""
