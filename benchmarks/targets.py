"""Targets of benchmarks, and whether a measured value keeps them.

A benchmark is a module with a function `run(arguments)` that measures and returns its judgements. Run as a program it
passes them to `conclude`, which prints a table and returns the exit code: 1 if a target was missed that is not a known
defect, and 3 if one was missed on a host that others used meanwhile, which says nothing about the program.

Targets of time and rate are ratios: they name a reference loop (`benchmarks.support.references`), and hold for the
machine on which they were set. On another they are scaled by the speed of that loop there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rich.console import Console
from rich.table import Table

from benchmarks.support.growth import FACTOR, Growth
from benchmarks.support.references import speed_of
from emulation.host.reference_loops import Reference

KEPT, KNOWN, MISSED, NOT_JUDGED = "kept", "known defect", "MISSED", "not judged"
MOST_OF_OTHERS = 0.1
"""Share of the processors that others may take while targets are measured: less is the host's own business."""
WIDTH = 120
"""Columns of a table where the output is not a terminal."""


class Bound(StrEnum):
    """Side of a target on which a measured value has to be."""

    AT_MOST = "at most"
    AT_LEAST = "at least"


@dataclass(frozen=True, slots=True)
class Target:
    """A bound that a measured value has to keep."""

    name: str
    """Noun phrase for the measured value, understood without the benchmark's name."""
    bound: Bound
    value: float
    """For the machine on which targets were set, if there is a reference."""
    unit: str = ""
    reference: Reference | None = None
    """The work that dominates a time or a rate; None for what no machine changes."""
    defect: str = ""
    """The reason for which the target is missed today; empty for one that has to be kept."""

    def judge(self, measured: float, growth: Growth | None = None) -> Judgement:
        """A measured value, in the target's unit, set against the target. Measures the speed of the reference."""
        return Judgement(self, measured, growth, speed_of(self.reference) if self.reference else 1.0)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A measured value and the target it was measured for."""

    target: Target
    measured: float
    growth: Growth | None = None
    """Values at several sizes; None where only one size was measured."""
    speed: float = 1.0
    """Speed of this machine at the target's kind of work."""
    others: float = 0.0
    """Share of this host's processors that others took."""

    @property
    def limit(self) -> float:
        """The target's value on this machine."""
        return self.target.value / self.speed if self.target.bound is Bound.AT_MOST else self.target.value * self.speed

    @property
    def kept(self) -> bool:
        """A value that equals the target keeps it."""
        return self.measured <= self.limit if self.target.bound is Bound.AT_MOST else self.measured >= self.limit

    @property
    def required(self) -> str:
        """The target in words, as it is on this machine."""
        return f"{self.target.bound} {_shown(self.limit, self.target.unit)}"

    @property
    def verdict(self) -> str:
        """A word or two: kept, MISSED, a defect that is known, or not judged because the host was busy."""
        if self.kept:
            return KEPT
        if self.target.defect:
            return KNOWN
        return NOT_JUDGED if self.others > MOST_OF_OTHERS else MISSED

    def __str__(self) -> str:
        return f"{self.target.name}: {_shown(self.measured, self.target.unit)}, target {self.required}"


def _shown(value: float, unit: str) -> str:
    number = f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:,.3g}"
    return f"{number} {unit}".rstrip()


def console() -> Console:
    """Console of a benchmark: as wide as the terminal, or `WIDTH` columns where the output is a file or a pipe."""
    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(width=WIDTH, highlight=False)


def table_of(judgements: Sequence[Judgement]) -> Table:
    """Table with a row for each judgement: name, measured value, target here, speed of the reference, verdict."""
    table = Table("name", "measured", "target", "reference", "", title="targets", title_justify="left")
    for judgement in judgements:
        target = judgement.target
        measured = _shown(judgement.measured, target.unit)
        reference = f"{target.reference} {judgement.speed:.2f}" if target.reference else ""
        table.add_row(target.name, measured, judgement.required, reference, judgement.verdict)
    return table


def growths_of(judgements: Sequence[Judgement]) -> list[str]:
    """A line for each judgement that was measured at several sizes."""
    return [f"{judgement.target.name}: {judgement.growth}" for judgement in judgements if judgement.growth]


def conclude(judgements: Sequence[Judgement]) -> int:
    """Prints all judgements, with the reasons of known defects, and names missed targets on standard error.

    Returns the exit code: 1 if a target was missed; else 3 if one is not judged, because the host was busy; else 0.
    """
    screen = console()
    screen.print(table_of(judgements))
    if lines := growths_of(judgements):
        screen.print(f"growth over a factor of {FACTOR}:")
        for line in lines:
            screen.print(f"  {line}")
    for judgement in judgements:
        if judgement.target.defect:
            state = "is kept now, so it is no defect any more" if judgement.kept else judgement.target.defect
            screen.print(f"known defect: {judgement.target.name}: {state}")
    missed = [judgement for judgement in judgements if judgement.verdict == MISSED]
    for judgement in missed:
        print(f"{MISSED} {judgement}", file=sys.stderr)
    not_judged = [judgement for judgement in judgements if judgement.verdict == NOT_JUDGED]
    for judgement in not_judged:
        busy = f"others took {judgement.others:.0%} of the processors"
        print(f"{NOT_JUDGED} {judgement}; {busy}: run it again on an idle host", file=sys.stderr)
    return 1 if missed else 3 if not_judged else 0
