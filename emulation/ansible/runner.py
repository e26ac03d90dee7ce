"""Runs playbooks through ansible-runner, quietly. Failures are reported as host, task and message.

    hosts = read_inventory(Path("hosts.ini"), private)                       # or local_inventory()
    played = play("prepare.yml", hosts, private, {"image": "..."})           # raises PlayError
    played.of("take the time")["host-a"]["stdout"]                           # the results of a task, by host

Everything that Ansible writes on this host is in a directory below `private`, which is removed after the play.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emulation.host.processes import await_end, processes_started_with
from record.errors import BadInputError, HostError
from record.exit_codes import ExitCode

PLAYBOOKS = Path(__file__).parent
LOCALHOST = "localhost"
_LOOK_INTERVAL = 0.25
"""Seconds between two checks whether the user has cancelled."""
_ENDS_WITHIN = 2.0
"""Seconds that the processes of a cancelled play have to end after they were asked."""
_HOME = "ANSIBLE_HOME"
"""Environment variable by which the processes of a play are found: its directory is that of no other play."""
_SHOWN = 4
"""Failures in one message."""
_LONGEST_MESSAGE = 500
_MISTAKES = frozenset({"require a directory that can be written"})
"""Tasks whose failure is a mistake in the inventory, not a lack of a host. Their messages name file, variable and
remedy."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """The hosts that a play may run on."""

    source: Path | Mapping[str, Any]
    """A file or directory in any form that Ansible reads, absolute; or the inventory itself."""
    hosts: tuple[str, ...]
    """Names, in the inventory's order."""
    variables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The variables of each host."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of a task on a host."""

    host: str
    task: str
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """A failure that removed a host from a play."""

    host: str
    task: str
    message: str
    result: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.host}: {self.task}: {self.message}"


@dataclass(frozen=True, slots=True)
class Played:
    """A play that succeeded on all hosts."""

    results: tuple[TaskResult, ...]

    def of(self, task: str) -> dict[str, Mapping[str, Any]]:
        """The results of the task of this name, by host; the last ones if it ran several times."""
        return {result.host: result.result for result in self.results if result.task == task}


class PlayError(HostError):
    """A play that failed on some host, or could not begin.

    Its exit code is that of bad input where nothing but mistakes in the inventory kept hosts from going on.
    """

    def __init__(self, playbook: str, failures: tuple[TaskFailure, ...], output: str = "") -> None:
        lines = [str(failure) for failure in failures[:_SHOWN]] or [output or "ended with an error and no message"]
        if len(failures) > _SHOWN:
            lines.append(f"and {len(failures) - _SHOWN} more")
        super().__init__(f"{playbook}: {'; '.join(lines)}")
        self.failures = failures
        if failures and all(failure.task in _MISTAKES for failure in failures):
            self.exit_code = ExitCode.BAD_INPUT


class PlayCancelledError(Exception):
    """The play was ended because `cancelled` returned true."""


OnResult = Callable[[TaskResult], None]
OnFailure = Callable[[TaskFailure], None]


def local_inventory() -> Inventory:
    """This host alone, without a network, with the Python that runs now."""
    variables = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "ansible_remote_tmp": "{{ lookup('env', 'ANSIBLE_LOCAL_TEMP') }}",  # rather than in the user's home
    }
    return Inventory({"all": {"hosts": {LOCALHOST: variables}}}, (LOCALHOST,), {LOCALHOST: variables})


def read_inventory(source: Path, private: Path) -> Inventory:
    """Reads an inventory. Raises `BadInputError` if it does not exist, cannot be read or names no host."""
    if not source.exists():
        raise BadInputError(f"{source}: there is no such inventory")
    import ansible_runner  # noqa: PLC0415 - of an extra

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
    on_failure: OnFailure | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Played:
    """Runs a playbook of this package on the hosts of an inventory, or on those of them that `limit` names.

    May be called from several threads at once. While the play goes on, `on_result` is called with the result of each
    task that succeeded on a host, and `on_failure` with each failure; Ansible itself waits for the other hosts at the
    task that failed. Raises `PlayError` when any host failed or could not be reached, `PlayCancelledError` when
    `cancelled` became true.
    """
    import ansible_runner  # noqa: PLC0415 - of an extra
    from ansible_runner.exceptions import AnsibleRunnerException  # noqa: PLC0415

    record = _Record(on_result, on_failure)
    with _private_directory(private) as directory:
        try:
            runner = ansible_runner.run(
                private_data_dir=str(directory),
                playbook=str(PLAYBOOKS / playbook),
                inventory=dict(inventory.source) if isinstance(inventory.source, Mapping) else str(inventory.source),
                limit=limit,
                forks=len(inventory.hosts),
                extravars=dict(variables),
                envvars=_environment(directory),
                settings={"pexpect_timeout": _LOOK_INTERVAL},
                quiet=True,
                event_handler=record.note,
                cancel_callback=cancelled or _never,
            )
        except AnsibleRunnerException as error:
            raise PlayError(playbook, (), str(error)) from error
        if runner.status == "canceled":
            _end_processes(directory)
            raise PlayCancelledError(playbook)
    if runner.status != "successful":
        raise PlayError(playbook, tuple(record.failures), record.message)
    return Played(tuple(record.results))


class _Record:
    """Records the events of a play."""

    def __init__(self, on_result: OnResult | None, on_failure: OnFailure | None) -> None:
        self.results: list[TaskResult] = []
        self.failures: list[TaskFailure] = []
        self.message = ""
        """The last message of Ansible outside of any task: the reason why the play could not begin."""
        self._on_result = on_result
        self._on_failure = on_failure

    def note(self, event: Mapping[str, Any]) -> bool:
        """Records an event. Returns False, so that ansible-runner does not keep it on disk."""
        data = event.get("event_data", {})
        host, task, result = data.get("host", ""), data.get("task", ""), data.get("res") or {}
        match event.get("event"):
            case "runner_on_ok":
                succeeded = TaskResult(host, task, result)
                self.results.append(succeeded)
                if self._on_result is not None:
                    self._on_result(succeeded)
            case "runner_on_failed" if not data.get("ignore_errors"):
                self._fail(TaskFailure(host, task, _message(result), result))
            case "runner_on_unreachable":
                self._fail(TaskFailure(host, task, f"cannot be reached: {_message(result)}", result))
            case "error" | "verbose" if message := _last_line(event.get("stdout", "")):
                self.message = message
        return False

    def _fail(self, failure: TaskFailure) -> None:
        self.failures.append(failure)
        if self._on_failure is not None:
            self._on_failure(failure)


def _message(result: Mapping[str, Any]) -> str:
    """The most informative message of a failed task."""
    failed = next((item for item in result.get("results", ()) if item.get("failed")), result)
    output = _last_line(str(failed.get("stderr") or failed.get("module_stderr") or ""))
    message = str(failed.get("msg") or "failed without a message").strip()
    return (output if output and message.startswith("non-zero return code") else message)[:_LONGEST_MESSAGE]


def _end_processes(directory: Path) -> None:
    """Ends the processes of a cancelled play on this host. ansible-runner kills Ansible's process group alone, which
    Ansible's workers have left, so their tasks would run to their ends.

    They are asked first, because a connection of ssh that stays open for the next play removes its socket then.
    """
    found = list(processes_started_with(_HOME, str(directory / "home")))
    for process in found:
        process.kill(signal.SIGTERM)
    for process in await_end(found, _ENDS_WITHIN):
        process.kill()


def _environment(directory: Path) -> dict[str, str]:
    """The environment of Ansible: all its files are below one directory, its programs are found, and it checks host
    keys as plain ssh does.

    Modules run in the Python of the host's system unless the inventory names another one, because Ansible's discovery
    may find a Python of the user's first.
    """
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        _HOME: str(directory / "home"),
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
    """A directory for one play; `private` is removed with the last one."""
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
        with contextlib.suppress(FileNotFoundError):  # another thread's play was the last one and has removed it
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


def _reason(output: str) -> str:
    line = _last_line(output)
    return f": {line}" if line else ""


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _never() -> bool:
    return False
