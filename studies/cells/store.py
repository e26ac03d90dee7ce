"""The directory of a study: its cells, and the lock of the command that works on it.

    cells/<key>/    scenario.yaml, manifest.json with every attempt, result.json once the cell is done, failure.json
                    with the reason where it failed, runs/ with the run directories that are kept
    report/         the study's page

Files are replaced in one step, and `result.json` is the last one that a cell gets: a study that was killed resumes
with the cells that have none.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar, Generic, TypeAlias, TypeVar

import msgspec

from emulation.host.archives import unpack_archive
from emulation.run.directory import full_disk_in_words
from record.errors import BadInputError, UserError, unusable_directory
from record.file_lock import take_lock
from record.files import read_file, replace_file, write_json
from studies.cells.attempt import AnyAttempt, Attempt, CellFailure, CellManifest, counted_attempt
from studies.cells.cell import AnyCell, CellResult, Result_co, SomeCell

RUNS = "runs"
"""The directory of run directories, in those of cells and of attempts."""
PACKED = "run.tar.gz"
"""The packed run directory of an attempt on another host."""
STOP = "stop"
"""The file in an attempt's directory that asks the cell to end."""
_WORK = "work-"
LOCK = "lock"

_Content = TypeVar("_Content")


@dataclass(frozen=True, slots=True)
class CellStore(Generic[Result_co]):
    """The files of one study, whose results are of one type."""

    path: Path
    result_type: type[Result_co]

    made_here: ClassVar[Sequence[str]] = ("cells", "report", "plays")
    """The contents of the directory, which are all that `start_afresh` removes."""

    @property
    def cells(self) -> Path:
        return self.path / "cells"

    @property
    def plays(self) -> Path:
        """The directory of Ansible's files while it plays."""
        return self.path / "plays"

    def cell(self, key: str) -> Path:
        return self.cells / key

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps every other command that would write here out.

        A study that is refused before its first cell leaves nothing behind. Raises `BadInputError` when another command
        is at work here.
        """
        made = not self.path.exists()
        with sole_command(self.path) as earlier:
            try:
                with full_disk_in_words(self.path):
                    yield
            except UserError:
                if not earlier and not self.cells.exists():
                    self.start_afresh()
                    (self.path / LOCK).unlink(missing_ok=True)
                    if made:
                        with suppress(OSError):
                            self.path.rmdir()
                raise

    def start_afresh(self) -> None:
        """Removes what an earlier command left here, and nothing else."""
        for name in self.made_here:
            entry = self.path / name
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)

    def forget(self, cell: AnyCell) -> None:
        """Removes everything of one cell."""
        shutil.rmtree(self.cell(cell.key), ignore_errors=True)

    def result_file(self, key: str) -> Path:
        return self.cell(key) / "result.json"

    def result(self, cell: AnyCell) -> Result_co | None:
        """The result of a cell; None as long as it is not done. Raises `BadInputError` for one of another version."""
        result = stored_result(self, cell.key)
        return result if result is not None and result.fingerprint == cell.fingerprint else None

    def unfinished(self, cells: Sequence[SomeCell]) -> list[SomeCell]:
        """The cells that have no result yet, in order."""
        return [cell for cell in cells if self.result(cell) is None]

    def counted(self, cell: AnyCell) -> Attempt[Result_co] | None:
        """The attempt that gave a cell its result; None as long as the cell is not done."""
        if self.result(cell) is None:
            return None
        attempts = self.attempts(cell)
        return counted_attempt(attempts) if attempts else None

    def attempts(self, cell: AnyCell) -> list[Attempt[Result_co]]:
        """Every attempt at a cell so far. Raises `BadInputError` for those of another version."""
        manifest = stored_manifest(self, cell.key)
        return manifest.attempts if manifest is not None and manifest.fingerprint == cell.fingerprint else []

    def decode_attempt(self, content: bytes | str) -> Attempt[Result_co]:
        """Raises `msgspec.DecodeError`."""
        attempt: Attempt[Result_co] = _decoder(Attempt[self.result_type]).decode(content)  # type: ignore[name-defined]
        return attempt

    def failure(self, cell: AnyCell) -> CellFailure | None:
        """The reason why a cell failed when it was run last; None if it did not."""
        return _read(_failure_file(self.cell(cell.key)), _decoder(CellFailure))

    def require(self, cell: AnyCell) -> Result_co:
        """The result of a cell that was run. Raises the error of a cell that failed."""
        if (result := self.result(cell)) is not None:
            return result
        failure = self.failure(cell)
        assert failure is not None
        raise failure.error(cell.key)

    def failures(self, cells: Sequence[AnyCell]) -> dict[str, CellFailure]:
        """The cells of these that failed, by key, with the reasons."""
        return {cell.key: failure for cell in cells if (failure := self.failure(cell)) is not None}

    def record(self, cell: AnyCell, attempt: AnyAttempt, *, final: bool) -> None:
        """Adds an attempt to the cell's manifest; the final one gives the cell its result."""
        directory = self.cell(cell.key)
        cell.write_scenario(directory)
        _failure_file(self.cell(cell.key)).unlink(missing_ok=True)
        attempts: list[AnyAttempt] = [*self.attempts(cell), attempt]
        manifest = CellManifest(key=cell.key, fingerprint=cell.fingerprint, attempts=attempts)
        write_json(directory / "manifest.json", manifest)
        if final:
            replace_file(self.result_file(cell.key), counted_attempt(attempts).result.encode())

    def record_failure(self, cell: AnyCell, failure: CellFailure) -> None:
        """Stores the reason why the cell has no result. The same command tries it again."""
        cell.write_scenario(self.cell(cell.key))
        write_json(_failure_file(self.cell(cell.key)), failure)

    def new_work(self, cell: AnyCell) -> Path:
        """Makes a directory for the files of one attempt; returns its absolute path."""
        directory = self.cell(cell.key).absolute()
        directory.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=_WORK, dir=directory))

    def keep_run(self, cell: AnyCell, attempt: AnyAttempt, work: Path) -> None:
        """Moves the run directory of an attempt, if it is kept, from the attempt's own directory to the cell's.

        Raises `HostError` for a packed run directory that is damaged.
        """
        if attempt.run is not None:
            if (work / PACKED).exists():
                unpack_archive(work / PACKED, work / RUNS)
            kept = self.cell(cell.key) / RUNS
            kept.mkdir(exist_ok=True)
            (work / RUNS / attempt.run).rename(kept / attempt.run)

    def tidy(self) -> None:
        """Removes the files of attempts that were ended. Must not be called while an attempt is in progress."""
        for work in self.path.glob(f"cells/*/{_WORK}*"):
            shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(self.plays, ignore_errors=True)


AnyStore: TypeAlias = CellStore[CellResult]


def stored_result(store: CellStore[Result_co], key: str) -> Result_co | None:
    """The result in a cell's directory, whatever was run; None where there is none. Raises `BadInputError` for one of
    another version."""
    return _read(store.result_file(key), _decoder(store.result_type))


def stored_manifest(store: CellStore[Result_co], key: str) -> CellManifest[Result_co] | None:
    """The attempts in a cell's directory, whatever was run; None where there are none. Raises `BadInputError` for those
    of another version."""
    return _read(store.cell(key) / "manifest.json", _decoder(CellManifest[store.result_type]))  # type: ignore[name-defined]


def _failure_file(directory: Path) -> Path:
    return directory / "failure.json"


@contextmanager
def sole_command(directory: Path) -> Iterator[bool]:
    """Makes a directory for one command at a time; gives whether it held anything before.

    Raises `BadInputError` when another command is at work here.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        earlier = any(entry.name != LOCK for entry in directory.iterdir())
        file = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise unusable_directory(directory, error) from error
    try:
        if not take_lock(file):
            owner = os.pread(file, 32, 0).decode(errors="replace").strip() or "unknown"
            raise BadInputError(
                f"{directory}: another command is at work here (process {owner}); "
                "wait for it, or choose another directory with --out"
            )
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        yield earlier
    finally:
        os.close(file)


def _read(file: Path, decoder: msgspec.json.Decoder[_Content]) -> _Content | None:
    """The content of a cell's file; None without one, and for one that is torn.

    Raises `BadInputError` for one that another version of brokerlab wrote, which this one does not understand.
    """
    try:
        return decoder.decode(read_file(file))
    except msgspec.ValidationError as error:
        raise BadInputError(
            f"{file}: written by another version of brokerlab ({error}): remove {file.parent} to run the cell again, "
            "or choose another directory with --out"
        ) from error
    except (FileNotFoundError, msgspec.DecodeError):
        return None


@cache
def _decoder(content: type[_Content]) -> msgspec.json.Decoder[_Content]:
    return msgspec.json.Decoder(content)
