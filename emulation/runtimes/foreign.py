"""Start of brokers that are not brokerlab's: their environment, and the end of whatever they have started."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from emulation.host.environment import environment_of_node
from emulation.host.processes import processes_started_with
from emulation.live_overlay.configuration import BrokerFiles
from emulation.runtimes.deployed_systems import ADAPTER_COMMAND, require_system
from emulation.runtimes.interface import Ending, ForeignProgram
from record.contract import CONTRACT, LOGS_LEVEL
from record.errors import HostError
from topology.link_properties import BrokerId

_CONTRACT_VARIABLE = "BROKERLAB_CONTRACT"
_BROKER_VARIABLE = "BROKERLAB_BROKER"
"""Variable that the processes of one broker carry, so that none of them outlives it."""
_OF_PYTHON = ("PYTHON", "VIRTUAL_ENV", "COVERAGE_", "COV_CORE_")
"""Beginnings of variables by which brokerlab's own Python finds its code."""
_SWEEPS = 20
"""Looks for processes of a broker that has ended, at most: one that forks without end makes some meanwhile."""

_REMEDIES: Mapping[str, str] = {
    "read-only file system": (
        "its root is read-only: let it write to the directory of `stored`, or to /tmp with `brokers.scratch`"
    ),
    "permission denied": "it runs as a user without rights: let every user read its files, and see P-2 of the contract",
    "exec format error": "its program is for another processor, or is a script without a first line `#!`",
}
"""Remedies for what a broker's last words contain."""


def environment_of_contract(foreign: ForeignProgram) -> dict[str, str]:
    """The variables that a foreign broker finds anywhere."""
    return {**foreign.environment, _CONTRACT_VARIABLE: str(CONTRACT)}


def environment_of_process(run_id: str, broker: BrokerId, foreign: ForeignProgram) -> dict[str, str]:
    """The environment of a foreign broker that is a process of this host."""
    # An adapter is brokerlab's own code.
    kept = environment_without_ours(run_id) if foreign.system is None else environment_of_node(run_id)
    return {**kept, **environment_of_contract(foreign), _BROKER_VARIABLE: f"{run_id}/{broker}"}


def environment_without_ours(run_id: str) -> dict[str, str]:
    """The environment of a node of a run, without what leads to brokerlab's own Python code."""
    found = environment_of_node(run_id)
    return {name: value for name, value in found.items() if not name.startswith(_OF_PYTHON)}


def require_program(command: Sequence[str], field: str) -> None:
    """Raises `HostError`, which names the field, where there is no program of that name on this host, or only one that
    cannot be executed."""
    program = command[0]
    if shutil.which(program) is None:
        missing = "cannot be executed" if Path(program).exists() else "is not on this host"
        raise HostError(f"{field}: the program {program} {missing}")


def program_of(foreign: ForeignProgram) -> Sequence[str]:
    """The command of a broker on this host, less the path of its configuration. Raises `HostError`."""
    if foreign.system is not None:
        require_system(foreign.system)
        return ADAPTER_COMMAND
    require_program(foreign.command, "brokers.command")
    return foreign.command


def keeps_log(foreign: ForeignProgram | None) -> bool:
    """True of brokerlab's brokers, of others that log by the contract, and of adapters, which log what they drop."""
    return foreign is None or foreign.level >= LOGS_LEVEL or foreign.system is not None


def files_by_level(
    files: Callable[[BrokerId], BrokerFiles], foreign: ForeignProgram | None
) -> Callable[[BrokerId], BrokerFiles]:
    """Files of brokers, without logs where their level keeps none, lest what stands in one counts as known."""
    if keeps_log(foreign):
        return files
    return lambda broker: replace(files(broker), log="")


def end_all_of(run_id: str, broker: BrokerId, leader: int) -> None:
    """Kills the processes that a foreign broker has started and that outlived it; `leader` was its first."""
    end_marked(_BROKER_VARIABLE, f"{run_id}/{broker}", leader)


def end_marked(variable: str, value: str, leader: int) -> None:
    """Kills the group of a process, and all that carry its mark, the value of a variable of their environment."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    for _ in range(_SWEEPS):
        left = list(processes_started_with(variable, value))
        if not left:
            return
        for process in left:
            process.kill()


def remedy_for(ending: Ending) -> str:
    """The remedy for the end of a foreign broker by itself; empty where none is known."""
    words = " ".join(ending.last_lines[-1:]).lower()
    return next((remedy for sign, remedy in _REMEDIES.items() if sign in words), "")


def crowded(pids: Mapping[BrokerId, int], limits: Mapping[BrokerId, int]) -> Iterable[str]:
    """Brokers whose user has as many threads as it may have, so that they can start no more."""
    threads = dict.fromkeys(
        {user for pid in pids.values() if (user := _user_of(Path("/proc", str(pid)))) is not None}, 0
    )
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (user := _user_of(entry)) in threads:
            assert user is not None
            with contextlib.suppress(OSError):
                threads[user] += sum(1 for _ in (entry / "task").iterdir())
    for broker, pid in pids.items():
        user, most = _user_of(Path("/proc", str(pid))), limits[broker]
        if user is not None and threads.get(user, 0) >= most:
            yield f"broker {broker} has as many processes as it may have, {most} (brokers.processes)"


def _user_of(entry: Path) -> int | None:
    try:
        return entry.stat().st_uid
    except OSError:
        return None
