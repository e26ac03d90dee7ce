"""The engine that is plain Python: one process, one stage after another, nothing to install and nothing to start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from tempfile import TemporaryFile
from typing import IO, Generic, NamedTuple, TypeVar

from analysis.engines.interface import Bucket, Done, Exchange, Input, Output, Stage, Tally, Workers, perform

_Next = TypeVar("_Next")


class PlainEngine:
    """Runs stages in this process. Buckets wait in a temporary file: about 60 bytes for each record of a publication,
    so that memory does not grow with them."""

    name = "plain Python"

    def open(self) -> AbstractContextManager[Workers]:
        return nullcontext(_PlainWorkers())


class _PlainWorkers:
    parallelism = 1

    def run(self, inputs: Sequence[Input], stage: Stage[Input, Tally], buckets: int) -> Exchange[Tally]:
        return _PlainExchange((perform(stage, one) for one in inputs), len(inputs))


class _PlainExchange(Generic[Tally]):
    """Keeps what a stage left in buckets, once its tallies are taken."""

    def __init__(self, outputs: Iterator[Output[Tally]], inputs: int) -> None:
        self._outputs = outputs
        self._inputs = inputs
        self._waiting = _WaitingParts()

    def tallies(self, done: Done) -> Iterator[Tally]:
        for finished, output in enumerate(self._outputs, 1):
            for number, part in output.parts.items():
                self._waiting.add(number, part)
            done(finished, self._inputs)
            yield output.tally

    def then(self, stage: Stage[Bucket, _Next], buckets: int) -> Exchange[_Next]:
        return _PlainExchange((perform(stage, bucket) for bucket in self._waiting.buckets()), len(self._waiting))


class _Place(NamedTuple):
    """Where a part is in the file."""

    offset: int
    length: int


class _WaitingParts:
    """Parts of buckets in a file without a name, which goes with the last of them or with the process."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._places: dict[int, list[_Place]] = {}
        self._end = 0

    def __len__(self) -> int:
        """How many buckets have parts."""
        return len(self._places)

    def add(self, number: int, part: bytes) -> None:
        if self._file is None:
            self._file = TemporaryFile(prefix="brokerlab-")  # noqa: SIM115 - closed by `buckets`
        self._file.write(part)
        self._places.setdefault(number, []).append(_Place(self._end, len(part)))
        self._end += len(part)

    def buckets(self) -> Iterator[Bucket]:
        """Each, with its parts read one by one as they are asked for."""
        if self._file is None:
            return
        with self._file as file:
            for number in sorted(self._places):
                yield Bucket(number, _read(file, self._places[number]))


def _read(file: IO[bytes], places: Sequence[_Place]) -> Iterator[bytes]:
    for place in places:
        file.seek(place.offset)
        yield file.read(place.length)
