"""The campaign directory: the campaign, the cells that are done, and the lock of the command that works on it.

    campaign.json            the campaign's manifest, with its cells
    cells/<key>/             scenario.yaml, manifest.json with every attempt, result.json once the cell is done,
                             runs/ with the run directories that are kept
    summary.json, report/    the matrix

Files are replaced in one step, and `result.json` is the last one that a cell gets: a campaign that was killed resumes
with the cells that have none.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from emulation.host import provenance
from emulation.host.archives import unpack_archive
from emulation.run.directory import full_disk_in_words
from record.errors import BadInputError, UserError, unusable_directory
from record.file_lock import take_lock
from record.files import read_file, replace_file
from record.manifest import Host
from studies.campaign.attempt import Attempt, CellManifest, counted_attempt
from studies.campaign.cell import Cell
from studies.campaign.cells import fingerprint
from studies.campaign.model import Campaign
from studies.campaign.result import CellResult, decode, write_result

FORMAT = 1
RUNS = "runs"
"""The directory of run directories, in those of cells and of attempts."""
PACKED = "run.tar.gz"
"""The packed run directory of an attempt on another host."""
_WORK = "work-"
_LOCK = "lock"
_MADE_HERE = ("cells", "report", "plays", "summary.json", "campaign.json")
"""The contents of a campaign directory, which are all that `start_afresh` removes."""


class CampaignManifest(msgspec.Struct, frozen=True, kw_only=True):
    """`campaign.json`."""

    format: int = FORMAT
    name: str
    description: str
    fingerprint: str
    """Hash of everything that is run; a campaign with another one is another campaign."""
    scenario: str
    runtime: str
    factors: dict[str, list[Any]]
    schedules: list[str]
    seeds: list[int]
    retries: int
    cells: list[str]
    """The keys of the cells in the order in which they are run."""
    created: str
    versions: dict[str, str]
    git_revision: str | None
    kernel: str
    host: Host


@dataclass(frozen=True, slots=True)
class CampaignDirectory:
    """The files of one campaign."""

    path: Path

    @property
    def manifest_file(self) -> Path:
        return self.path / "campaign.json"

    @property
    def plays(self) -> Path:
        """The directory of Ansible's files while it plays."""
        return self.path / "plays"

    def cell(self, key: str) -> Path:
        return self.path / "cells" / key

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps every other campaign command out.

        A campaign that is refused before its first cell leaves nothing behind. Raises `BadInputError` when another
        command is at work here, or when the directory holds anything but a campaign.
        """
        made, earlier = not self.path.exists(), self.manifest_file.exists()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._refuse_foreign_files()
            file = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise unusable_directory(self.path, error) from error
        try:
            if not take_lock(file):
                owner = os.pread(file, 32, 0).decode(errors="replace").strip() or "unknown"
                raise BadInputError(
                    f"{self.path}: another campaign command is at work here (process {owner}); "
                    "wait for it, or choose another directory with --out"
                )
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
            try:
                with full_disk_in_words(self.path):
                    yield
            except UserError:
                if not earlier and not (self.path / "cells").exists():
                    self._remove(made)
                raise
        finally:
            os.close(file)

    def _remove(self, made: bool) -> None:
        """Removes what was made for a campaign without cells, the directory too where this command has made it."""
        self.manifest_file.unlink(missing_ok=True)
        (self.path / _LOCK).unlink(missing_ok=True)
        if made:
            with suppress(OSError):
                self.path.rmdir()

    def open(self, campaign: Campaign, planned: Sequence[Cell], file: Path) -> None:
        """Begins the campaign in this directory, or resumes it. To be called while `held`.

        Raises `BadInputError` if the directory belongs to another campaign, or to an earlier version of this one.
        """
        manifest = _manifest(campaign, tuple(planned))
        earlier = self._earlier()
        if earlier is None:
            replace_file(self.manifest_file, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
        elif earlier.fingerprint != manifest.fingerprint:
            done = sum(self.result_file(key).exists() for key in earlier.cells)
            raise BadInputError(
                f"{file}: {_difference(earlier, manifest)} since {self.path} was begun ({done} of {len(earlier.cells)} "
                "cells done), so its results are of another campaign: choose another directory with --out, or run all "
                "again with --fresh, which removes them"
            )

    def start_afresh(self) -> None:
        """Removes what an earlier campaign left here, and nothing else."""
        for name in _MADE_HERE:
            entry = self.path / name
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)

    def result_file(self, key: str) -> Path:
        return self.cell(key) / "result.json"

    def result(self, cell: Cell) -> CellResult | None:
        """The result of a cell; None as long as it is not done."""
        try:
            result = decode(read_file(self.result_file(cell.key)))
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        return result if result.fingerprint == cell.fingerprint else None

    def counted(self, cell: Cell) -> Attempt | None:
        """The attempt that gave a cell its result; None as long as the cell is not done."""
        if self.result(cell) is None:
            return None
        attempts = self.attempts(cell)
        return counted_attempt(attempts) if attempts else None

    def attempts(self, cell: Cell) -> list[Attempt]:
        """Every attempt at a cell so far."""
        try:
            read = read_file(self.cell(cell.key) / "manifest.json")
            return msgspec.json.decode(read, type=CellManifest).attempts
        except (FileNotFoundError, msgspec.DecodeError):
            return []

    def record(self, cell: Cell, attempt: Attempt, *, final: bool) -> None:
        """Adds an attempt to the cell's manifest; the final one gives the cell its result."""
        directory = self.cell(cell.key)
        cell.write_scenario(directory)
        manifest = CellManifest(
            key=cell.key,
            factors=cell.settings,
            schedule=cell.schedule,
            seed=cell.seed,
            fingerprint=cell.fingerprint,
            attempts=[*self.attempts(cell), attempt],
        )
        replace_file(directory / "manifest.json", msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
        if final:
            write_result(counted_attempt(manifest.attempts).result, self.result_file(cell.key))

    def new_work(self, cell: Cell) -> Path:
        """Makes a directory for the files of one attempt; returns its absolute path."""
        directory = self.cell(cell.key).absolute()
        directory.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=_WORK, dir=directory))

    def keep_run(self, cell: Cell, attempt: Attempt, work: Path) -> None:
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

    def _refuse_foreign_files(self) -> None:
        names = {entry.name for entry in self.path.iterdir()}
        if names - {_LOCK} and self.manifest_file.name not in names:
            raise BadInputError(f"{self.path}: holds {min(names)} and no campaign; choose another one with --out")

    def _earlier(self) -> CampaignManifest | None:
        try:
            return msgspec.json.decode(read_file(self.manifest_file), type=CampaignManifest)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise BadInputError(f"{self.manifest_file}: {error}; --fresh begins the campaign again") from error


def _manifest(campaign: Campaign, planned: tuple[Cell, ...]) -> CampaignManifest:
    return CampaignManifest(
        name=campaign.name,
        description=campaign.description,
        fingerprint=fingerprint(campaign, planned),
        scenario=campaign.scenario,
        runtime=campaign.runtime,
        factors=campaign.factors,
        schedules=list(dict.fromkeys(cell.schedule for cell in planned)),
        seeds=list(campaign.seeds),
        retries=campaign.retries,
        cells=[cell.key for cell in planned],
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=provenance.versions(),
        git_revision=provenance.git_revision(),
        kernel=provenance.kernel(),
        host=provenance.host(),
    )


def _difference(earlier: CampaignManifest, now: CampaignManifest) -> str:
    """The fields of the campaign that have changed, as far as the manifest holds them."""
    changed = [
        name
        for name in ("name", "runtime", "factors", "schedules", "seeds", "scenario")
        if getattr(earlier, name) != getattr(now, name)
    ]
    return f"{' and '.join(changed)} changed" if changed else "the scenario, `set` or a fault schedule changed"
