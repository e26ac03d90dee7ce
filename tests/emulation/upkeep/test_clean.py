"""Cleaning removes what dead runs left, and nothing else."""

from __future__ import annotations

import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker.errors
import msgspec
import pytest
import requests

from emulation.host.journal import Journal, Resource
from emulation.host.processes import RUN_VARIABLE, ProcessIdentity, boot_id, identify
from emulation.host.registry import ROOT, Owner, register
from emulation.upkeep import clean as upkeep
from emulation.upkeep.clean import RUN_LABEL, clean, start_cleaning_after
from record.file_lock import take_lock
from record.scratch import LOCK, PREFIX


@pytest.fixture
def children() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def dead_run(root: Path, run_id: str, journal: Journal) -> None:
    """Registers a run whose owner's start time is not that of the process that has its pid."""
    own = identify(1)
    assert own is not None
    owner = Owner(run_id, ProcessIdentity(1, own.started + 1), boot_id(), str(journal.path))
    (root / run_id).mkdir(parents=True)
    (root / run_id / "owner.json").write_bytes(msgspec.json.encode(owner))


class FakeDocker:
    """Stands in for the daemon: containers by name, with their labels."""

    def __init__(self, containers: dict[str, dict[str, str]]) -> None:
        self.containers_left = containers
        self.api = self

    def containers(self, all: bool, filters: dict[str, str]) -> list[dict[str, Any]]:
        assert all
        return [
            {"Id": name, "Names": [f"/{name}"], "Labels": labels}
            for name, labels in self.containers_left.items()
            if filters["label"] in labels
        ]

    def remove_container(self, container: str, force: bool, v: bool) -> None:
        del self.containers_left[container]


class BusyDocker(FakeDocker):
    """Somebody else removes the same containers; those called `stuck` never go."""

    def containers(self, all: bool, filters: dict[str, str]) -> list[dict[str, Any]]:
        if "id" not in filters:
            return super().containers(all, filters)
        return [{"Id": filters["id"]}] if filters["id"] in self.containers_left else []

    def remove_container(self, container: str, force: bool, v: bool) -> None:
        if container != "stuck":
            del self.containers_left[container]
        response = requests.Response()
        response.status_code = 409
        raise docker.errors.APIError("conflict", response, explanation=f"{container} is being removed")


def test_containers_that_somebody_else_removes_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulation.upkeep.clean._PATIENCE", 0.2)
    host = BusyDocker({name: {RUN_LABEL: "dead"} for name in ("going", "stuck")})
    cleaned = clean(host, tmp_path)  # type: ignore[arg-type]
    assert cleaned.containers == ["going"]
    assert cleaned.failures == ["container stuck: stuck is being removed"]


def test_processes_of_a_dead_run_are_ended_and_its_directory_removed(
    tmp_path: Path, children: list[subprocess.Popen[bytes]]
) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    for _ in range(2):
        children.append(subprocess.Popen(["sleep", "60"]))
    journaled, foreign = children
    children.append(marked := subprocess.Popen(["sleep", "60"], env={RUN_VARIABLE: "dead"}))
    journal.creating(Resource.PROCESS, "broker B1")
    journal.started("broker B1", journaled.pid)
    dead_run(tmp_path / "run", "dead", journal)

    cleaned = clean(None, tmp_path / "run")

    assert sorted(cleaned.processes) == sorted([journaled.pid, marked.pid])
    assert journaled.wait() == -9
    assert marked.wait() == -9
    assert foreign.poll() is None
    assert not (tmp_path / "run" / "dead").exists()
    assert str(cleaned) == "removed what 1 dead run left: 2 processes"


def test_processes_of_a_killed_command_are_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: list[subprocess.Popen[bytes]]
) -> None:
    """A worker that still imports does not know yet that its command was killed; here it never learns of it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed, running = tmp_path / f"{PREFIX}killed", tmp_path / f"{PREFIX}running"
    for scratch in (killed, running):
        scratch.mkdir()
        (scratch / LOCK).touch()
        children.append(subprocess.Popen(["sleep", "60"], env={"TMPDIR": str(scratch)}))
    worker, other = children
    with (running / LOCK).open() as lock:
        assert take_lock(lock.fileno())
        cleaned = clean(None, tmp_path / "run")
    assert cleaned.workers == [worker.pid]
    assert worker.wait() == -9
    assert other.poll() is None
    assert str(cleaned) == "removed 1 temporary directory of killed commands; ended 1 process of killed commands"


@pytest.mark.parametrize("ends", [True, False])
def test_a_program_of_a_killed_command_is_given_time_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    """Java ends a second or two after its command was killed; the lock of its directory tells."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed = tmp_path / f"{PREFIX}killed"
    program = killed / f"{PREFIX}spark-1"
    program.mkdir(parents=True)
    (killed / LOCK).touch()
    lock = (program / LOCK).open("w")
    assert take_lock(lock.fileno())
    monkeypatch.setattr(upkeep, "_PATIENCE", 60.0 if ends else 0.0)
    monkeypatch.setattr(upkeep, "time", SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: lock.close()))
    cleaned = clean(None, tmp_path / "run")
    if ends:
        assert (cleaned.scratch, cleaned.failures) == ([killed], [])
    else:
        assert cleaned.failures == [f"{program}: a program of a killed command does not end"]
    lock.close()


def test_directories_of_a_dead_run_are_removed_where_they_are_its_own(tmp_path: Path) -> None:
    run, other = tmp_path / "runs" / "dead", tmp_path / "other"
    own = run / "stored" / "B1"
    own.mkdir(parents=True)
    other.mkdir()
    (run / "link").symlink_to(other)
    journal = Journal(run / "journal.jsonl")
    for directory in (run / "stored", other, run, run / "link", run / ".." / ".." / "other"):
        journal.creating(Resource.DIRECTORY, str(directory))
    dead_run(tmp_path / "run", "dead", journal)
    clean(None, tmp_path / "run")
    assert not own.exists()
    assert other.exists()
    assert journal.path.exists()


def test_a_live_run_is_not_touched(tmp_path: Path, children: list[subprocess.Popen[bytes]]) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    children.append(process := subprocess.Popen(["sleep", "60"], env={RUN_VARIABLE: "live"}))
    journal.creating(Resource.PROCESS, "broker B1")
    journal.started("broker B1", process.pid)
    register("live", journal.path, tmp_path / "run")
    docker = FakeDocker({"c1": {"brokerlab.run": "live"}})

    cleaned = clean(docker, tmp_path / "run")  # type: ignore[arg-type]

    assert process.poll() is None
    assert list(docker.containers_left) == ["c1"]
    assert (tmp_path / "run" / "live").is_dir()
    assert str(cleaned) == "nothing was left by earlier runs"


def test_only_containers_that_carry_a_dead_runs_label_are_removed(tmp_path: Path) -> None:
    docker = FakeDocker(
        {
            "brokerlab-dead-B1": {"brokerlab": "1", "brokerlab.run": "dead"},
            "smoke": {"brokerlab": "1"},
            "brokerlab-looks-alike": {},
        }
    )
    cleaned = clean(docker, tmp_path / "run")  # type: ignore[arg-type]
    assert cleaned.containers == ["brokerlab-dead-B1"]
    assert set(docker.containers_left) == {"smoke", "brokerlab-looks-alike"}
    assert cleaned.runs == ["dead"]


class SlowDocker(FakeDocker):
    """Containers that were requested exist at the third look."""

    def __init__(self, requested: dict[str, dict[str, str]]) -> None:
        super().__init__({})
        self.requested = requested
        self.looks = 0

    def containers(self, all: bool, filters: dict[str, str]) -> list[dict[str, Any]]:
        self.looks += 1
        if self.looks == 3:
            self.containers_left |= self.requested
        return super().containers(all, filters)


def test_containers_that_docker_still_makes_for_a_dead_run_are_awaited(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.creating(Resource.CONTAINER, "brokerlab-dead-B1")
    dead_run(tmp_path / "run", "dead", journal)
    docker = SlowDocker({"brokerlab-dead-B1": {RUN_LABEL: "dead"}})
    assert clean(docker, tmp_path / "run").containers == ["brokerlab-dead-B1"]  # type: ignore[arg-type]
    assert docker.containers_left == {}


def test_containers_that_were_requested_long_ago_are_not_awaited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emulation.upkeep.clean._PATIENCE", 0.0)
    journal = Journal(tmp_path / "journal.jsonl")
    journal.creating(Resource.CONTAINER, "brokerlab-dead-B1")
    dead_run(tmp_path / "run", "dead", journal)
    docker = SlowDocker({})
    assert clean(docker, tmp_path / "run").runs == ["dead"]  # type: ignore[arg-type]
    assert docker.looks == 1


def test_a_journal_that_is_gone_does_not_stop_the_cleaning(
    tmp_path: Path, children: list[subprocess.Popen[bytes]]
) -> None:
    children.append(marked := subprocess.Popen(["sleep", "60"], env={RUN_VARIABLE: "dead"}))
    journal = Journal(tmp_path / "journal.jsonl")
    dead_run(tmp_path / "run", "dead", journal)
    journal.path.unlink()
    clean(None, tmp_path / "run")
    assert marked.wait() == -9


def test_an_interface_without_the_runs_prefix_is_not_deleted(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.creating(Resource.INTERFACE, "lo")
    dead_run(tmp_path / "run", "dead", journal)
    assert clean(None, tmp_path / "run").interfaces == []
    assert Path("/sys/class/net/lo").exists()


def test_a_run_that_begins_during_a_clean_up_is_not_touched(tmp_path: Path) -> None:
    class Beginning(FakeDocker):
        """While containers are listed, a run registers and makes one."""

        def containers(self, all: bool, filters: dict[str, str]) -> list[dict[str, Any]]:
            register("late", tmp_path / "journal.jsonl", tmp_path / "run")
            self.containers_left["late-B1"] = {filters["label"]: "late"}
            return super().containers(all, filters)

    docker: Any = Beginning({})
    cleaned = clean(docker, tmp_path / "run")

    assert cleaned.containers == cleaned.runs == []
    assert "late-B1" in docker.containers_left
    assert (tmp_path / "run" / "late").is_dir()


@pytest.mark.host
def test_a_process_of_a_run_has_the_host_cleaned_after_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: list[subprocess.Popen[bytes]]
) -> None:
    """The process that cleans is none of the run's, although it is started with the environment of one."""
    run_id = f"ending-{uuid.uuid4().hex[:8]}"
    monkeypatch.setenv(RUN_VARIABLE, run_id)
    children.append(owner := subprocess.Popen(["sleep", "600"]))
    identity = identify(owner.pid)
    assert identity is not None
    registered = ROOT / run_id
    registered.mkdir(parents=True)
    journal = tmp_path / "journal.jsonl"
    (registered / "owner.json").write_bytes(msgspec.json.encode(Owner(run_id, identity, boot_id(), str(journal))))
    start_cleaning_after(identity)
    owner.kill()
    owner.wait()
    deadline = time.monotonic() + 60
    while registered.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
