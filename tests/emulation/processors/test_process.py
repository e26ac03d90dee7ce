"""The sampler reads what the kernel counts for the threads of a run's nodes, as they come and go, and costs little."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from emulation.processors.process import Sampler
from emulation.processors.request import SamplingRequest
from emulation.processors.threads import Threads
from emulation.run.processor_sampling import SAMPLER_PROGRAM, no_sampling
from record.processors import INTERVAL, RELAY, ProcessorBlock, ProcessorLine, ProcessorSampling
from tests.waiting import await_true

SOURCE = Path(__file__).resolve().parents[3]
MARK = f"SAMPLED_RUN=test-{os.getpid()}"
BUSY = """
import sys, threading, time
def work():
    until = time.thread_time() + 0.1
    while time.thread_time() < until:
        pass
def beside():
    begin.wait()
    work()
    end.wait()
begin, end = threading.Event(), threading.Event()
threading.Thread(target=beside).start()
sys.stdin.readline()
begin.set()
work()
sys.stdin.readline()
end.set()
"""
"""Two threads, each of which works for 0.1 s when it is told to, and stays until it is told to end."""
WITHIN = 60.0

pytestmark = pytest.mark.skipif(bool(no_sampling()), reason=no_sampling())


def node(*arguments: str) -> subprocess.Popen[bytes]:
    name, _, value = MARK.partition("=")
    command = [sys.executable, "-c", BUSY, *arguments]
    return subprocess.Popen(command, env=os.environ | {name: value}, stdin=subprocess.PIPE)


def tell(process: subprocess.Popen[bytes]) -> None:
    """Has a node work, or end."""
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()


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


def opened(sampling: subprocess.Popen[bytes], process: subprocess.Popen[bytes]) -> int:
    """Number of threads of a process that the sampler looks at."""
    found = 0
    for descriptor in Path(f"/proc/{sampling.pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            found += str(descriptor.readlink()).startswith(f"/proc/{process.pid}/task/")
    return found


def sampled(file: Path) -> tuple[Counter[str], ProcessorSampling | None]:
    """Microseconds for which each node ran, and the last line, of the whole lines so far."""
    ran: Counter[str] = Counter()
    last = None
    for line in file.read_bytes().rpartition(b"\n")[0].splitlines():
        block = msgspec.json.decode(line, type=ProcessorLine)
        if isinstance(block, ProcessorSampling):
            last = block
        if not isinstance(block, ProcessorBlock):  # this host's hypervisor stole
            continue
        for number in range(0, len(block.intervals), INTERVAL):
            place, begin, end, waiting, running = block.intervals[number : number + INTERVAL]
            assert begin < end
            assert waiting or running, "intervals without any are left out"
            ran[block.nodes[place]] += running
    return ran, last


@pytest.mark.alone
def test_nodes_that_come_and_go_are_sampled_with_all_their_threads(tmp_path: Path) -> None:
    """Its claims on the sampler's pace hold on a host that is not busy."""
    file = tmp_path / "processors.jsonl"
    sampling = sampler(file)
    stranger, broker = node("another program"), node("a.broker")
    driver, programs = node("a.driver", "/somewhere/driver-2.json"), node("a.programs", "/somewhere/programs.json")
    started = [stranger, broker, driver, programs]

    def see(*nodes: subprocess.Popen[bytes]) -> None:
        for each in nodes:
            await_true(lambda each=each: opened(sampling, each) == 2, "the sampler looks at both threads", WITHIN)
            tell(each)

    def await_work(*names: str) -> None:
        await_true(lambda: all(sampled(file)[0][name] >= 195_000 for name in names), f"{names} are sampled", WITHIN)

    try:
        tell(stranger)
        see(broker, driver, programs)
        await_work("B1", "driver-2", "programs")
        for each in (driver, programs):
            tell(each)
            each.wait(WITHIN)
        started.append(restarted := node("a.relay"))
        see(restarted)
        await_work(RELAY)
        for each in (restarted, stranger):
            tell(each)
            each.wait(WITHIN)
        broker.kill()
        broker.wait()
        await_true(lambda: not opened(sampling, broker), "the sampler sees that the broker was killed", WITHIN)
        assert sampling.stdin is not None
        sampling.stdin.close()
        assert sampling.wait(WITHIN) == 0
    finally:
        for each in (*started, sampling):
            each.kill()
            each.wait()
    ran, last = sampled(file)
    assert last is not None
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
    broker = node("a.broker")
    ends, close = os.pipe()
    os.close(close)
    try:
        with (tmp_path / "processors.jsonl").open("wb") as file:
            Sampler(request(tmp_path / "processors.jsonl"), file).run(ends)
    finally:
        broker.kill()
        broker.wait()
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
