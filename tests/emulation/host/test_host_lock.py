"""A host runs one cell of a campaign at a time, and remembers none that is gone."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulation.host.host_lock import HostLockHolder, hold_host_lock
from emulation.host.processes import ProcessIdentity
from emulation.upkeep.clean import clean
from record.errors import HostError

ROOT = Path(__file__).resolve().parents[3]
_WITHIN = 60

HOLD = """
import os, signal, sys
from pathlib import Path
from emulation.host.host_lock import HostLockHolder, hold_host_lock
from emulation.host.processes import identify
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
root, campaign, command = sys.argv[1:]
holder = HostLockHolder(campaign=campaign, command=command, cell="kill-1", process=identify(os.getpid()))
with hold_host_lock(holder, Path(root)):
    print("mine", flush=True)
    signal.sigwait({signal.SIGTERM})
"""


def holder(campaign: str = "c", command: str = "1") -> HostLockHolder:
    return HostLockHolder(campaign=campaign, command=command, cell="kill-2", process=ProcessIdentity(1, 1))


@contextmanager
def held(root: Path, campaign: str = "c", command: str = "1") -> Iterator[subprocess.Popen[bytes]]:
    """Another process has the host until it gets SIGTERM."""
    arguments = [sys.executable, "-c", HOLD, str(root), campaign, command]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"mine\n"
        yield process
    finally:
        process.kill()
        process.wait()


def test_another_campaigns_cell_is_left_alone(tmp_path: Path) -> None:
    refused = pytest.raises(HostError, match=r"this host runs the cell kill-1 of the campaign other \(process \d+\)")
    with held(tmp_path, "other") as process:
        with refused, hold_host_lock(holder("mine"), tmp_path):
            pytest.fail("two at once")
        assert process.poll() is None


def test_a_cell_that_was_left_behind_is_ended(tmp_path: Path) -> None:
    """A cell of the same campaign whose command was killed: the command that resumes the campaign does not wait for
    it."""
    with held(tmp_path, command="1") as process:
        with hold_host_lock(holder(command="2"), tmp_path):
            assert process.wait(_WITHIN) == 0
        assert not list(tmp_path.iterdir())


def test_a_host_that_an_inventory_has_twice_runs_one_cell_after_another(tmp_path: Path) -> None:
    taken = threading.Event()

    def take() -> None:
        with hold_host_lock(holder(), tmp_path):
            taken.set()

    with held(tmp_path) as process:
        thread = threading.Thread(target=take)
        thread.start()
        assert not taken.wait(1.0)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert taken.wait(_WITHIN)
        thread.join()


def test_a_lock_dies_with_its_process(tmp_path: Path) -> None:
    with held(tmp_path, "other") as process:
        process.kill()
        process.wait()
        with hold_host_lock(holder("mine"), tmp_path):
            pass


def test_cleaning_removes_the_note_of_a_killed_cell_and_nothing_else(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("system")))  # no scratch of other commands
    (tmp_path / "dockerd.pid").write_text("1")
    with held(tmp_path) as process:
        assert not clean(None, tmp_path).anything
        assert len(list(tmp_path.iterdir())) == 2, "the note of a cell that lives stays"
        process.kill()
        process.wait()
    cleaned = clean(None, tmp_path)
    assert str(cleaned) == "removed the note that the cell kill-1, which was killed, held the lock of this host"
    assert [entry.name for entry in tmp_path.iterdir()] == ["dockerd.pid"]
    assert str(clean(None, tmp_path)) == "nothing was left by earlier runs"


def test_a_cell_that_cleans_before_it_begins_keeps_its_own_note(tmp_path: Path) -> None:
    with hold_host_lock(holder(), tmp_path):
        assert clean(None, tmp_path).stale_holder is None
        assert len(list(tmp_path.iterdir())) == 1
    assert not list(tmp_path.iterdir())


def test_a_note_that_was_cut_off_is_removed_too(tmp_path: Path) -> None:
    with hold_host_lock(holder(), tmp_path):
        (note,) = tmp_path.iterdir()
    note.write_bytes(b'{"campaign"')
    assert clean(None, tmp_path).stale_holder == "a cell"
    assert not list(tmp_path.iterdir())
