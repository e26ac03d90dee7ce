"""What the analysis asks of whoever runs it: the same stages, one after another, over data in buckets.

A *stage* is a function, written once. It takes one input and returns an `Output`: one small tally, and bytes for some
of the buckets of the next stage, which takes a bucket at a time. Tallies are merged at the driver; bytes never come
there. An engine decides where stages run and how bytes travel, and can change nothing else: whatever a stage computes
depends on its input alone, and tallies may be merged in any order.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

Input = TypeVar("Input")
Tally = TypeVar("Tally")
_Tally_co = TypeVar("_Tally_co", covariant=True)
_Next = TypeVar("_Next")


@dataclass(frozen=True, slots=True)
class Output(Generic[Tally]):
    """What a stage makes of one input."""

    tally: Tally
    parts: Mapping[int, bytes] = field(default_factory=dict)
    """By bucket, none empty."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """The input of every stage but the first."""

    number: int
    parts: Iterable[bytes]
    """In no particular order. May be read once."""


Stage = Callable[[Input], Output[Tally]]
Done = Callable[[int, int], None]
"""Is told how many inputs of a stage are done, and of how many."""


def perform(stage: Stage[Input, Tally], one: Input) -> Output[Tally]:
    """Runs a stage on one input, looking for no garbage meanwhile: a stage makes millions of objects and no cycles, and
    to look through them again and again is a quarter of the work."""
    looking = gc.isenabled()
    gc.disable()
    try:
        return stage(one)
    finally:
        if looking:
            gc.enable()


class Exchange(Protocol[_Tally_co]):
    """A stage that was run, or will be when its tallies are asked for."""

    def tallies(self, done: Done) -> Iterator[_Tally_co]:
        """One for each input, in no particular order."""

    def then(self, stage: Stage[Bucket, _Next], buckets: int) -> Exchange[_Next]:
        """Runs a stage over the buckets, empty ones left out. `buckets` is how many the stage itself divides into.

        To be called once, after `tallies`.
        """


class Workers(Protocol):
    """An engine that has started."""

    @property
    def parallelism(self) -> int:
        """How many inputs are worked on at a time."""

    def run(self, inputs: Sequence[Input], stage: Stage[Input, Tally], buckets: int) -> Exchange[Tally]:
        """Runs the first stage."""


class Engine(Protocol):
    """How to analyse."""

    @property
    def name(self) -> str:
        """For people: what is starting."""

    def open(self) -> AbstractContextManager[Workers]:
        """Starts it. Raises `AnalysisHostError` when it cannot work here."""
