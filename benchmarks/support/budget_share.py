"""Shares of the processor time of an analysis that the budget of delays and its audit take.

`python -m benchmarks.support.budget_share RUN` analyses a run directory in plain Python, five times, and prints the
medians. Shares of one analysis hold on a busy host, too, where times do not.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from analysis.auditing.backlogs import BacklogStage
from analysis.auditing.way_sums import WaySumStage
from analysis.budget.passages import PassageStage
from analysis.budget.stage import BudgetStage
from analysis.engines import PlainEngine
from analysis.judging import publication_figures
from analysis.pipeline import analyze

_ROUNDS = 5
_TIMED: tuple[tuple[Any, str, str], ...] = (
    (publication_figures, "ways_of", "ways"),
    (PassageStage, "__call__", "passages"),
    (BudgetStage, "__call__", "sums"),
    (WaySumStage, "__call__", "audit"),
    (BacklogStage, "__call__", "audit of the replay"),
)
"""Owner and name of each function, and its part of the work."""
_BUDGET = ("ways", "passages", "sums")


def shares_of(run: Path) -> dict[str, float]:
    """The share of each part in one analysis."""
    spent: defaultdict[str, float] = defaultdict(float)

    def timed(function: Callable[..., Any], part: str) -> Callable[..., Any]:
        def wrapper(*given: Any) -> Any:
            begin = time.process_time()
            try:
                return function(*given)
            finally:
                spent[part] += time.process_time() - begin

        return wrapper

    originals = [getattr(owner, name) for owner, name, _ in _TIMED]
    for (owner, name, part), original in zip(_TIMED, originals, strict=True):
        setattr(owner, name, timed(original, part))
    begin = time.process_time()
    try:
        analyze(run, PlainEngine())
    finally:
        for (owner, name, _), original in zip(_TIMED, originals, strict=True):
            setattr(owner, name, original)
    whole = time.process_time() - begin
    return {part: spent[part] / whole for _, _, part in _TIMED}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    run = parser.parse_args().run
    rounds = [shares_of(run) for _ in range(_ROUNDS)]
    budget = median(sum(shares[part] for part in _BUDGET) for shares in rounds)
    parts = ", ".join(f"{part} {median(shares[part] for shares in rounds):.1%}" for _, _, part in _TIMED)
    print(f"{run.name}: budget of delays {budget:.1%} of the processor time ({parts})")


if __name__ == "__main__":
    main()
