"""Files as signals between an agent and the controller, who has no other way to it than Ansible.

    python -m emulation.multi_host.signals await DIRECTORY NAME SECONDS  waits until the agent is there
    python -m emulation.multi_host.signals go DIRECTORY NAME [TEXT]  lets it go on
    python -m emulation.multi_host.signals end DIRECTORY SECONDS  asks the agent to end in order, and awaits that
    python -m emulation.multi_host.signals now  the time of this host's monotonic clock

At a place called NAME an agent writes `NAME.here` and waits for `NAME.go`. An agent that cannot go on writes why into
`failed`; one that was killed is missed by the process that `agent.json` names.
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

_LOOK_INTERVAL = 0.05
"""Seconds between two looks at a directory."""
_DIES_WITHIN = 5.0
AGENT, FAILED, FINISHED = "agent.json", "failed", "finished"


class Signals:
    """The directory, as the agent uses it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def begin(self, agent: ProcessIdentity) -> None:
        """The agent is there."""
        _write(self._directory / AGENT, msgspec.json.encode(agent).decode())

    def meet(self, name: str, within: float, wait: Callable[[float], None]) -> str:
        """Says that the agent has come to a place, and waits for the word to go on; returns what it says.

        `wait` sleeps. Raises `HostError` when the word does not come.
        """
        _write(self._directory / f"{name}.here", "")
        deadline = time.monotonic() + within
        while not (word := self._directory / f"{name}.go").exists():
            if time.monotonic() > deadline:
                raise HostError(f"no word from the controller to go on ({name}) within {within:g} s; ended by itself")
            wait(_LOOK_INTERVAL)
        return word.read_text(encoding="utf-8")

    def fail(self, message: str) -> None:
        """The agent cannot go on."""
        _write(self._directory / FAILED, message)

    def finish(self) -> None:
        """The agent is done; nothing but its directory is left."""
        _write(self._directory / FINISHED, "")


def await_signal(directory: Path, name: str, within: float) -> str:
    """Waits until the agent has come to a place, or, for `finished`, to its end.

    Raises `HostError` with the agent's own words when it failed, and with others when it was killed or takes too long.
    """
    deadline = time.monotonic() + within
    file = directory / (name if name == FINISHED else f"{name}.here")
    while not file.exists():
        agent = _agent(directory)
        gone = agent is not None and not agent.alive
        if (failed := directory / FAILED).exists():
            raise HostError(failed.read_text(encoding="utf-8"))
        if gone and not file.exists():
            raise HostError("the agent was killed; its remains are removed by `brokerlab hosts clean`")
        if time.monotonic() > deadline:
            raise HostError(f"the agent did not come so far ({name}) within {within:g} s")
        time.sleep(_LOOK_INTERVAL)
    return file.read_text(encoding="utf-8")


def end_agent(directory: Path, within: float) -> None:
    """Asks an agent that lives to end in order, and kills it when that takes too long."""
    agent = _agent(directory)
    if agent is None or not agent.alive:
        return
    agent.kill(signal.SIGTERM)
    if await_end([agent], within):
        agent.kill()
        await_end([agent], _DIES_WITHIN)


def agent_lives(directory: Path) -> bool:
    """Whether an agent has begun and not ended."""
    agent = _agent(directory)
    return agent is not None and agent.alive


def _agent(directory: Path) -> ProcessIdentity | None:
    """None while it has not begun."""
    try:
        return msgspec.json.decode((directory / AGENT).read_bytes(), type=ProcessIdentity)
    except FileNotFoundError:
        return None


def _write(file: Path, text: str) -> None:
    """Whole or not at all."""
    part = file.with_name(f".{file.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)


def main(arguments: list[str]) -> int:
    """The command that Ansible runs."""
    try:
        match arguments:
            case ["await", directory, name, seconds]:
                print(await_signal(Path(directory), name, float(seconds)))
            case ["go", directory, name, *text]:
                _write(Path(directory) / f"{name}.go", " ".join(text))
            case ["end", directory, seconds]:
                end_agent(Path(directory), float(seconds))
            case ["now"]:
                print(time.monotonic_ns())
            case _:
                print(__doc__, file=sys.stderr)
                return ExitCode.BAD_INPUT
    except HostError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
