"""Processes are found by what they are, never by name alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from emulation.host.processes import (
    RUN_VARIABLE,
    ProcessIdentity,
    await_end,
    end_child,
    environment_of,
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
        assert pids_of(f"{run}b") == [other.pid]
        assert pids_of(run) == [marked.pid], "only the marked process is found"
    finally:
        marked.kill()
        other.kill()
        marked.wait()
        other.wait()
    assert pids_of(run) == []


def test_a_process_is_found_while_it_executes_another_program() -> None:
    again = 'exec sh -c "$0" "$0"'
    process = subprocess.Popen(["sh", "-c", again, again], env={RUN_VARIABLE: "endless"})
    try:
        # Of 3,000 plain reads of /proc/PID/environ, about 25 find nothing.
        assert all(f"{RUN_VARIABLE}=endless".encode() in environment_of(process.pid) for _ in range(3000))
    finally:
        process.kill()
        process.wait()
    assert environment_of(process.pid) == []


def test_processes_without_an_environment_are_not_waited_for() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env={}) as process:
        begun = time.process_time()
        assert environment_of(process.pid) == [b""]
        assert process.stdin is not None
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not any(environment_of(process.pid))
        if Path("/proc/2/comm").read_text() == "kthreadd\n":
            assert not any(environment_of(2))
        assert time.process_time() - begun < 0.5


def test_a_chain_of_processes_that_each_end_at_once_is_found() -> None:
    """Each starts the next one and ends, so that a list of processes is outdated when it is gone through."""
    chain = 'sh -c "$0" "$0" & exit'
    run = f"run-{uuid.uuid4().hex}"
    first = subprocess.Popen(["sh", "-c", chain, chain], env={RUN_VARIABLE: run}, start_new_session=True)
    first.wait()
    try:
        assert all(pids_of(run) for _ in range(20))
    finally:
        os.killpg(first.pid, signal.SIGKILL)
    await_true(lambda: pids_of(run) == [], "all have ended")


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
