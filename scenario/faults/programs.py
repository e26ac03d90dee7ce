"""Fault programs: conditions composed with times. A partition for 20 s, a link that flaps, a kill and its restart.

A program knows neither its start nor other programs. `unfold` makes it a sequence of changes.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from record.time_units import SECOND
from scenario.faults.conditions import Condition, Target


@dataclass(frozen=True, slots=True)
class Hold:
    """The conditions hold for a time, and are healed."""

    conditions: tuple[Condition, ...]
    seconds: float | None = None
    """Time for which they hold; None until something lifts them, at the latest the end of the run phase."""


@dataclass(frozen=True, slots=True)
class Lift:
    """Heals conditions, whichever program began them."""

    kind: type[Condition] | None = None
    """Kind of the conditions to heal; None for every kind."""
    targets: frozenset[Target] | None = None
    """Targets on which to heal them; None for every target."""

    def concerns(self, condition: Condition) -> bool:
        of_kind = self.kind is None or isinstance(condition, self.kind)
        return of_kind and (self.targets is None or condition.target in self.targets)


@dataclass(frozen=True, slots=True)
class Wait:
    """A pause between changes."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Sequence:
    """Programs that run one after another."""

    parts: tuple[Program, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A program that is repeated. Raises `ValueError` for an endless repetition of one that takes no time."""

    part: Program
    times: int | None = None
    """Number of repetitions; None until the end of the run phase."""

    def __post_init__(self) -> None:
        if self.times is None and not _lasts(self.part):
            raise ValueError("a program that is repeated without end must take some time")


Program = Hold | Lift | Wait | Sequence | Repeat


@dataclass(frozen=True, slots=True)
class Begin:
    """The conditions hold from now on; `End` with the same number ends this very holding."""

    holding: int
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class End:
    """The conditions that began with this number hold no longer, if they were not lifted before."""

    holding: int


Change = Begin | End | Lift


def unfold(program: Program, now: int, numbers: Iterator[int]) -> Generator[tuple[int, Change], None, int]:
    """The changes of a program that starts now, each with its time in nanoseconds, in the order of time.

    `numbers` gives each holding its number. Endless where the program is; else returns when it is over.
    """
    match program:
        case Wait(seconds):
            return now + _nanoseconds(seconds)
        case Lift():
            yield now, program
        case Hold(conditions, seconds):
            holding = next(numbers)
            yield now, Begin(holding, conditions)
            if seconds is not None:
                now += _nanoseconds(seconds)
                yield now, End(holding)
        case Sequence(parts):
            for part in parts:
                now = yield from unfold(part, now, numbers)
        case Repeat(part, times):
            for _ in itertools.count() if times is None else range(times):
                now = yield from unfold(part, now, numbers)
    return now


def leaves(program: Program) -> Iterator[Hold | Lift]:
    """Every holding and lifting in a program, repetitions once."""
    match program:
        case Hold() | Lift():
            yield program
        case Sequence(parts):
            for part in parts:
                yield from leaves(part)
        case Repeat(part):
            yield from leaves(part)
        case Wait():
            return


def _lasts(program: Program) -> bool:
    match program:
        case Wait(seconds):
            return seconds > 0
        case Hold(_, seconds):
            return bool(seconds)
        case Sequence(parts):
            return any(map(_lasts, parts))
        case Repeat(part, times):
            return times != 0 and _lasts(part)
        case Lift():
            return False


def _nanoseconds(seconds: float) -> int:
    return round(seconds * SECOND)
