"""The plain Python engine: one process, one stage after another, nothing to install and nothing to start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from tempfile import TemporaryFile
from typing import IO, Generic, NamedTuple, TypeVar

from analysis.engines.in_process import InProcess
from analysis.engines.interface import Done, Exchange, Input, Output, ShuffleBucket, Stage, Tally, Workers, perform

_Next = TypeVar("_Next")


class PlainEngine:
    """Runs stages in this process. Buckets wait in a temporary file (about 50 bytes for each record of a publication),
    so that memory does not grow with them."""

    name = "plain Python"

    def open(self) -> AbstractContextManager[Workers]:
        return nullcontext(_PlainWorkers())


class _PlainWorkers(InProcess):
    def run(self, inputs: Sequence[Input], stage: Stage[Input, Tally], buckets: int) -> Exchange[Tally]:
        return _PlainExchange((perform(stage, given) for given in inputs), len(inputs))


class _PlainExchange(Generic[Tally]):
    """Keeps the buckets that a stage filled while its tallies are consumed."""

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

    def then(self, stage: Stage[ShuffleBucket, _Next], buckets: int) -> Exchange[_Next]:
        return _PlainExchange((perform(stage, bucket) for bucket in self._waiting.buckets()), len(self._waiting))


class _Section(NamedTuple):
    """The position of a part in the file."""

    offset: int
    length: int


class _WaitingParts:
    """Parts of buckets in an unnamed file, which is removed when all are read or when the process ends."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._sections: dict[int, list[_Section]] = {}
        self._end = 0

    def __len__(self) -> int:
        """The number of buckets that have parts."""
        return len(self._sections)

    def add(self, number: int, part: bytes) -> None:
        if self._file is None:
            self._file = TemporaryFile(prefix="brokerlab-")  # noqa: SIM115 - closed by `buckets`
        self._file.write(part)
        self._sections.setdefault(number, []).append(_Section(self._end, len(part)))
        self._end += len(part)

    def buckets(self) -> Iterator[ShuffleBucket]:
        """The buckets, whose parts are read one by one on demand."""
        if self._file is None:
            return
        with self._file as file:
            for number in sorted(self._sections):
                yield ShuffleBucket(number, _read(file, self._sections[number]))


def _read(file: IO[bytes], sections: Sequence[_Section]) -> Iterator[bytes]:
    for section in sections:
        file.seek(section.offset)
        yield file.read(section.length)
