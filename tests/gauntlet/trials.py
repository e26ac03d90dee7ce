"""Trials: everything that the gauntlet runs, and what each must come to."""

from __future__ import annotations

import enum
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.gauntlet.running import Verdict


class Kind(enum.StrEnum):
    """The kinds of trials."""

    DEFECT = "defect"
    """A defect is planted in a router, matching, detection, links, sessions or the client library."""
    INFIDELITY = "infidelity"
    """Links, faults, clocks, logs, the calibration or the simulator are not what they should be."""
    HONEST = "honest"
    """A scenario with faults, and nothing planted."""
    MUTANT = "mutant"
    """A mutant, drawn from a seed, that does harm in a calm scenario (`hunting`)."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run to be judged."""

    kind: Kind
    area: str
    name: str
    judge: Callable[[], Verdict]
    """Runs and judges, in a process of its own."""
    is_right: Callable[[Verdict], bool]
    """True when the verdict names what was planted, or when an honest run is not blamed."""
    wanted: str
    """The sentence that must come out, or that none must."""

    @property
    def title(self) -> str:
        return f"{self.area}/{self.name}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a trial."""

    trial: Trial
    verdict: Verdict | None
    """Verdict of the trial; None when its process failed."""
    failure: str
    seconds: float

    @property
    def is_right(self) -> bool:
        return self.verdict is not None and self.trial.is_right(self.verdict)

    @property
    def title(self) -> str:
        return self.trial.title


@dataclass(frozen=True, slots=True)
class Part:
    """The `number`-th of `of` parts, counted from 1."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """Reads `1/5`. Raises `ValueError`."""
        number, of = map(int, text.split("/"))
        if not 1 <= number <= of:
            raise ValueError(f"{text}: there is no such part")
        return cls(number, of)

    def taken(self, trials: Sequence[Trial], seed: int) -> list[Trial]:
        """This part of the trials, which are shuffled by the seed first, in their own order."""
        places = list(range(len(trials)))
        random.Random(seed).shuffle(places)
        return [trials[place] for place in sorted(places[self.number - 1 :: self.of])]
