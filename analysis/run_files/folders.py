"""The folders of a run that workers open by themselves: they read logs there, and write parts of tables.

Workers get a folder pickled, and open it where they are. `LocalFolder` is a path, which has to lead to the same files
on each of their hosts; a folder on a store is in `analysis.run_files.stores`. Names of files are relative to a folder,
such as `variant=fixed/part-000001.parquet`.
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Protocol, Self

import pyarrow as pa

from analysis.run_files.soundness import readable_logs
from record.files import open_log


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log in the folder of the logs."""

    name: str
    size: int
    """Size of the log in bytes."""


class Folder(Protocol):
    """A folder, which need not exist. Its methods raise `OSError`."""

    def below(self, name: str) -> Self:
        """A folder in this one."""

    def logs(self) -> Sequence[LogFile]:
        """The logs in this folder, by name. Raises `RunDirectoryError` for one that is no file."""

    def names(self) -> list[str]:
        """The names of files and folders in this one; none where it does not exist."""

    def files(self, name: str) -> list[str]:
        """The names of all files in a folder below this one and in its folders, in order."""

    def open(self, name: str) -> BufferedReader:
        """Opens a file to be read."""

    def create(self, name: str) -> pa.NativeFile:
        """Opens a new file to be written, in place of an older one. This folder must exist."""

    def make(self) -> None:
        """Makes this folder, which must not exist."""

    def remove(self, name: str) -> None:
        """Removes a file, or a folder and all that it holds, if it is there."""

    def move(self, name: str, to: Self) -> None:
        """Moves a folder into another one, in place of an older one of that name."""


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """A directory of this host."""

    path: Path
    """Absolute."""

    def below(self, name: str) -> LocalFolder:
        return LocalFolder(self.path / name)

    def logs(self) -> Sequence[LogFile]:
        return [LogFile(file.name, file.stat().st_size) for file in readable_logs(self.path)]

    def names(self) -> list[str]:
        return [path.name for path in self.path.iterdir()] if self.path.is_dir() else []

    def files(self, name: str) -> list[str]:
        return sorted(str(path.relative_to(self.path)) for path in (self.path / name).rglob("*") if path.is_file())

    def open(self, name: str) -> BufferedReader:
        return open_log(self.path / name)

    def create(self, name: str) -> pa.NativeFile:
        *above, _ = name.split("/")
        directory = self.path  # not made: on a worker's host that does not share it, nobody would find the file
        for part in above:
            directory /= part
            directory.mkdir(exist_ok=True)
        return pa.OSFile(str(self.path / name), "wb")

    def make(self) -> None:
        self.path.mkdir(mode=0o700)

    def remove(self, name: str) -> None:
        path = self.path / name
        with suppress(FileNotFoundError):
            if stat.S_ISDIR(path.lstat().st_mode):
                shutil.rmtree(path)
            else:
                path.unlink()

    def move(self, name: str, to: LocalFolder) -> None:
        """Takes two steps: the older folder is moved aside first."""
        target = to.path / name
        if target.exists():
            target.rename(self.path / f"{name}.old")
        (self.path / name).rename(target)
