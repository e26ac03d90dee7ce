"""The stages of the analysis as they are now, functions of bytes, on the frames of any engine.

A *stage* takes one input and returns an `Output`: one small tally, and bytes for some of the buckets of the next stage,
which takes one bucket at a time. Tallies are pickled and merged at the driver, in any order; bytes never come there.
This module goes when the stages are functions from table to table (`engines.frames`).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from analysis.engines import frames
from analysis.engines.arrays import binaries, integers
from analysis.engines.frames import Done, Frame, Grouping

Input = TypeVar("Input")
Tally = TypeVar("Tally")
_Next = TypeVar("_Next")

_INPUTS = pa.schema({"input": pa.binary()})
_PART = pa.struct({"bucket": pa.int32(), "bytes": pa.binary()})
_OUTPUTS = pa.schema({"tally": pa.binary(), "parts": pa.list_(_PART)})


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


class Workers:
    """An engine that has started."""

    def __init__(self, workers: frames.Workers) -> None:
        self._workers = workers

    @property
    def parallelism(self) -> int:
        """The number of inputs processed at a time."""
        return self._workers.parallelism

    def run(self, inputs: Sequence[Input], stage: Stage[Input, Tally], buckets: int) -> Exchange[Tally]:
        """Runs the first stage. `buckets` is the number into which it divides its output."""
        rows = pa.table([binaries([pickle.dumps(given) for given in inputs])], schema=_INPUTS)
        return Exchange(self._workers.mapped(rows, _OfInput(stage), _OUTPUTS).kept(), buckets)


class Exchange(Generic[Tally]):
    """A stage that was run, or will be run when its tallies are requested."""

    def __init__(self, outputs: Frame, buckets: int) -> None:
        self._outputs = outputs
        self._buckets = buckets

    def tallies(self, done: Done) -> Iterator[Tally]:
        """One tally for each input, in no particular order."""
        for outputs in self._outputs.collected(["tally"], done):
            for tally in outputs.column("tally"):
                yield pickle.loads(tally.as_buffer())  # noqa: S301 - a worker's own

    def then(self, stage: Stage[ShuffleBucket, _Next], buckets: int) -> Exchange[_Next]:
        """Runs a stage over the buckets that are not empty. `buckets` is the number into which the stage divides its
        own output.

        Must be called once, after `tallies`.
        """
        grouping = Grouping("bucket", self._buckets)
        return Exchange(self._outputs.field("parts").grouped(grouping, _OfBucket(stage), _OUTPUTS).kept(), buckets)


@dataclass(frozen=True, slots=True)
class _OfInput:
    """The first stage from table to table."""

    stage: Stage[Any, Any]

    def __call__(self, row: pa.Table) -> pa.Table:
        [given] = row.column("input")
        return _table(self.stage(pickle.loads(given.as_buffer())))  # noqa: S301 - the driver's own


@dataclass(frozen=True, slots=True)
class _OfBucket:
    """A later stage from table to table."""

    stage: Stage[ShuffleBucket, Any]

    def __call__(self, group: pa.Table) -> pa.Table:
        parts = (part.as_py() for part in group.column("bytes"))
        return _table(self.stage(ShuffleBucket(group.column("bucket")[0].as_py(), parts)))


def _table(output: Output[Any]) -> pa.Table:
    numbers = integers(list(output.parts), pa.int32())
    parts = pa.StructArray.from_arrays([numbers, binaries(list(output.parts.values()))], fields=list(_PART))
    lists = pa.ListArray.from_arrays(integers([0, len(parts)], pa.int32()), parts)
    return pa.table([binaries([pickle.dumps(output.tally)]), lists], schema=_OUTPUTS)


class Engine(Protocol):
    """A way to run the analysis."""

    @property
    def name(self) -> str:
        """The name for people."""

    def open(self) -> AbstractContextManager[Workers]:
        """Starts the engine. Raises `HostError` when it cannot work on this host."""
