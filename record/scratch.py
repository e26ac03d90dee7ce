"""The scratch directory of a command: it holds every temporary file that the command and its children make.

1. It lies in the temporary directory of the system (`TMPDIR`, else `/tmp`) and is the command's own `TMPDIR`, which
   children inherit: Ansible, Spark's Java process, worker processes.
2. The command holds a lock on a file in it (flock(2)), which the kernel lifts when the command ends, however it ends.
3. A command that ends by itself removes its directory. A command that was killed leaves it, without the lock.
4. `remove_stale_scratch` removes directories without the lock, and nothing else: a directory of such a name that
   belongs to another user, or holds files but no lock file, is not touched.
5. A directory that holds one with a lock of its own stays as well. A program that must find its files even after the
   command was killed gets such a directory, and inherits its lock: the kernel lifts the lock when both have ended.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.util import Finalize
from pathlib import Path

from record.file_lock import take_lock

PREFIX = "brokerlab-"
LOCK = ".brokerlab-scratch"
_LAST = -1000
"""Exit priority after those of `multiprocessing`, which removes files of its own from the directory."""


@contextmanager
def scratch_directory() -> Iterator[None]:
    """Gives the calling process, and its children, a temporary directory that is removed when the process exits at
    last.

    To be entered by the main function of a program. On a full or read-only file system there is no scratch directory; a
    program that needs temporary files then fails by itself, and all others go on.
    """
    try:
        directory, lock = _make(Path(tempfile.gettempdir()))
    except OSError:
        yield
        return
    remove = Finalize(None, _remove, (directory, lock), exitpriority=_LAST)
    former = tempfile.tempdir, os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = tempfile.tempdir = str(directory)
    try:
        yield
    finally:
        tempfile.tempdir, variable = former
        os.environ.pop("TMPDIR")
        if variable is not None:
            os.environ["TMPDIR"] = variable
        if not list(directory.glob("pymp-*")):  # else `multiprocessing` uses its sockets there until the process exits
            remove()


@contextmanager
def scratch_of_program(name: str, parent: Path | None = None) -> Iterator[tuple[Path, int]]:
    """A scratch directory below `parent` for a program that the caller starts and ends, and the descriptor of its lock.

    The program inherits the descriptor (`pass_fds`), so that the directory outlasts a caller that is killed. `parent`
    is the current temporary directory by default; the directory's name begins with `brokerlab-` and `name`.
    """
    directory, lock = _make(parent or Path(tempfile.gettempdir()), f"{PREFIX}{name}-")
    try:
        yield directory, lock
    finally:
        _remove(directory, lock)


def remove_stale_scratch(parent: Path | None = None) -> list[Path]:
    """Removes scratch directories of killed commands below `parent`, the system's temporary directory by default.

    A directory stays as long as it holds one whose command or program still runs: a command may have been started by
    another one.
    """
    return [directory for directory in _below(parent or system_directory()) if _remove_if_stale(directory)]


def outlasting_programs(parent: Path | None = None) -> list[Path]:
    """Scratch directories of programs that still run although the commands that started them were killed. They end by
    themselves before long, and `remove_stale_scratch` then removes their directories."""
    return [
        program
        for command in _below(parent or system_directory())
        if _is_stale(command)
        for program in _below(command)
        if _is_of_program(program) and (program / LOCK).exists()
    ]


def system_directory() -> Path:
    """The temporary directory outside of every scratch directory, the one of the calling command included."""
    directory = Path(tempfile.gettempdir()).absolute()
    while (directory / LOCK).exists():
        directory = directory.parent
    return directory


def _below(parent: Path) -> list[Path]:
    """Directories that may be scratch directories of this user, by their names; no links."""
    found = sorted(parent.glob(f"{PREFIX}*"))
    return [path for path in found if not path.is_symlink() and path.is_dir() and path.stat().st_uid == os.geteuid()]


def _is_of_program(directory: Path) -> bool:
    """True for a name that `scratch_of_program` gives: the random part of a name has no hyphen."""
    return "-" in directory.name.removeprefix(PREFIX)


def _open_lock(directory: Path) -> int:
    """Opens the lock file of a directory that somebody has made. Raises `OSError` when there is none."""
    return os.open(directory / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)


def _is_stale(directory: Path) -> bool:
    """True if the command that made the directory has ended."""
    try:
        lock = _open_lock(directory)
    except OSError:
        return False
    try:
        return take_lock(lock)
    finally:
        os.close(lock)


def _remove(directory: Path, lock: int) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    os.close(lock)


def _make(parent: Path, prefix: str = PREFIX) -> tuple[Path, int]:
    """Makes and locks a directory; returns it with the descriptor that holds the lock."""
    while True:
        directory = Path(tempfile.mkdtemp(prefix=prefix, dir=parent)).absolute()
        # A clean-up may take the directory for a stale one as long as it is not locked. Then another one is made.
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if take_lock(lock) and (directory / LOCK).exists():
                return directory, lock
            os.close(lock)


def _remove_if_stale(directory: Path) -> bool:
    try:
        lock = _open_lock(directory)
    except OSError:
        # A command that was killed before it made the lock file leaves an empty directory. Others are not removed.
        with contextlib.suppress(OSError):
            directory.rmdir()
        return not directory.exists()
    try:
        if not take_lock(lock):
            return False
        remove_stale_scratch(directory)
        if any((inner / LOCK).exists() for inner in _below(directory)):
            return False
        shutil.rmtree(directory, ignore_errors=True)
        return not directory.exists()
    finally:
        os.close(lock)
