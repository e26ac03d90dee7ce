"""Mutants of routers that a calm run does not show, and whether exploration finds them.

    python -m tests.studies.exploration.mutants 20 1200       # 20 mutants, 1,200 processor seconds for each
    python -m tests.studies.exploration.mutants 20 1200 27    # the same, from mutant 27 on

Mutants are the gauntlet's, drawn from the digest of the commit that froze its generator. Two are tried at once. A run
counts that is wrong with the mutant, and right without it. Mutants that `HARMLESS` names are tried, but not counted.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import getattr_static
from itertools import dropwhile
from pathlib import Path

import msgspec

from scenario.loading import load_text
from scenario.model import Scenario
from studies.exploration.judged_run import judging_room
from studies.exploration.surroundings import Surroundings
from tests.gauntlet.forks import Forks
from tests.gauntlet.frozen import MUTANTS_SEED
from tests.gauntlet.hunting import HonestRuns, is_named
from tests.gauntlet.mutants import Mutant, drawn
from tests.gauntlet.planting import install
from tests.gauntlet.running import verdict_on
from tests.gauntlet.trials import Part
from tests.studies.exploration.inside import explored

_AREAS = frozenset({"tid", "tid, composites", "octopia", "medym", "cbf", "gryphon"})
_ENDS_WITHIN = 40
"""Seconds for each processor second of an exploration, on a machine that others use."""
_AT_ONCE = 2
"""Mutants that are tried at once."""

_COUNTS = "it only counts the subscriptions that a publication matches, for the log"
HARMLESS: Mapping[str, str] = {
    "2: routing.octopia.publications.Publications._route, line 88, condition negated [octopia, dynamic]": (
        "it only reports publications as dropped that are not, and misses those that are"
    ),
    "14: routing.octopia.vector.decode_vector, line 46, 8 is 9 [octopia, dynamic]": (
        "it only refuses vectors of more clusters than an explored overlay has"
    ),
    "26: routing.octopia.router.OctopiaRouter._add_subscription, line 248, 1 is 2 [octopia, dynamic]": (
        "it only counts the links that a subscription has travelled, for the log"
    ),
    "28: routing.cbf.table.ForwardingTable._places, line 143, 0 is 1 [cbf]": _COUNTS,
    "52: routing.cbf.table.ForwardingTable._places, line 140, 0 is 1 [cbf]": _COUNTS,
}
"""Mutants with which every publication still reaches its subscribers once, each by the title with the reason. A change
of the mutated modules draws others, which have to be read anew."""


class Found(msgspec.Struct, frozen=True):
    """The outcome for a mutant that no calm run shows."""

    kinds: tuple[str, ...]
    """Kinds of defects of the first run that showed any; empty where none did."""
    seconds: float
    """Processor seconds until then."""


def tried(mutant: Mutant, seconds: float) -> Found | None:
    """Explores with a mutant in this process, which is of no use for anything else then; None for one that a calm run
    shows."""
    original = getattr_static(mutant.owner, mutant.place.function)
    mutant.install()
    with tempfile.TemporaryDirectory() as out:
        outcome = mutant.scenario.run.simulated(Path(out))
        if outcome.defect or is_named(verdict_on(outcome)):
            return None
    surroundings, spent = Surroundings.of(load_text(mutant.scenario.text, mutant.scenario.name)), 0.0
    for run in explored(surroundings, 1):
        spent += run.processor
        if run.kinds and _is_right(run.scenario, mutant, original):
            return Found(run.kinds, spent)
        if spent > seconds:
            return Found((), spent)
    raise AssertionError("runs have no end")


def _is_right(scenario: Scenario, mutant: Mutant, original: Callable[..., object]) -> bool:
    """True when a run shows no defect without the mutant, which is taken out meanwhile."""
    owner, name = mutant.owner, mutant.place.function
    mutated = getattr_static(owner, name)
    install(owner, name, original)
    try:
        with judging_room() as room:
            return not room.judged(scenario).kinds
    finally:
        install(owner, name, mutated)


def outcomes(seconds: float, first: int = 0) -> Iterator[tuple[Mutant, Found]]:
    """Mutants of routers that no calm run shows, without end, and what exploration finds of each.

    Mutants with a smaller number than `first` are left out.
    """
    honest = HonestRuns()
    mutants = drawn(MUTANTS_SEED, lambda scenario: honest.of(scenario).executed, Part(1, 1))
    late = dropwhile(lambda mutant: mutant.number < first, mutants)
    routers = (mutant for mutant in late if mutant.area in _AREAS)
    trials = ((mutant, partial(tried, mutant, seconds)) for mutant in routers)
    for mutant, ended in Forks(_AT_ONCE, seconds * _ENDS_WITHIN).each(trials):
        if ended.result is not None:
            yield mutant, ended.result


def main() -> None:
    """Prints each mutant and what was found."""
    wanted, seconds, first = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
    found = counted = 0
    for mutant, outcome in outcomes(seconds, first):
        words = f"{', '.join(outcome.kinds) or 'not found'} after {outcome.seconds:.0f} s"
        if reason := HARMLESS.get(mutant.title):
            words += f"; not counted, because {reason}"
        else:
            counted += 1
            found += bool(outcome.kinds)
        print(f"{mutant.title}: {words}; {found} of {counted}", flush=True)
        if counted == wanted:
            return


if __name__ == "__main__":
    main()
