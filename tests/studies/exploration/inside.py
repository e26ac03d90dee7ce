"""Exploration inside of a test's own process, where defects are planted; and how soon each is found.

python -m tests.studies.exploration.inside 60 10    # 60 processor seconds for each of 10 seeds
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from itertools import count

import pytest

from emulation.simulation.memory import rare_collections
from studies.exploration.drawing import Drawing
from studies.exploration.exploration import is_drawn
from studies.exploration.judged_run import judging_room
from studies.exploration.mutation import Parent
from studies.exploration.surroundings import Surroundings
from studies.exploration.workers import Explored, Explorer
from tests.studies.exploration.planted import PLANTED


def explored(surroundings: Surroundings, seed: int) -> Iterator[Explored]:
    """Runs without end, in the order of one worker."""
    explorer = Explorer(Drawing(surroundings), seed)
    latest: Parent | None = None
    with judging_room() as room, rare_collections():
        for number in count():
            run = explorer.explored(number, room, None if is_drawn(number) else latest)
            if number == 0:  # as workers do: what is loaded by now stays, and is not looked at again by each collection
                gc.collect()
                gc.freeze()
            if is_drawn(number) and not run.refused:
                latest = Parent(run.scenario, run.moments)
            yield run


def found_within(name: str, seed: int, seconds: float) -> float | None:
    """Processor seconds until a planted defect is found; None where that takes longer."""
    planted, spent = PLANTED[name], 0.0
    with pytest.MonkeyPatch.context() as patch:
        planted.plant(patch)
        for run in explored(planted.surroundings, seed):
            spent += run.processor
            if planted.kinds & set(run.kinds):
                return spent
            if spent > seconds:
                return None
    raise AssertionError("runs have no end")


def main() -> None:
    """Prints how soon each defect is found."""
    seconds, seeds = float(sys.argv[1]), int(sys.argv[2])
    names = [name for name in PLANTED if len(sys.argv) < 4 or sys.argv[3] in name]
    for name in names:
        times = [found_within(name, seed, seconds) for seed in range(seeds)]
        hits = sorted(time for time in times if time is not None)
        shown = " ".join(f"{time:.0f}" for time in hits)
        print(f"{name}: {len(hits)} of {seeds} in {seconds:g} s each: {shown}", flush=True)


if __name__ == "__main__":
    main()
