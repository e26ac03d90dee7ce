"""A run is alive as long as the very process that registered it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest

from emulation.host.processes import ProcessIdentity, boot_id, identify
from emulation.host.registry import Owner, live_runs, register, runs, unregister
from record.errors import HostError


def write_owner(root: Path, run_id: str, owner: Owner) -> None:
    (root / run_id).mkdir(parents=True)
    (root / run_id / "owner.json").write_bytes(msgspec.json.encode(owner))


def test_a_registered_run_is_alive_until_unregistered(tmp_path: Path) -> None:
    directory = register("r1", tmp_path / "journal.jsonl", tmp_path)
    assert directory.is_dir()
    assert live_runs(tmp_path) == {"r1"}
    unregister("r1", tmp_path)
    assert live_runs(tmp_path) == frozenset()
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_taken_is_a_clear_error(tmp_path: Path) -> None:
    register("r1", tmp_path / "journal.jsonl", tmp_path)
    with pytest.raises(HostError, match="r1"):
        register("r1", tmp_path / "journal.jsonl", tmp_path)


def test_a_run_whose_process_ended_is_dead(tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "60"])
    identity = identify(process.pid)
    assert identity is not None
    write_owner(tmp_path, "r1", Owner("r1", identity, boot_id(), "journal"))
    assert live_runs(tmp_path) == {"r1"}
    process.kill()
    process.wait()
    assert live_runs(tmp_path) == frozenset()
    assert [run_id for run_id, _ in runs(tmp_path)] == ["r1"]


def test_another_process_with_the_same_pid_does_not_keep_a_run_alive(tmp_path: Path) -> None:
    init = identify(1)
    assert init is not None
    write_owner(tmp_path, "r1", Owner("r1", ProcessIdentity(1, init.started + 1), boot_id(), "journal"))
    assert live_runs(tmp_path) == frozenset()


def test_a_run_of_an_earlier_boot_is_dead(tmp_path: Path) -> None:
    init = identify(1)
    assert init is not None
    write_owner(tmp_path, "r1", Owner("r1", init, "another boot", "journal"))
    assert live_runs(tmp_path) == frozenset()


def test_a_directory_without_a_readable_owner_is_a_dead_run(tmp_path: Path) -> None:
    (tmp_path / "r1").mkdir()
    (tmp_path / "r1" / "owner.json").write_bytes(b"{")
    assert list(runs(tmp_path)) == [("r1", None)]
