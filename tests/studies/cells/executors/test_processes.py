"""Simulated cells in processes of this host: failures and killed workers cost their own cell alone."""

from __future__ import annotations

import io
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from analysis.tables.summary import Summary
from emulation.planning.plan import Plan
from emulation.run.directory import RunOutcome
from record.exit_codes import ExitCode
from studies.cells import Cell, CellResult
from studies.cells.attempt import Keep
from studies.cells.executors.interface import ExecutorOptions
from studies.cells.failures import failed_code, failure_lines
from studies.cells.scheduler import run_cells
from studies.cells.store import CellStore
from tests.studies.reproduction.tiny import TINY


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCell(Cell[CellResult]):
    def read(self, outcome: RunOutcome, summary: Summary, runtime: str) -> CellResult:
        return CellResult(
            fingerprint=self.fingerprint, runtime=runtime, delivery=summary.delivery, fidelity=summary.fidelity
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenCell(PlainCell):
    def read(self, outcome: RunOutcome, summary: Summary, runtime: str) -> CellResult:
        raise KeyError("no such measure")


@dataclass(frozen=True, slots=True, kw_only=True)
class KilledCell(PlainCell):
    def simulate(self, plan: Plan, directory: Path) -> RunOutcome:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


def test_a_cell_that_fails_does_not_end_the_others(tmp_path: Path) -> None:
    cells = [
        BrokenCell(key="defect", scenario=TINY),
        PlainCell(key="mistake", scenario=TINY.replace("tid", "none")),
        KilledCell(key="killed", scenario=TINY),
        PlainCell(key="good", scenario=TINY),
    ]
    store, output = CellStore(tmp_path / "out", CellResult), io.StringIO()
    options = ExecutorOptions(runtime="simulated", retries=0, keep=Keep.ALL, jobs=2)
    assert run_cells(options, store, cells, Console(file=output))
    assert [line[:5] for line in output.getvalue().splitlines()] == [f"[{number}/4]" for number in (1, 2, 3, 4)]
    failed = store.failures(cells)
    assert list(failed) == ["defect", "mistake", "killed"]
    assert (failed["defect"].message, failed["defect"].exit_code) == ("KeyError: 'no such measure'", ExitCode.DEFECT)
    assert "routing.protocol: " in failed["mistake"].message
    assert failed["mistake"].exit_code == ExitCode.BAD_INPUT
    assert failed["killed"].message == "cell killed: its process was killed by SIGKILL"
    assert failed["killed"].exit_code == ExitCode.HOST
    assert store.unfinished(cells) == cells[:3]
    kept = [path.parent.parent.parent.name for path in store.cells.glob("*/runs/*/summary.json")]
    assert kept == ["good"], "nothing is left of the runs that failed"
    assert not list(store.cells.glob("*/work-*"))
    assert list(failure_lines(failed))[1] == "  defect: KeyError: 'no such measure'"
    assert failed_code(failed) is ExitCode.DEFECT
    assert failed_code({"mistake": failed["mistake"]}) is ExitCode.BAD_INPUT
    assert (failed_code({}), list(failure_lines({}))) == (ExitCode.CORRECT, [])
