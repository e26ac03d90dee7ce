"""The engine that is plain Python: one process, one stage after another, nothing to install and nothing to start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Generic, TypeVar

from analysis.engines.interface import Bucket, Done, Exchange, Input, Output, Stage, Tally, Workers, perform

_Next = TypeVar("_Next")


class PlainEngine:
    """Runs stages in this process. Buckets wait in memory, as bytes: about 60 for each record about a publication."""

    name = "plain Python"

    def open(self) -> AbstractContextManager[Workers]:
        return nullcontext(_PlainWorkers())


class _PlainWorkers:
    parallelism = 1

    def run(self, inputs: Sequence[Input], stage: Stage[Input, Tally], buckets: int) -> Exchange[Tally]:
        return _PlainExchange((perform(stage, one) for one in inputs), len(inputs))


class _PlainExchange(Generic[Tally]):
    """Holds what a stage left in buckets, once its tallies are taken."""

    def __init__(self, outputs: Iterator[Output[Tally]], inputs: int) -> None:
        self._outputs = outputs
        self._inputs = inputs
        self._buckets: dict[int, list[bytes]] = {}

    def tallies(self, done: Done) -> Iterator[Tally]:
        for finished, output in enumerate(self._outputs, 1):
            for number, part in output.parts.items():
                self._buckets.setdefault(number, []).append(part)
            done(finished, self._inputs)
            yield output.tally

    def then(self, stage: Stage[Bucket, _Next], buckets: int) -> Exchange[_Next]:
        return _PlainExchange((perform(stage, bucket) for bucket in self._emptied()), len(self._buckets))

    def _emptied(self) -> Iterator[Bucket]:
        """Each bucket is forgotten as soon as the stage has it."""
        for number in sorted(self._buckets):
            yield Bucket(number, self._buckets.pop(number))
