"""Work in processes: all of it is done, failures are reported, and no process is left running."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from emulation.host.worker_processes import WorkBrokenError, WorkerProcesses
from record.errors import HostError
from record.forked_processes import WorkFailedError


def test_every_piece_is_done(tmp_path: Path) -> None:
    pieces = [tmp_path / str(number) for number in range(7)]
    done = list(WorkerProcesses(os.mkdir, 3).run(pieces))
    assert sorted(done) == pieces
    assert all(piece.is_dir() for piece in pieces)
    assert list(WorkerProcesses(os.mkdir, 3).run([])) == []


def test_no_more_than_so_many_at_a_time() -> None:
    running = WorkerProcesses(time.sleep, 2).run([0.0, 0.0, 0.0, 0.0])
    for _ in running:
        assert len(multiprocessing.active_children()) <= 2


def test_a_failure_is_told(tmp_path: Path) -> None:
    with pytest.raises(WorkBrokenError, match=r"its process ended with code 1$"):
        list(WorkerProcesses(os.mkdir, 2).run([tmp_path]))
    with pytest.raises(WorkFailedError, match="9: its process was killed by SIGKILL") as failed:
        list(WorkerProcesses(signal.raise_signal, 2).run([signal.SIGKILL.value]))
    assert failed.value.exit_code == 4


@pytest.mark.parametrize("exit_code", [2, 4])
def test_a_users_mistake_keeps_its_exit_code(exit_code: int) -> None:
    with pytest.raises(WorkFailedError) as failed:
        list(WorkerProcesses(sys.exit, 1).run([exit_code]))
    assert failed.value.exit_code == exit_code


def test_stopping_early_leaves_no_process() -> None:
    with closing(WorkerProcesses(time.sleep, 2).run([0.0, 600.0, 600.0])) as done:
        assert next(done) == 0.0
        assert multiprocessing.active_children()
    assert not multiprocessing.active_children()


def test_pieces_after_one_that_failed_are_done(tmp_path: Path) -> None:
    pieces = [tmp_path / "a", tmp_path, tmp_path / "b"]
    outcomes = dict(WorkerProcesses(os.mkdir, 1).outcomes(pieces))
    assert [str(outcomes[piece]) for piece in pieces] == ["None", f"{tmp_path}: its process ended with code 1", "None"]
    assert (tmp_path / "b").is_dir()


def test_an_interrupt_while_the_server_imports_prints_no_stack_trace(tmp_path: Path) -> None:
    slow = "import pathlib, time\npathlib.Path('importing').touch()\ntime.sleep(1)\n"
    (tmp_path / "slow.py").write_text(slow)
    program = """
import sys, time
sys.path.insert(0, ".")
from record.errors import HostError
from record.forked_processes import WorkFailedError
from emulation.host.worker_processes import WorkerProcesses
try:
    list(WorkerProcesses(time.sleep, 1, ["slow"]).run([600.0]))
except KeyboardInterrupt:
    print("interrupted")
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[3])])}
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        while not (tmp_path / "importing").exists():
            assert running.poll() is None
            time.sleep(0.01)
        os.killpg(running.pid, signal.SIGINT)
        assert running.communicate(timeout=60)[0] == "interrupted\n"


def test_a_server_that_is_killed_while_it_forks_is_an_error_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at other times it is started again."""

    def killed(_process: object) -> None:
        raise EOFError("unexpected EOF")

    monkeypatch.setattr(multiprocessing.get_context("forkserver").Process, "start", killed)
    with pytest.raises(HostError, match="was ended from outside; was memory short"):
        list(WorkerProcesses(time.sleep, 2).run([0.0]))
