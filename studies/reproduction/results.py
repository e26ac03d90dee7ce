"""Results of cells on disk, one file for each, so that separate processes can write them and later calls reuse them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from analysis.claims import Measurement
from analysis.claims.figures import DrawnFigure
from record.files import read_file, replace_file
from studies.reproduction.plan import Cell, Experiment


class CellResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one run: the measurements of all claims that it serves."""

    scenario: str
    seed: int
    runtime: str
    fingerprint: str
    measurements: dict[str, Measurement]
    """Measurements by the claim's id."""
    figures: tuple[DrawnFigure, ...] = ()
    """The paper's figures, drawn from this run."""
    delivery: list[str]
    """Verdicts of the delivery oracle on all variants together."""
    fidelity: str
    seconds: float
    """Elapsed time of run, analysis and measurement."""
    cpu_seconds: float
    """Processor time of the process that ran the cell."""
    memory_mb: float = 0.0
    """The most memory that this process held, in 10^6 bytes; 0 where it is not known."""


class CellFailure(msgspec.Struct, frozen=True, kw_only=True):
    """The reason why a cell has no result."""

    message: str
    exit_code: int
    """The exit code that a command has for it."""


@dataclass(frozen=True, slots=True)
class ResultStore:
    """The directory of a reproduction's results."""

    directory: Path
    runtime: str

    @property
    def runs(self) -> Path:
        """Directory that holds the run directories."""
        return self.directory / "runs"

    @property
    def cells(self) -> Path:
        """Directory that holds the results, one file for each cell."""
        return self.directory / "cells"

    @property
    def failures(self) -> Path:
        """Directory that holds the reasons why cells failed."""
        return self.directory / "failures"

    def write(self, cell: Cell, result: CellResult) -> None:
        """Replaces the cell's result in one step."""
        self.cells.mkdir(parents=True, exist_ok=True)
        replace_file(self._path(cell), msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")

    def read(self, cell: Cell) -> CellResult | None:
        """The cell's result; None without a result of exactly this experiment on this runtime."""
        try:
            result = msgspec.json.decode(read_file(self._path(cell)), type=CellResult)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        same = (result.fingerprint, result.runtime) == (cell.experiment.fingerprint, self.runtime)
        return result if same else None

    def of(self, experiment: Experiment) -> list[CellResult]:
        """All results of exactly this experiment, by seed, also those of seeds that are not planned."""
        prefix = f"{experiment.name}-"
        seeds = (file.stem.removeprefix(prefix) for file in self.cells.glob(f"{prefix}*.json"))
        found = (self.read(Cell(experiment, int(seed))) for seed in seeds if seed.isdecimal())
        return sorted((result for result in found if result is not None), key=lambda result: result.seed)

    def forget(self, cell: Cell) -> None:
        """Removes the cell's result or failure, if there is one."""
        self._path(cell).unlink(missing_ok=True)
        self._path_of_failure(cell).unlink(missing_ok=True)

    def write_failure(self, cell: Cell, failure: CellFailure) -> None:
        """Stores the reason why the cell has no result."""
        self.failures.mkdir(parents=True, exist_ok=True)
        replace_file(self._path_of_failure(cell), msgspec.json.format(msgspec.json.encode(failure), indent=2) + b"\n")

    def failure(self, cell: Cell) -> CellFailure | None:
        """The reason why the cell failed when it was run last; None if it did not."""
        try:
            return msgspec.json.decode(read_file(self._path_of_failure(cell)), type=CellFailure)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def tidy(self) -> None:
        """Removes the directories of runs and failures if they are empty."""
        for directory in (self.runs, self.failures):
            with suppress(OSError):
                directory.rmdir()

    def _path_of_failure(self, cell: Cell) -> Path:
        return self.failures / f"{cell.name}.json"

    def _path(self, cell: Cell) -> Path:
        return self.cells / f"{cell.name}.json"
