"""Targets of benchmarks, and whether a measured value keeps them.

A benchmark is a module with a function `run(arguments)` that measures and returns its judgements. Run as a program it
passes them to `conclude`, which prints a table and returns the exit code: 1 if a target was missed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rich.console import Console
from rich.table import Table

from benchmarks.support.growth import FACTOR, Growth

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
    unit: str = ""

    def judge(self, measured: float, growth: Growth | None = None) -> Judgement:
        """A measured value, in the target's unit, set against the target."""
        return Judgement(self, measured, growth)

    def __str__(self) -> str:
        return f"{self.bound} {_shown(self.value, self.unit)}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A measured value and the target it was measured for."""

    target: Target
    measured: float
    growth: Growth | None = None
    """Values at several sizes; None where only one size was measured."""

    @property
    def kept(self) -> bool:
        """A value that equals the target keeps it."""
        if self.target.bound is Bound.AT_MOST:
            return self.measured <= self.target.value
        return self.measured >= self.target.value

    def __str__(self) -> str:
        return f"{self.target.name}: {_shown(self.measured, self.target.unit)}, target {self.target}"


def _shown(value: float, unit: str) -> str:
    number = f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:,.3g}"
    return f"{number} {unit}".rstrip()


def console() -> Console:
    """Console of a benchmark: as wide as the terminal, or `WIDTH` columns where the output is a file or a pipe."""
    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(width=WIDTH, highlight=False)


def table_of(judgements: Sequence[Judgement]) -> Table:
    """Table with a row for each judgement: name, measured value, target, kept or MISSED."""
    table = Table("name", "measured", "target", "", title="targets", title_justify="left")
    for judgement in judgements:
        target = judgement.target
        measured = _shown(judgement.measured, target.unit)
        table.add_row(target.name, measured, str(target), "kept" if judgement.kept else "MISSED")
    return table


def growths_of(judgements: Sequence[Judgement]) -> list[str]:
    """A line for each judgement that was measured at several sizes."""
    return [f"{judgement.target.name}: {judgement.growth}" for judgement in judgements if judgement.growth]


def conclude(judgements: Sequence[Judgement]) -> int:
    """Prints all judgements, names the missed targets on standard error, and returns the exit code: 0, or 1 if any."""
    screen = console()
    screen.print(table_of(judgements))
    if lines := growths_of(judgements):
        screen.print(f"growth over a factor of {FACTOR}:")
        for line in lines:
            screen.print(f"  {line}")
    missed = [judgement for judgement in judgements if not judgement.kept]
    for judgement in missed:
        print(f"MISSED {judgement}", file=sys.stderr)
    return 1 if missed else 0
