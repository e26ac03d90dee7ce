"""`brokerlab exec`: a command in the surroundings of a held run's broker.

On the runtime `process` these are the broker's network namespace and its environment; with containers, all namespaces
of its container, from which a command sees the container's files and processes. The command runs as root: it is to look
around, and brokers themselves are users without rights.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from emulation.held.held_runs import HeldRun, held_run
from emulation.held.requests import BrokerPlace
from emulation.host.environment import environment_of_node
from emulation.host.processes import RUN_VARIABLE, processes_of_run
from record.errors import BadInputError, HostError

_NETWORK = ("--net",)
_CONTAINER = ("--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup")
_SHOWN_OF_TERMINAL = "TERM"
_LOOK = 0.5
"""Seconds between two looks at whether the run goes on."""


def execute(name: str | None, broker: str, command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs the command with this process's input and output; returns its exit code. Raises `UserError`s."""
    run = held_run(name)
    place, runtime = run.place(broker), run.status().runtime
    if place.namespace is None:
        raise BadInputError("exec: a simulated broker has no process to enter; `brokerlab log` shows what it does")
    target = place.namespace if place.process is None else place.process
    spaces = _CONTAINER if runtime == "container" else _NETWORK
    given = _environment(run, place, runtime) | {
        key: value for key, value in environment.items() if key == _SHOWN_OF_TERMINAL
    }
    before = signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is the command's, which does not inherit this
    try:
        process = subprocess.Popen(["nsenter", f"--target={target}", *spaces, "--", *command], env=given)
        _await_end(process, run)
        return _code(process.returncode)
    except OSError as error:
        raise HostError(f"cannot enter the namespaces of {broker} with nsenter, as root: {error}") from error
    finally:
        signal.signal(signal.SIGINT, before)


def require_command(command: Sequence[str]) -> None:
    """Raises `BadInputError` for no command at all."""
    if not command:
        raise BadInputError("exec: which command? write it after --, such as `brokerlab exec B3 -- ip address`")


def _environment(run: HeldRun, place: BrokerPlace, runtime: str) -> dict[str, str]:
    """The broker's environment, with the mark by which `clean` finds a process of the run."""
    if runtime != "container":
        return environment_of_node(run.run_id)
    process = place.namespace if place.process is None else place.process
    try:
        content = Path(f"/proc/{process}/environ").read_bytes()
    except OSError as error:
        raise HostError(f"cannot read the environment of {place.name}: {error.strerror}") from error
    found = dict(entry.decode(errors="replace").split("=", 1) for entry in content.split(b"\0") if b"=" in entry)
    return found | {RUN_VARIABLE: run.run_id}


def _await_end(process: subprocess.Popen[bytes], run: HeldRun) -> None:
    """Waits for the end of a command, which is ended with the run, so that the run leaves nothing behind."""
    while True:
        try:
            process.wait(_LOOK)
        except subprocess.TimeoutExpired:
            if run.socket.exists():
                continue
            print("the run has ended, and the command with it", file=sys.stderr)
            for left in processes_of_run(run.run_id):
                left.kill()
            process.wait()
        return


def _code(returned: int) -> int:
    """The exit code as a shell has it."""
    return 128 - returned if returned < 0 else returned
