"""Scratch directories: all temporary files of a command are in one, and only those of dead commands are removed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.host.processes import await_end, identify
from record import scratch
from record.scratch import LOCK, PREFIX, remove_stale_scratch, scratch_directory
from tests.architecture.imports import modules
from tests.architecture.order import packages

ROOT = Path(__file__).resolve().parents[2]
COMMAND = """
import sys, tempfile
from record.scratch import scratch_directory
with scratch_directory():
    tempfile.mkdtemp()
    print(tempfile.gettempdir(), flush=True)
    exec(sys.stdin.read())
"""


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory that replaces the system's temporary directory. Its path is short, because sockets are below it."""
    with tempfile.TemporaryDirectory() as directory:
        monkeypatch.setenv("TMPDIR", directory)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield Path(directory)


class Command:
    """A process with a scratch directory, and a file in it, that runs the code it gets and then exits."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.directory = Path(self.process.stdout.readline().strip())

    def run(self, code: str = "") -> str:
        return self.process.communicate(code)[0]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def command(system: Path) -> Iterator[Command]:
    started = Command()
    try:
        yield started
    finally:
        started.kill()


def test_temporary_files_of_a_command_and_its_children_are_in_one_directory(command: Command) -> None:
    child = "import tempfile; print(tempfile.mkdtemp())"
    printed = command.run(f"import subprocess; subprocess.run([sys.executable, '-c', {child!r}])")
    assert Path(printed.strip()).parent == command.directory


def test_a_command_that_ends_by_itself_leaves_nothing(system: Path, command: Command) -> None:
    assert command.directory.parent == system
    assert command.run() == ""
    assert list(system.iterdir()) == []


def test_worker_processes_end_before_the_directory_of_their_command(system: Path, command: Command) -> None:
    """The directory with the sockets of `multiprocessing` is in it, and is removed by an exit handler of its own."""
    code = "import multiprocessing as m; p = m.get_context('forkserver').Process(target=print); p.start(); p.join()"
    assert "Traceback" not in command.run(code)
    assert list(system.iterdir()) == []


def test_the_directory_of_a_killed_command_is_removed_and_that_of_a_running_one_is_not(
    system: Path, command: Command
) -> None:
    killed = Command()
    killed.kill()
    assert killed.directory.is_dir()
    assert remove_stale_scratch() == [killed.directory]
    assert list(system.iterdir()) == [command.directory]


def test_a_command_removes_what_others_left_from_within_its_own_directory(system: Path, command: Command) -> None:
    command.kill()
    other = Command()
    printed = other.run("from record.scratch import *; print(*remove_stale_scratch()); print(tempfile.mkdtemp())")
    removed, made = printed.split()
    assert removed == str(command.directory)
    assert Path(made).parent == other.directory


def test_a_directory_stays_while_a_command_started_by_the_killed_one_still_runs(
    system: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(command.directory))
    monkeypatch.setenv("TMPDIR", str(command.directory))
    inner = Command()
    try:
        command.kill()
        assert remove_stale_scratch(system) == []
        assert inner.directory.is_dir()
    finally:
        inner.kill()
    assert remove_stale_scratch(system) == [command.directory]


def test_a_directory_stays_while_a_program_of_the_killed_command_still_runs(system: Path, command: Command) -> None:
    """The program is `cat`, which ends when the test closes its standard input."""
    reading, writing = os.pipe()
    code = f"""
import subprocess
from record.scratch import scratch_of_program
with scratch_of_program("tool") as (directory, lock):
    program = subprocess.Popen(["cat"], stdin=open("/proc/{os.getpid()}/fd/{reading}"), pass_fds=(lock,))
    print(directory, program.pid, flush=True)
    program.wait()
"""
    assert command.process.stdin is not None and command.process.stdout is not None
    with os.fdopen(writing, "wb"), os.fdopen(reading, "rb"):
        command.process.stdin.write(code)
        command.process.stdin.close()
        directory, pid = command.process.stdout.readline().split()
        command.process.kill()
        command.process.wait()
        program = identify(int(pid))
        assert program is not None
        assert remove_stale_scratch(system) == []
        assert Path(directory).parent == command.directory
        assert Path(directory).name.startswith(f"{PREFIX}tool-")
        assert Path(directory).is_dir()
    assert await_end([program], 60.0) == []
    assert remove_stale_scratch(system) == [command.directory]


def test_a_command_that_was_killed_before_it_locked_its_directory_leaves_nothing(system: Path) -> None:
    (system / f"{PREFIX}a1b2c3d4").mkdir()
    assert remove_stale_scratch() == [system / f"{PREFIX}a1b2c3d4"]


def test_what_others_made_is_not_touched(system: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    clone = system / f"{PREFIX}clone"
    clone.mkdir()
    (clone / "README.md").touch()
    target = tmp_path_factory.mktemp("target")
    (target / LOCK).touch()
    (system / f"{PREFIX}link").symlink_to(target)
    (system / f"{PREFIX}file").touch()
    (system / "other").mkdir()
    (system / "other" / LOCK).touch()
    before = sorted(system.rglob("*"))
    assert remove_stale_scratch() == []
    assert sorted(system.rglob("*")) == before
    assert (target / LOCK).exists()


def test_no_other_code_makes_directories_that_a_clean_up_takes_for_stale_ones() -> None:
    """An empty directory of such a name without a lock may be removed while it is in use."""
    makers = re.compile(rf'(TemporaryDirectory|mkdtemp)\([^)]*prefix="{PREFIX}')
    found = [name for name, path in modules(packages()).items() if makers.search(path.read_text())]
    assert found == []
    assert makers.search(f'with tempfile.TemporaryDirectory(prefix="{PREFIX}run-") as name:')


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other users")
def test_a_directory_of_another_user_is_not_touched(system: Path) -> None:
    foreign = system / f"{PREFIX}a1b2c3d4"
    foreign.mkdir()
    (foreign / LOCK).touch()
    os.chown(foreign, 10001, 10001)
    assert remove_stale_scratch() == []
    assert foreign.is_dir()


def test_a_clean_up_at_the_wrong_instant_costs_no_more_than_another_directory(
    system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory is made, and removed as an empty one before it is locked."""
    made, mkdtemp = [], tempfile.mkdtemp

    def interfered(**options: str) -> str:
        made.append(mkdtemp(**options))
        if len(made) == 1:
            remove_stale_scratch(system)
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", interfered)
    directory, lock = scratch._make(system)
    os.close(lock)
    assert [str(path) for path in system.iterdir()] == made[1:] == [str(directory)]


def test_without_room_a_command_goes_on_without_a_directory(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(system / "missing"))
    with scratch_directory():
        assert tempfile.gettempdir() == str(system / "missing")


def test_a_process_that_goes_on_has_its_temporary_directory_back(system: Path) -> None:
    with scratch_directory():
        assert Path(tempfile.gettempdir()).parent == system
    assert Path(tempfile.gettempdir()) == system
    assert os.environ["TMPDIR"] == str(system)
