"""Every promise broken for real, on a real host: each check has to notice its own, and must not blame the others.

Runs of a few seconds with brokers as processes, as root. What is planted is out of the product's reach: programs that
keep the CPUs busy, a quota, signals, a link that is not what the plan says, a full disk, a clock of another domain.
That nothing of it is seen where nothing is planted, the end-to-end tests show (`tests/emulation/run`).
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

import msgspec
import pytest
from rich.console import Console

from emulation.host.journal import JournalEntry
from emulation.host.run_paths import RunPaths
from emulation.network.network import EmulatedNetwork
from emulation.planning.plan import make_plan
from emulation.run import emulate
from emulation.runtimes.ladder import Rungs
from record.fidelity import Check, FidelityVerdict, VariantFidelity
from record.manifest import RungChoice
from scenario.loading import load
from tests.tries import one_of_three

pytestmark = [
    pytest.mark.container,
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mnexec") is None, reason="needs root and Mininet"),
]

SCENARIO = """
name: planted
topology: {kind: line, brokers: 3, link: {delay: 4ms, bandwidth: 10mbit}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {source: stocks, publishers: 3, rate: 60/s}
  subscriptions: {subscribers: 6, selectivity: 50%}
timeline: {join: 1s, run: 3s, drain: 1s}
seed: 4
"""
RUNGS = Rungs(RungChoice("process", "asked for"), RungChoice("userspace", "asked for"), None)
FAR = 1000
"""Seconds between the host's clock and the other one."""
WITHIN = 60.0
"""Seconds that any of these programs may last, whatever happens to the test."""


@contextmanager
def in_run_phase(out: Path, plant: Callable[[Path], AbstractContextManager[None]]) -> Iterator[None]:
    """Enters `plant`, which is given the run's directory, once its run phase is watched, and leaves it at its end."""
    over = threading.Event()
    failures: list[Exception] = []

    def wait_for(line: str) -> Path | None:
        while not over.wait(0.02):
            for log in out.glob("*/emulator.log"):
                if re.search(line, log.read_text(encoding="utf-8")):
                    return log.parent
        return None

    def watch() -> None:
        try:
            if (directory := wait_for(r"event=observing")) is not None:
                with plant(directory):
                    wait_for(r"phase ends.*phase=run")
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert failures == []


def run(out: Path) -> VariantFidelity:
    """Runs the scenario with brokers as processes."""
    out.mkdir(exist_ok=True)
    scenario = out / "planted.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    outcome = emulate(make_plan(load(scenario)), RUNGS, out, Console(file=io.StringIO()), lambda: None)
    (judged,) = outcome.fidelity.variants
    return judged


def check(judged: VariantFidelity, name: str) -> Check:
    (found,) = [check for check in judged.checks if check.name.startswith(name)]
    return found


class QuotaGroup:
    """A cgroup with this process in it, and all that it starts from then on."""

    def __init__(self) -> None:
        """Skips the test on a host without one."""
        first = Path("/sys/fs/cgroup/cpu")
        self._root = first if first.is_dir() else Path("/sys/fs/cgroup")
        self._group = self._root / f"brokerlab-test-{os.getpid()}"
        try:
            self._group.mkdir()
        except OSError as error:
            pytest.skip(f"no cgroup can be made below {self._root}: {error.strerror}")
        self._quota = self._group / ("cpu.cfs_quota_us" if first.is_dir() else "cpu.max")
        if not self._quota.exists():
            self._group.rmdir()
            pytest.skip(f"{self._root} has no controller for CPU quotas")

    def __enter__(self) -> Self:
        (self._group / "cgroup.procs").write_text(str(os.getpid()))
        return self

    def __exit__(self, *_: object) -> None:
        (self._root / "cgroup.procs").write_text(str(os.getpid()))
        self._group.rmdir()

    @contextmanager
    def beside_a_busy_host(self) -> Iterator[None]:
        """A program that never rests for every CPU; outside the group, because it is another user's."""
        spin = f"import time\nend = time.monotonic() + {WITHIN}\nwhile time.monotonic() < end: pass"
        # Without the environment, by which processes of a run are known.
        spinning = [subprocess.Popen([sys.executable, "-c", spin], env={}) for _ in range(os.cpu_count() or 1)]
        try:
            for process in spinning:
                (self._root / "cgroup.procs").write_text(str(process.pid))
            yield
        finally:
            for process in spinning:
                process.kill()
                process.wait()

    @contextmanager
    def limited(self, cpus: float) -> Iterator[None]:
        """Limits all processes of the group together to this number of CPUs."""
        unlimited = self._quota.read_text().split()[0]
        self._quota.write_text(str(round(cpus * 100_000)))  # of the period, which is 0.1 s by default
        try:
            yield
        finally:
            self._quota.write_text(unlimited)


@contextmanager
def relay_stopped(directory: Path, seconds: float) -> Iterator[None]:
    """Stops the relay for a while."""
    entries = map(msgspec.json.Decoder(JournalEntry).decode, (directory / "journal.jsonl").read_bytes().splitlines())
    (relay,) = [entry.process for entry in entries if entry.name == "relay" and entry.process is not None]
    relay.kill(signal.SIGSTOP)
    time.sleep(seconds)
    relay.kill(signal.SIGCONT)
    yield


class WronglyWired(EmulatedNetwork):
    """Behind the plan's back, what B1 sends to B2 takes 3 ms longer and has half the bandwidth."""

    def start(self) -> None:
        super().start()
        link, side = self._parts.direction("B1", "B2")
        asked = link.names.link.forward
        assert asked.rate is not None
        link.change(side, replace(asked, delay=asked.delay + 0.003, rate=asked.rate / 2))


@contextmanager
def small_disk(paths: RunPaths) -> Iterator[None]:
    """A disk with room for the beginnings of logs."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", paths.logs], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", paths.logs], check=True)


def put_into_another_time(broker: str, directory: Path) -> str:
    """A PATH on which the program that starts brokers starts this one in a time namespace of its own."""
    original = shutil.which("nsenter")
    stand_in = directory / "nsenter"
    stand_in.write_text(
        f"""#!/bin/sh
case "$*" in
    */{broker}/broker.json) exec unshare --time --monotonic {FAR} {original} "$@" ;;
    *) exec {original} "$@" ;;
esac
"""
    )
    stand_in.chmod(0o755)
    return f"{directory}:{os.environ['PATH']}"


@pytest.mark.proof
def test_a_busy_host_and_a_quota_on_the_whole_run(tmp_path: Path) -> None:
    with QuotaGroup() as group:

        @contextmanager
        def plant(_: Path) -> Iterator[None]:
            with group.beside_a_busy_host(), group.limited(0.1):
                yield

        with in_run_phase(tmp_path, plant):
            judged = run(tmp_path)
    assert judged.verdict is FidelityVerdict.INVALID
    assert judged.processors is not None
    assert judged.processors.others > 0.2
    assert check(judged, "periods in which a CPU quota").verdict is FidelityVerdict.INVALID
    assert max(sample.loop_lag or 0.0 for sample in judged.samples) > 0.02
    assert any((sample.cpu_busy or 0) > 0.97 for sample in judged.samples)
    for name in ("nodes with another clock", "log records lost", "logs without an end"):
        assert check(judged, name).verdict is FidelityVerdict.VALID, name


@pytest.mark.proof
@pytest.mark.alone
def test_a_link_that_is_not_what_was_asked_and_a_relay_that_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emulation.run.host_start.EmulatedNetwork", WronglyWired)
    tries = itertools.count(1)

    def check_all() -> None:
        out = tmp_path / str(next(tries))
        with in_run_phase(out, lambda directory: relay_stopped(directory, 0.3)):
            judged = run(out)
        expect_a_wrong_link(judged)
        expect_a_stopped_relay(judged)
        for name in ("nodes with another clock", "log records lost", "logs without an end"):
            assert check(judged, name).verdict is FidelityVerdict.VALID, name

    one_of_three(check_all)


def expect_a_wrong_link(judged: VariantFidelity) -> None:
    wrong = [link for link in judged.links if (link.a, link.b) == ("B1", "B2")]
    assert {link.phase for link in wrong} == {"before", "during"}
    assert all(link.delay_measured == pytest.approx(0.007, abs=0.001) and not link.ok for link in wrong)
    assert wrong[0].rate_measured == pytest.approx(5e6, rel=0.05)
    before = check(judged, "links before load")
    assert before.verdict is FidelityVerdict.INVALID
    assert "B1 to B2" in before.detail
    assert "B2 to B1" not in before.detail
    during = check(judged, "probes during load")
    assert during.verdict is not FidelityVerdict.VALID
    assert "B1 to B2" in during.detail


def expect_a_stopped_relay(judged: VariantFidelity) -> None:
    stopped = check(judged, "relay held up")
    assert stopped.verdict is FidelityVerdict.INVALID
    assert stopped.value == pytest.approx(10, abs=3)
    held_up = [sample.relay_held_up or 0.0 for sample in judged.samples]
    assert max(held_up) > 0.2
    assert sum(share > 0.05 for share in held_up) <= 2


@pytest.mark.proof
@pytest.mark.alone
def test_a_log_that_cannot_be_written_and_a_clock_of_another_domain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if subprocess.run(
        ["unshare", "--time", "--monotonic", str(FAR), "true"], capture_output=True, check=False
    ).returncode:
        pytest.skip("this kernel has no time namespaces")
    monkeypatch.setenv("PATH", put_into_another_time("B2", tmp_path))
    make = RunPaths.make
    disks = contextlib.ExitStack()
    monkeypatch.setattr(RunPaths, "make", lambda paths: (make(paths), disks.enter_context(small_disk(paths)))[0])

    def check_all() -> None:
        with disks:
            judged = run(tmp_path / "runs")
        assert judged.verdict is FidelityVerdict.INVALID
        clocks = check(judged, "nodes with another clock")
        assert clocks.verdict is FidelityVerdict.INVALID
        assert clocks.value == 1
        assert re.match(r"B2, 9\d\d s off", clocks.detail)
        unwritten = check(judged, "logs without an end"), check(judged, "log records lost")
        assert FidelityVerdict.INVALID in {failed.verdict for failed in unwritten}
        assert check(judged, "links before load").verdict is FidelityVerdict.VALID

    one_of_three(check_all)
