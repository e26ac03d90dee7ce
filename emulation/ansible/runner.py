"""Runs playbooks through ansible-runner, quietly; what goes wrong is told as host, task and message.

    hosts = read_inventory(Path("hosts.ini"), private)                       # or local_inventory()
    played = play("prepare.yml", hosts, private, {"image": "..."})           # raises PlayError
    played.of("take the time")["host-a"]["stdout"]                           # what a task returned, by host

Everything that Ansible writes here is in a directory below `private`, and goes when the play is over.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ansible_runner
from ansible_runner.exceptions import AnsibleRunnerException

from record.errors import BadInputError, HostError

PLAYBOOKS = Path(__file__).parent
LOCALHOST = "localhost"
_LOOK_INTERVAL = 0.25
"""Seconds between two looks at whether the user has cancelled."""
_SHOWN = 4
"""Failures told in one message."""
_LONGEST_MESSAGE = 500


@dataclass(frozen=True, slots=True)
class Inventory:
    """The hosts that a play may use."""

    source: Path | Mapping[str, Any]
    """A file or directory in any form that Ansible reads, absolute; or the inventory itself."""
    hosts: tuple[str, ...]
    """In the inventory's order."""
    variables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of each host."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What a task returned on a host."""

    host: str
    task: str
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """Why a host dropped out of a play."""

    host: str
    task: str
    message: str
    result: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.host}: {self.task}: {self.message}"


@dataclass(frozen=True, slots=True)
class Played:
    """A play that went through."""

    results: tuple[TaskResult, ...]

    def of(self, task: str) -> dict[str, Mapping[str, Any]]:
        """What the task of this name returned, by host; the last time, where it ran several times."""
        return {result.host: result.result for result in self.results if result.task == task}


class PlayError(HostError):
    """A play that failed on some host, or that could not be begun."""

    def __init__(self, playbook: str, failures: tuple[TaskFailure, ...], said: str = "") -> None:
        told = [str(failure) for failure in failures[:_SHOWN]] or [said or "ended with an error, and said nothing"]
        if len(failures) > _SHOWN:
            told.append(f"and {len(failures) - _SHOWN} more")
        super().__init__(f"{playbook}: {'; '.join(told)}")
        self.failures = failures


class PlayCancelledError(Exception):
    """The play was ended because `cancelled` said so."""


OnResult = Callable[[TaskResult], None]


def local_inventory() -> Inventory:
    """This host alone, reached without a network, with the Python that runs now."""
    variables = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "ansible_remote_tmp": "{{ lookup('env', 'ANSIBLE_LOCAL_TEMP') }}",  # rather than in the user's home
    }
    return Inventory({"all": {"hosts": {LOCALHOST: variables}}}, (LOCALHOST,), {LOCALHOST: variables})


def read_inventory(source: Path, private: Path) -> Inventory:
    """Reads an inventory. Raises `BadInputError` where there is none, or nothing in it."""
    if not source.exists():
        raise BadInputError(f"{source}: there is no such inventory")
    with _private_directory(private) as directory:
        listing, complaint, code = ansible_runner.run_command(
            executable_cmd=str(Path(sys.executable).parent / "ansible-inventory"),
            cmdline_args=["--list", "--inventory", str(source.absolute())],
            private_data_dir=str(directory),
            envvars=_environment(directory),
            runner_mode="subprocess",
            quiet=True,
        )
    if code != 0:
        raise BadInputError(f"{source}: not an inventory that Ansible can read{_reason(complaint or listing)}")
    listed = json.loads(listing)
    hosts = tuple(_members(listed, "all"))
    if not hosts:
        raise BadInputError(f"{source}: names no host{_reason(complaint)}")
    variables = listed.get("_meta", {}).get("hostvars", {})
    return Inventory(source.absolute(), hosts, {host: variables.get(host, {}) for host in hosts})


def play(
    playbook: str,
    inventory: Inventory,
    private: Path,
    variables: Mapping[str, Any],
    *,
    limit: str | None = None,
    on_result: OnResult | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Played:
    """Runs a playbook of this package on the hosts of an inventory, or on those of them that `limit` names.

    May be called from several threads at once. `on_result` hears each task that went well, while the play goes on.
    Raises `PlayError` when any host failed or could not be reached, `PlayCancelledError` when `cancelled` became true.
    """
    record = _Record(on_result)
    with _private_directory(private) as directory:
        try:
            runner = ansible_runner.run(
                private_data_dir=str(directory),
                playbook=str(PLAYBOOKS / playbook),
                inventory=dict(inventory.source) if isinstance(inventory.source, Mapping) else str(inventory.source),
                limit=limit,
                extravars=dict(variables),
                envvars=_environment(directory),
                settings={"pexpect_timeout": _LOOK_INTERVAL},
                quiet=True,
                event_handler=record.hear,
                cancel_callback=cancelled or _never,
            )
        except AnsibleRunnerException as error:
            raise PlayError(playbook, (), str(error)) from error
    if runner.status == "canceled":
        raise PlayCancelledError(playbook)
    if runner.status != "successful":
        raise PlayError(playbook, tuple(record.failures), record.said)
    return Played(tuple(record.results))


class _Record:
    """Listens to a play's events."""

    def __init__(self, on_result: OnResult | None) -> None:
        self.results: list[TaskResult] = []
        self.failures: list[TaskFailure] = []
        self.said = ""
        """The last thing that Ansible said outside of any task: why it could not begin."""
        self._on_result = on_result

    def hear(self, event: Mapping[str, Any]) -> bool:
        """Returns whether ansible-runner should keep the event on disk, which it never should."""
        data = event.get("event_data", {})
        host, task, result = data.get("host", ""), data.get("task", ""), data.get("res") or {}
        match event.get("event"):
            case "runner_on_ok":
                told = TaskResult(host, task, result)
                self.results.append(told)
                if self._on_result is not None:
                    self._on_result(told)
            case "runner_on_failed" if not data.get("ignore_errors"):
                self.failures.append(TaskFailure(host, task, _message(result), result))
            case "runner_on_unreachable":
                self.failures.append(TaskFailure(host, task, f"cannot be reached: {_message(result)}", result))
            case "error" | "verbose" if said := _last_line(event.get("stdout", "")):
                self.said = said
        return False


def _message(result: Mapping[str, Any]) -> str:
    """What a failed task says, the most telling part of it."""
    failed = next((item for item in result.get("results", ()) if item.get("failed")), result)
    said = _last_line(str(failed.get("stderr") or failed.get("module_stderr") or ""))
    message = str(failed.get("msg") or "failed without a message").strip()
    return (said if said and message.startswith("non-zero return code") else message)[:_LONGEST_MESSAGE]


def _environment(directory: Path) -> dict[str, str]:
    """Keeps what Ansible writes in one place, finds its programs, and lets it be as careful as a plain ssh.

    Modules run in the Python of the host's system, unless the inventory names another: what discovery finds first may
    be the user's own.
    """
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "ANSIBLE_HOME": str(directory / "home"),
        "ANSIBLE_LOCAL_TEMP": str(directory / "tmp"),
        "ANSIBLE_HOST_KEY_CHECKING": os.environ.get("ANSIBLE_HOST_KEY_CHECKING", "True"),
        "ANSIBLE_DEPRECATION_WARNINGS": "False",
        "ANSIBLE_LOCALHOST_WARNING": "False",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "False",
        "ANSIBLE_PYTHON_INTERPRETER": os.environ.get("ANSIBLE_PYTHON_INTERPRETER", "/usr/bin/python3"),
        "ANSIBLE_NOCOLOR": "1",
    }


@contextlib.contextmanager
def _private_directory(private: Path) -> Iterator[Path]:
    """A directory for one play; `private` goes with the last one."""
    directory = _made_below(private)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        with contextlib.suppress(OSError):
            private.rmdir()


def _made_below(private: Path) -> Path:
    while True:
        private.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # another thread's play was the last one, just now
            return Path(tempfile.mkdtemp(prefix="play-", dir=private.absolute()))


def _members(listed: Mapping[str, Any], group: str) -> Iterator[str]:
    """The hosts of a group and of the groups in it, each once."""
    seen: dict[str, None] = {}

    def collect(name: str) -> None:
        members = listed.get(name, {})
        seen.update(dict.fromkeys(members.get("hosts", ())))
        for child in members.get("children", ()):
            collect(child)

    collect(group)
    yield from seen


def _reason(said: str) -> str:
    line = _last_line(said)
    return f": {line}" if line else ""


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _never() -> bool:
    return False
