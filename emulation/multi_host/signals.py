"""Files as signals between an agent and its controller, which reaches it through Ansible only.

    python -m emulation.multi_host.signals DIRECTORY NAME SECONDS [PASSED]

The command waits until the agent has reached the stage NAME; before that it lets the agent go on from the stage PASSED.
An agent that has reached a stage writes `NAME.here`, and one that waits for its controller there goes on when `NAME.go`
exists. An agent that fails writes the reason and its exit code into `failed.json`, and the command ends with that code.
An agent that was killed is noticed because the process that `agent.json` identifies has ended.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from emulation.host.processes import ProcessIdentity, await_end
from record.errors import HostError
from record.exit_codes import ExitCode
from record.files import replace_file

_POLL_INTERVAL = 0.05
"""Seconds between two looks at a directory."""
_KILLED_WITHIN = 5.0
"""Seconds in which a killed agent ends."""
SIGNALS = "signals"
"""The directory of the files, beside `share.json`."""
AGENT, FAILED, FINISHED = "agent.json", "failed.json", "finished"


class AgentFailure(msgspec.Struct, frozen=True):
    """The reason why an agent failed, and its exit code."""

    reason: str
    exit_code: int


class AgentError(HostError):
    """An agent that failed, was killed or takes too long."""

    def __init__(self, reason: str, exit_code: int = ExitCode.HOST) -> None:
        super().__init__(reason)
        self.exit_code = exit_code


class Signals:
    """The agent's side of the directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def begin(self, agent: ProcessIdentity) -> None:
        """Notes the agent's process."""
        replace_file(self._directory / AGENT, msgspec.json.encode(agent))

    def reach(self, name: str) -> None:
        """Notes that the agent has reached a stage."""
        replace_file(self._directory / f"{name}.here", b"")

    def wait_at(self, name: str, within: float, wait: Callable[[float], None]) -> None:
        """Notes that the agent has reached a stage, and waits for the signal to go on.

        `wait` sleeps. Raises `HostError` when the signal does not come within `within` seconds.
        """
        self.reach(name)
        deadline = time.monotonic() + within
        while not (self._directory / f"{name}.go").exists():
            if time.monotonic() > deadline:
                raise HostError(f"no signal from the controller to go on ({name}) within {within:g} s; ended by itself")
            wait(_POLL_INTERVAL)

    def fail(self, reason: str, exit_code: int) -> None:
        """Notes that the agent cannot go on, and why."""
        failure = AgentFailure(reason, exit_code)
        replace_file(self._directory / FAILED, msgspec.json.encode(failure))

    def finish(self) -> None:
        """Notes that the agent is done, and that nothing but its directory is left."""
        replace_file(self._directory / FINISHED, b"")


def release(directory: Path, name: str) -> None:
    """Lets the agent go on from a stage."""
    replace_file(directory / f"{name}.go", b"")


def await_signal(directory: Path, name: str, within: float) -> None:
    """Waits until the agent has reached a stage, or, for `finished`, its end.

    Raises `AgentError` with the agent's own message and exit code if it failed, and if it was killed or takes too long.
    """
    deadline = time.monotonic() + within
    file = directory / (name if name == FINISHED else f"{name}.here")
    while not file.exists():
        agent = _agent(directory)
        gone = agent is not None and not agent.alive
        if (failed := directory / FAILED).exists():
            failure = msgspec.json.decode(failed.read_bytes(), type=AgentFailure)
            raise AgentError(failure.reason, failure.exit_code)
        if gone and not file.exists():
            raise AgentError("the agent was killed; its remains are removed by `brokerlab hosts clean`")
        if time.monotonic() > deadline:
            raise AgentError(f"the agent did not reach the stage {name} within {within:g} s")
        time.sleep(_POLL_INTERVAL)


def end_agent(directory: Path, within: float) -> None:
    """Asks a running agent to end in order, and kills it when that takes too long."""
    agent = _agent(directory)
    if agent is None or not agent.alive:
        return
    agent.kill(signal.SIGTERM)
    if await_end([agent], within):
        agent.kill()
        await_end([agent], _KILLED_WITHIN)


def agent_runs(directory: Path) -> bool:
    """True if an agent has begun and not ended."""
    agent = _agent(directory)
    return agent is not None and agent.alive


def _agent(directory: Path) -> ProcessIdentity | None:
    """The agent's process; None if it has not begun."""
    try:
        return msgspec.json.decode((directory / AGENT).read_bytes(), type=ProcessIdentity)
    except FileNotFoundError:
        return None


def main(directory: Path, name: str, within: float, *passed: str) -> int:
    """The command that Ansible runs."""
    for stage in passed:
        release(directory, stage)
    try:
        await_signal(directory, name, within)
    except AgentError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), *sys.argv[4:]))
