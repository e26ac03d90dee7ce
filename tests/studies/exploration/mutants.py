"""Mutants of routers that a calm run does not show, and whether exploration finds them.

    python -m tests.studies.exploration.mutants 20 300    # 20 mutants, 300 processor seconds for each

Mutants are the gauntlet's, drawn from the digest of the commit that froze its generator.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from scenario.loading import load_text
from studies.exploration.surroundings import Surroundings
from tests.gauntlet.forks import Forks
from tests.gauntlet.frozen import MUTANTS_SEED
from tests.gauntlet.hunting import HonestRuns, is_named
from tests.gauntlet.mutants import Mutant, drawn
from tests.gauntlet.running import verdict_on
from tests.gauntlet.trials import Part
from tests.studies.exploration.inside import explored

_AREAS = frozenset({"tid", "tid, composites", "octopia", "medym", "cbf", "gryphon"})
_ENDS_WITHIN = 40
"""Seconds for each processor second of an exploration, on a machine that others use."""


class Found(msgspec.Struct, frozen=True):
    """The outcome for a mutant that no calm run shows."""

    kinds: tuple[str, ...]
    """Kinds of defects of the first run that showed any; empty where none did."""
    seconds: float
    """Processor seconds until then."""


def tried(mutant: Mutant, seconds: float) -> Found | None:
    """Explores with a mutant in this process, which is of no use for anything else then; None for one that a calm run
    shows."""
    mutant.install()
    with tempfile.TemporaryDirectory() as out:
        outcome = mutant.scenario.run.simulated(Path(out))
        if outcome.defect or is_named(verdict_on(outcome)):
            return None
    surroundings, spent = Surroundings.of(load_text(mutant.scenario.text, mutant.scenario.name)), 0.0
    for run in explored(surroundings, 1):
        spent += run.processor
        if run.kinds or spent > seconds:
            return Found(run.kinds, spent)
    raise AssertionError("runs have no end")


def outcomes(seconds: float) -> Iterator[tuple[Mutant, Found]]:
    """Mutants of routers that no calm run shows, without end, and what exploration finds of each."""
    honest = HonestRuns()
    mutants = drawn(MUTANTS_SEED, lambda scenario: honest.of(scenario).executed, Part(1, 1))
    routers = (mutant for mutant in mutants if mutant.area in _AREAS)
    trials = ((mutant, partial(tried, mutant, seconds)) for mutant in routers)
    for mutant, ended in Forks(1, seconds * _ENDS_WITHIN).each(trials):
        if ended.result is not None:
            yield mutant, ended.result


def main() -> None:
    """Prints each mutant and what was found."""
    wanted, seconds, found = int(sys.argv[1]), float(sys.argv[2]), 0
    for number, (mutant, outcome) in enumerate(outcomes(seconds), 1):
        found += bool(outcome.kinds)
        words = ", ".join(outcome.kinds) or "not found"
        print(f"{mutant.title}: {words} after {outcome.seconds:.0f} s; {found} of {number}", flush=True)
        if number == wanted:
            return


if __name__ == "__main__":
    main()
