"""Runs on a store, such as `s3://bucket/runs/a`: any file system that PyArrow opens by a URI.

The small files of a run are copied to a directory of this host, from which the driver analyses it; logs stay on the
store, where workers read them and write parts of tables. A store need not know folders, nor rename them: files are
moved one by one. A run has its summary last, and loses it before the first of its older tables is replaced. So tables
are whole where there is a summary, even if an analysis was killed. Stores have no locks either: of two analyses of one
run at a time, the one that began first finds its parts removed, and fails.
"""

from __future__ import annotations

import functools
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import cast
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

from analysis.run_files.folders import LogFile
from record.errors import BadInputError, HostError, RunDirectoryError, UserError
from record.files import MANIFEST, RESULTS, SUMMARY, is_log

READ_AHEAD = 4 << 20
"""Bytes that one request to a store reads."""
_AT_A_TIME = 16
"""Files that are moved at a time."""
_A_URI = re.compile(r"[a-z][a-z0-9+.-]*://")


@dataclass(frozen=True, slots=True)
class StoreFolder:
    """A folder on a store."""

    uri: str
    """Address of the run. It may hold credentials and settings, as PyArrow reads them."""
    within: str = ""
    """The path from there, with a slash before each name."""

    def __str__(self) -> str:
        """The URI without credentials and settings."""
        parts = urlsplit(self.uri)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{unquote(parts.path)}{self.within}"

    def below(self, name: str) -> StoreFolder:
        return StoreFolder(self.uri, f"{self.within}/{name}")

    def logs(self) -> Sequence[LogFile]:
        found = (info for info in self._infos() if info.type is FileType.File and is_log(info.base_name))
        return sorted((LogFile(info.base_name, info.size) for info in found), key=lambda log: log.name)

    def names(self) -> list[str]:
        return [info.base_name for info in self._infos()]

    def files(self, name: str) -> list[str]:
        found = self.below(name)._infos(recursive=True)
        start = len(self._path()) + 1
        return sorted(info.path[start:] for info in found if info.type is FileType.File)

    def open(self, name: str) -> BufferedReader:
        file = self._system.open_input_file(self._path(name))
        return BufferedReader(cast(RawIOBase, file), READ_AHEAD)  # it has the methods of one

    def create(self, name: str) -> pa.NativeFile:
        return self._system.open_output_stream(self._path(name))

    def make(self) -> None:
        """Does nothing: a folder is there with its first file."""

    def remove(self, name: str) -> None:
        path = self._path(name)
        match self._system.get_file_info(path).type:
            case FileType.Directory:
                self._system.delete_dir(path)
            case FileType.File:
                self._system.delete_file(path)

    def move(self, name: str, to: StoreFolder) -> None:
        """Takes a step for each file."""
        to.remove(name)
        files = self.files(name)
        for folder in sorted({file.rpartition("/")[0] for file in files}):  # HDFS moves files to folders that exist
            self._system.create_dir(to._path(folder))
        with ThreadPoolExecutor(_AT_A_TIME, thread_name_prefix="move") as pool:
            list(pool.map(self._system.move, map(self._path, files), map(to._path, files)))

    @property
    def _system(self) -> FileSystem:
        return _opened(self.uri)[0]

    def _path(self, name: str = "") -> str:
        return f"{_opened(self.uri)[1]}{self.within}{name and '/'}{name}"

    def _infos(self, *, recursive: bool = False) -> list[FileInfo]:
        selector = FileSelector(self._path(), allow_not_found=True, recursive=recursive)
        found: list[FileInfo] = self._system.get_file_info(selector)
        return found

    def _remove_files_but(self, names: Collection[str]) -> None:
        for info in self._infos():
            if info.type is FileType.File and info.base_name not in names:
                self.remove(info.base_name)

    def _receive(self, file: Path) -> None:
        with file.open("rb") as source, self.create(file.name) as target:
            shutil.copyfileobj(source, target)


def local_path(location: str) -> Path | None:
    """The path that the location of a run is, or stands for as `file:///runs/a`; None for one on a store."""
    if _A_URI.match(location) is None:
        return Path(location)
    parts = urlsplit(location)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


@contextmanager
def copied_run(uri: str) -> Iterator[tuple[Path, StoreFolder]]:
    """A directory with copies of the small files of a run on a store, and the store.

    Raises `BadInputError` for a URI that PyArrow cannot open, `RunDirectoryError` where there is no run, and
    `HostError` for a store that fails, also later. Errors name the run on the store and not its copy.
    """
    store = StoreFolder(re.sub("^s3[an]://", "s3://", uri))
    with tempfile.TemporaryDirectory(prefix="run-") as name:
        directory = Path(name)
        try:
            _copy_small_files(store, directory)
            yield directory, store
        except UserError as error:
            raise type(error)(str(error).replace(name, str(store))) from error
        except OSError as error:
            raise HostError(f"{store}: {error}".replace(name, str(store))) from error


def publish(directory: Path, store: StoreFolder) -> None:
    """Writes the small tables of an analysis to the store, without those that it had before, and then the summary."""
    tables = list((directory / RESULTS).iterdir())
    results = store.below(RESULTS)
    results._remove_files_but({table.name for table in tables})
    for table in tables:
        results._receive(table)
    store._receive(directory / SUMMARY)


def _copy_small_files(store: StoreFolder, directory: Path) -> None:
    try:
        found = [info.base_name for info in store._infos() if info.type is FileType.File]
    except (pa.ArrowException, ImportError) as error:
        raise BadInputError(f"{store}: {error}; write the URI of a run, such as s3://bucket/runs/NAME") from error
    if MANIFEST not in found:
        raise RunDirectoryError(f"{store}: not a run directory, it has no {MANIFEST}")
    for name in found:
        if name != SUMMARY:
            with store.open(name) as source, (directory / name).open("wb") as target:
                shutil.copyfileobj(source, target)


@functools.cache
def _opened(uri: str) -> tuple[FileSystem, str]:
    """The file system and the path that a URI stands for, once in a process."""
    system, path = FileSystem.from_uri(uri)
    return system, path.rstrip("/")
