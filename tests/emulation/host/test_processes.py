"""Processes are found by what they are, never by name alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid

import pytest

from emulation.host.processes import (
    RUN_VARIABLE,
    ProcessIdentity,
    await_end,
    end_child,
    identify,
    processes_of_run,
    start_time,
)
from tests.waiting import await_true


def test_a_zombie_is_not_alive() -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert start_time(process.pid) is None
    process.wait()


def pids_of(run: str) -> list[int]:
    return [process.pid for process in processes_of_run(run)]


def test_processes_of_a_run_are_found_by_their_environment_and_ended() -> None:
    run = f"run-{uuid.uuid4().hex}"
    marked = subprocess.Popen(["sleep", "60"], env={RUN_VARIABLE: run})
    other = subprocess.Popen(["sleep", "60"], env={RUN_VARIABLE: f"{run}b"})
    try:
        # Popen returns when the kernel has closed the files of the old program, a moment before it shows the
        # environment of the new one.
        await_true(lambda: pids_of(f"{run}b") == [other.pid], "the environment can be read")
        await_true(lambda: pids_of(run) == [marked.pid], "only the marked process is found")
    finally:
        marked.kill()
        other.kill()
        marked.wait()
        other.wait()
    assert pids_of(run) == []


def test_a_reused_pid_is_never_signalled() -> None:
    process = subprocess.Popen(["sleep", "60"])
    identity = identify(process.pid)
    assert identity is not None
    try:
        ProcessIdentity(process.pid, identity.started - 1).kill()
        assert process.poll() is None
        identity.kill()
        assert process.wait() == -9
    finally:
        process.kill()
        process.wait()


def test_waiting_names_those_that_do_not_end() -> None:
    own = identify(os.getpid())
    assert own is not None
    assert await_end([own, ProcessIdentity(own.pid, own.started + 1)], within=0.0) == [own]


@pytest.mark.parametrize(
    "program, code",
    [
        ("import sys; sys.stdin.read(); sys.exit(3)", 3),
        ("import sys, threading; threading.Event().wait()", -signal.SIGKILL),
        ("raise SystemExit(4)", 4),
    ],
    ids=["ends with its input", "runs on", "has ended"],
)
def test_a_child_is_told_to_end_and_killed_if_it_runs_on(program: str, code: int) -> None:
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)
    assert child.stdin is not None
    child.stdin.write(b"not yet written")
    end_child(child, within=0.5 if code < 0 else 60.0)
    assert child.returncode == code
