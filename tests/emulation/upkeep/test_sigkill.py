"""The emulator is killed at any moment: cleaning leaves the host as it was, and touches nothing else.

Several runs are in progress at any time, so that every clean-up also finds runs that it must leave alone.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from emulation.host.docker_host import docker_client
from emulation.host.processes import ProcessIdentity, await_end, identify
from emulation.host.registry import live_runs
from emulation.upkeep.clean import clean
from record.scratch import remove_stale_scratch
from tests.emulation.host_state import host_state
from tests.studies.campaign.made_up import write_campaign
from tests.waiting import await_true

ROOT = Path(__file__).resolve().parents[3]
LINE = ROOT / "scenarios" / "line-3.yaml"
KILLS = 12
AT_ONCE = 5
EARLIEST, LATEST = 0.5, 9.5
"""Seconds after its start between which a run is killed: from reading its scenario to analysing its logs."""
SPARED = 2
"""Number of runs that begin together and are not killed: nothing that happens beside them disturbs them."""
QUICK = ["timeline.join=1s", "timeline.run=4s", "timeline.drain=1s"]
FOREIGN = "foreign-0"
PATIENCE = 240.0
RIGHT = "0 lost, 0 duplicate, 0 spurious"


@dataclass
class Emulator:
    """A run in progress, and the time at which it is killed."""

    process: subprocess.Popen[bytes]
    out: Path
    kill_at: float

    @property
    def run_id(self) -> str | None:
        found = sorted(self.out.iterdir()) if self.out.is_dir() else []
        return found[0].name if found else None

    @property
    def last_words(self) -> str:
        """The last line of its log before it was killed."""
        logs = list(self.out.glob("*/emulator.log"))
        return logs[0].read_text().splitlines()[-1] if logs else "it had made nothing yet"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def start(out: Path, lifetime: float, temporary: Path) -> Emulator:
    settings = [part for setting in QUICK for part in ("--set", setting)]
    options = ["--out", str(out), "--no-spark", "--no-report", *settings]
    command = [sys.executable, "-m", "command_line", "emulate", str(LINE), *options]
    with out.with_suffix(".out").open("wb") as written:
        environment = os.environ | {"TMPDIR": str(temporary)}
        process = subprocess.Popen(command, cwd=ROOT, stdout=written, stderr=subprocess.STDOUT, env=environment)
    return Emulator(process, out, time.monotonic() + lifetime)


@pytest.fixture
def foreign() -> Iterator[list[str]]:
    """A container, an interface and a namespace that no run made, and what they are called in the host's state."""
    made = [
        (["docker", "create", "--name", FOREIGN, "brokerlab-broker:latest"], ["docker", "rm", "-f", FOREIGN]),
        (["ip", "tuntap", "add", FOREIGN, "mode", "tap"], ["ip", "link", "delete", FOREIGN]),
        (["ip", "netns", "add", FOREIGN], ["ip", "netns", "delete", FOREIGN]),
    ]
    done = []
    try:
        for make, remove in made:
            if subprocess.run(make, capture_output=True, check=False).returncode == 0:
                done.append(remove)
        yield [f"container {FOREIGN}", f"interface {FOREIGN}", f"namespace {FOREIGN}"]
    finally:
        for remove in done:
            subprocess.run(remove, capture_output=True, check=True)


def moments() -> list[float]:
    """Lifetimes of runs, the last one first: those of the killed runs are spread evenly, in a random order."""
    step = (LATEST - EARLIEST) / (KILLS - 1)
    killed = [EARLIEST + number * step for number in range(KILLS)]
    random.Random(2008).shuffle(killed)
    return killed + [math.inf] * SPARED


def lasting_state() -> frozenset[str]:
    """Without what others on this host, tests of other groups among them, have there for an instant only."""
    first = host_state()
    time.sleep(1.0)
    return first & host_state()


@pytest.mark.proof
@pytest.mark.container
def test_killed_at_any_moment_a_run_leaves_nothing_that_cleaning_does_not_remove_and_others_go_on(
    tmp_path: Path, foreign: list[str]
) -> None:
    lifetimes = moments()
    before = lasting_state()
    assert [name for name in foreign if not any(line.startswith(name) for line in before)] == []
    client = docker_client()
    under_way: list[Emulator] = []
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    try:
        for number in range(KILLS):
            while len(under_way) < AT_ONCE and lifetimes:
                under_way.append(start(tmp_path / f"{number}-{len(under_way)}", lifetimes.pop(), temporary))
            under_way.sort(key=lambda emulator: emulator.kill_at)
            victim = under_way.pop(0)
            time.sleep(max(0.0, victim.kill_at - time.monotonic()))
            victim.kill()
            survivors = {emulator.run_id for emulator in under_way} & live_runs()
            cleaned = clean(client)
            assert cleaned.failures == [], victim.last_words
            remove_stale_scratch(temporary)
            assert len(list(temporary.iterdir())) <= len(under_way), victim.last_words
            assert survivors.isdisjoint(cleaned.runs)
            assert [line for line in host_state() if victim.run_id and victim.run_id in line] == [], victim.last_words
        for spared in under_way:
            # Several at once may be more than the host bears: 3 (INVALID), or 1 where subscriptions settled so late
            # that nothing was owed any more. What they deliver is right all the same.
            code, said = spared.process.wait(), spared.out.with_suffix(".out").read_text()
            assert code in {0, 1, 3}, said
            assert RIGHT in said, said
            assert [line for line in host_state() if spared.run_id and spared.run_id in line] == []
    finally:
        for emulator in under_way:
            emulator.kill()
        clean(client)
        client.close()
    remove_stale_scratch(temporary)
    assert list(temporary.iterdir()) == []
    own = {run.name for run in tmp_path.glob("*/*")}
    after = lasting_state()
    assert [line for line in after - before if not line.startswith("process") or any(run in line for run in own)] == []
    assert [line for line in before - after if not line.startswith("process")] == []


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A temporary directory for commands. Its path is short, because sockets are below it."""
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


def killed_once_it_has_made(pattern: str, temporary: Path, *arguments: object) -> None:
    """Runs a command, kills it when it has made a file below its temporary directory and started a process, and cleans
    at once, while its descendants still run. These end by themselves."""
    command = [sys.executable, "-m", "command_line", *map(str, arguments)]
    environment = os.environ | {"TMPDIR": str(temporary)}
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    started: list[ProcessIdentity] = []
    try:
        await_true(
            lambda: bool(list(temporary.glob(pattern)) and descendants(process.pid)) or process.poll() is not None,
            "the file is made",
            PATIENCE,
        )
        assert process.poll() is None
        process.send_signal(signal.SIGSTOP)  # so that it starts no more
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        started = descendants(process.pid)
    finally:
        process.kill()
        process.wait()
    remove_stale_scratch(temporary)
    assert await_end(started, PATIENCE) == []


def descendants(pid: int) -> list[ProcessIdentity]:
    """Processes that a process has started, those that these have started, and so on."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(entry.name))
    found, generation = [], children.get(pid, [])
    while generation:
        found += generation
        generation = [grandchild for child in generation for grandchild in children.get(child, [])]
    return [identity for child in found if (identity := identify(child)) is not None]


@pytest.mark.proof
def test_temporary_files_of_a_killed_campaign_and_its_workers_are_removed(tmp_path: Path, temporary: Path) -> None:
    file = write_campaign(tmp_path)
    killed_once_it_has_made("brokerlab-*/pymp-*", temporary, "campaign", file, "--out", tmp_path / "out", "--jobs", 2)
    remove_stale_scratch(temporary)
    assert list(temporary.iterdir()) == []


@pytest.mark.proof
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_temporary_files_of_a_killed_analysis_and_its_spark_are_removed(tmp_path: Path, temporary: Path) -> None:
    scenario = [str(LINE), "--runtime", "simulated", "--no-spark", "--no-report", "--out", str(tmp_path)]
    simulate = [sys.executable, "-m", "command_line", "emulate", *scenario]
    subprocess.run(simulate, cwd=ROOT, check=True, capture_output=True)
    [run] = [path.parent for path in tmp_path.glob("*/manifest.json")]
    killed_once_it_has_made("brokerlab-*/brokerlab-spark-*/spark.log", temporary, "analyze", run)
    remove_stale_scratch(temporary)
    assert list(temporary.iterdir()) == []
