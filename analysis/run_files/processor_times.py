"""The times for which nodes waited for a processor, as columns that many spans of time can be held against.

Intervals of one node hardly overlap. The kernel counts a wait when it ends, so that an interval with a longer wait than
it lasts is taken to have begun so much earlier.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from record.errors import RunDirectoryError
from record.files import LONGEST_LINE, PROCESSORS, open_file
from record.processors import INTERVAL, ProcessorBlock, ProcessorLine

Numbers = NDArray[np.int64]
Shares = NDArray[np.float64]
_MICROSECOND = 1000
_NODE, _BEGIN = 0, 1
_TIMES = slice(_BEGIN, INTERVAL)


@dataclass(frozen=True, slots=True)
class ProcessorTimes:
    """The intervals of one node, in nanoseconds."""

    begins: Numbers
    """Begins of the intervals, ascending; `begun` belongs to them."""
    begun: Numbers
    """Waiting of all intervals up to that begin, that one included, after a zero."""
    ends: Numbers
    ended: Numbers
    """Waiting of all intervals up to that end, after a zero."""
    running: ProcessorTimes | None = None
    """Intervals like these for the time in which the node ran; None where it is not known."""

    @classmethod
    def of(cls, begin: Numbers, end: Numbers, waiting: Numbers, running: Numbers | None = None) -> ProcessorTimes:
        """The columns of some intervals in any order."""
        ran = None if running is None else cls.of(begin, end, running)
        begin = np.minimum(begin, end - waiting)
        by_begin, by_end = np.argsort(begin, kind="stable"), np.argsort(end, kind="stable")
        return cls(begin[by_begin], _sums(waiting[by_begin]), end[by_end], _sums(waiting[by_end]), ran)

    @property
    def waited(self) -> int:
        """Waiting of all intervals together."""
        return int(self.ended[-1])

    def waited_at_most(self, begin: Numbers, end: Numbers) -> Numbers:
        """The most that the node can have waited in each span: that of every interval that touches it, up to its
        length."""
        return np.asarray(np.minimum(self.touched_by_waits(begin, end), end - begin))

    def touched_by_waits(self, begin: Numbers, end: Numbers) -> Numbers:
        """Nanoseconds of waiting in all intervals that touch each span; an interval counts whole."""
        begun = self.begun[np.searchsorted(self.begins, end, side="right")]
        return np.asarray(begun - self.ended[np.searchsorted(self.ends, begin, side="left")])

    def waited_in(self, begin: Numbers, end: Numbers) -> Shares:
        """The likely waiting in each span, as if waits were spread evenly over their intervals."""
        return np.clip(self._until(end) - self._until(begin), 0, end - begin)

    def _until(self, times: Numbers) -> Shares:
        if not len(self.ends):
            return np.zeros(len(times))
        marks = np.concatenate((self.begins[:1], self.ends))
        return np.interp(times, marks, self.ended)


NodeTimes = Mapping[str, ProcessorTimes]


def read_processor_times(directory: Path, dilations: Mapping[str, float]) -> Mapping[str, NodeTimes]:
    """The times of each variant's nodes, in the scenario's time; none of a run that was not sampled.

    `dilations` are those of variants that ran slower than their scenario. Raises `RunDirectoryError`.
    """
    file = directory / PROCESSORS
    if not file.exists():
        return {}
    try:
        return _read(file, dilations)
    except OSError as error:
        raise RunDirectoryError(f"{file}: {error.strerror}") from error


def _read(file: Path, dilations: Mapping[str, float]) -> Mapping[str, NodeTimes]:
    found: dict[str, dict[str, list[Numbers]]] = defaultdict(lambda: defaultdict(list))
    decoder = msgspec.json.Decoder(ProcessorLine)
    with open_file(file) as lines:
        for number, line in enumerate(iter(partial(lines.readline, LONGEST_LINE), b""), 1):
            if not line.endswith(b"\n") and len(line) < LONGEST_LINE:  # the sampler was killed while it wrote
                break
            try:
                block = decoder.decode(line)
                if isinstance(block, ProcessorBlock):
                    _add(block, found[block.variant])
            except (msgspec.DecodeError, ValueError, IndexError) as error:
                raise RunDirectoryError(f"{file}:{number}: {error}") from error
    return {
        variant: {node: _times(blocks, dilations.get(variant, 1.0)) for node, blocks in nodes.items()}
        for variant, nodes in found.items()
    }


def _add(block: ProcessorBlock, nodes: Mapping[str, list[Numbers]]) -> None:
    rows = np.array(block.intervals, dtype=np.int64).reshape(-1, INTERVAL)
    order = np.argsort(rows[:, _NODE], kind="stable")
    numbers, first = np.unique(rows[order, _NODE], return_index=True)
    columns = rows[:, _TIMES] * _MICROSECOND
    columns[:, :2] += block.start
    for number, own in zip(numbers.tolist(), np.split(order, first[1:]), strict=True):
        nodes[block.nodes[number]].append(columns[own])


def _times(blocks: list[Numbers], dilation: float) -> ProcessorTimes:
    rows = np.concatenate(blocks)
    if dilation != 1:
        rows = np.rint(rows / dilation).astype(np.int64)
    return ProcessorTimes.of(*rows.T)


def _sums(numbers: Numbers) -> Numbers:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(numbers)))
