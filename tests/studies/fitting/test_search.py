"""The search: what is missing is simulated once, and partial first seeds are completed before the halving."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from studies.cells.attempt import Attempt, Keep
from studies.cells.executors.interface import ExecutorOptions
from studies.cells.store import CellStore
from studies.fitting import __main__ as search
from studies.fitting.__main__ import SCREENED, Fit
from studies.fitting.candidates import IN_USE
from studies.fitting.cell import Figure, FigureCell, FigureResult
from studies.fitting.stated import Given, loss

GIVEN = {
    Figure.FIGURE_5A: Given(
        messages=9.0, queue_share=0.2, busiest=0.8, others=0.2, hub_is_busiest=True, stable=True
    ),
    Figure.TABLE_3: Given(delay_6=50.0, delay_10=60.0, delay_12=70.0),
    Figure.FIGURE_5C: Given(overloads=True),
}  # fmt: skip
SLOWER = msgspec.structs.replace(IN_USE, send_time=2 * IN_USE.send_time)
FAST, SLOW = IN_USE.send_time, SLOWER.send_time


class Simulator:
    """Stands for the engine of cells: Figure 5(a) of the slower candidate is far from what is stated."""

    def __init__(self) -> None:
        self.simulated: list[tuple[float, str, int]] = []

    def results(
        self, _: ExecutorOptions, store: CellStore[FigureResult], cells: Sequence[FigureCell], __: Console
    ) -> list[FigureResult]:
        for cell in store.unfinished(cells):
            self.simulated.append((cell.candidate.send_time, cell.figure, cell.seed))
            given = GIVEN[cell.figure]
            if cell.candidate == SLOWER and cell.figure is Figure.FIGURE_5A:
                given = msgspec.structs.replace(given, messages=90.0)
            result = FigureResult(
                fingerprint=cell.fingerprint, runtime="simulated", delivery=["correct"], fidelity="VALID", given=given
            )
            store.record(cell, Attempt(host="here", began="", seconds=1.0, result=result), final=True)
        return [store.require(cell) for cell in cells]


def test_each_figure_is_simulated_once_and_a_hopeless_candidate_completed_before_the_halving(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    simulator = Simulator()
    monkeypatch.setattr(search, "require_results", simulator.results)
    store = CellStore(tmp_path, FigureResult)
    options = ExecutorOptions(runtime="simulated", retries=0, keep=Keep.NONE)
    fit = Fit(store, options)
    fit.try_each([IN_USE, SLOWER], 1)
    every = ["tid-5a", "tid-t3", "tid-5c"]
    assert simulator.simulated == [(FAST, "tid-5a", 1), (SLOW, "tid-5a", 1), *((FAST, name, 1) for name in every[1:])]
    assert fit.best(2, 1) == [IN_USE, SLOWER], "a candidate that lacks figures comes last"
    fit.try_each([IN_USE, SLOWER], SCREENED)
    assert sorted(simulator.simulated[4:]) == sorted((time, name, 2) for time in (FAST, SLOW) for name in every)
    Fit(store, options).try_each([IN_USE, SLOWER], SCREENED)
    assert len(simulator.simulated) == 10, "results on disk are used"
    fit.try_each([IN_USE, SLOWER], 3)
    missing = [(SLOW, "tid-t3", 1), (SLOW, "tid-5c", 1), *((time, name, 3) for time in (FAST, SLOW) for name in every)]
    assert sorted(simulator.simulated[10:]) == sorted(missing)
    assert math.isfinite(loss(list(fit._given[SLOWER].values())))
