"""The interface of an engine, which runs the stages of the analysis one after another over data in buckets.

A *stage* is a function, written once. It takes one input and returns an `Output`: one small tally, and bytes for some
of the buckets of the next stage, which takes one bucket at a time. Tallies are merged at the driver; bytes never come
there. An engine decides where stages run and how bytes travel, and can change nothing else: the result of a stage
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
    """The result of a stage for one input."""

    tally: Tally
    parts: Mapping[int, bytes] = field(default_factory=dict)
    """The parts of the buckets of the next stage, by bucket; empty ones are left out."""


@dataclass(frozen=True, slots=True)
class ShuffleBucket:
    """The input of every stage but the first."""

    number: int
    parts: Iterable[bytes]
    """In no particular order; may be read only once."""


Stage = Callable[[Input], Output[Tally]]
Done = Callable[[int, int], None]
"""Called with the number of inputs of a stage that are done, and the number of all."""


def perform(stage: Stage[Input, Tally], given: Input) -> Output[Tally]:
    """Runs a stage on one input without garbage collection: a stage makes millions of objects and no cycles, and to
    scan them again and again would be a quarter of the work."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return stage(given)
    finally:
        if enabled:
            gc.enable()


class Exchange(Protocol[_Tally_co]):
    """A stage that was run, or will be run when its tallies are requested."""

    def tallies(self, done: Done) -> Iterator[_Tally_co]:
        """One tally for each input, in no particular order."""

    def then(self, stage: Stage[ShuffleBucket, _Next], buckets: int) -> Exchange[_Next]:
        """Runs a stage over the buckets that are not empty. `buckets` is the number into which the stage divides its
        own output.

        Must be called once, after `tallies`.
        """


class Workers(Protocol):
    """An engine that has started."""

    @property
    def parallelism(self) -> int:
        """The number of inputs processed at a time."""

    def run(self, inputs: Sequence[Input], stage: Stage[Input, Tally], buckets: int) -> Exchange[Tally]:
        """Runs the first stage."""


class Engine(Protocol):
    """A way to run the analysis."""

    @property
    def name(self) -> str:
        """The name for people."""

    def open(self) -> AbstractContextManager[Workers]:
        """Starts the engine. Raises `HostError` when it cannot work on this host."""
