"""The times for which nodes waited for a processor, as columns that many spans of time can be held against.

Intervals of one node hardly overlap. The kernel counts a wait when it ends, so that an interval with a longer wait than
it lasts is taken to have begun so much earlier.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from analysis.run_files.clocks import HostClock
from record.errors import RunDirectoryError
from record.files import LONGEST_LINE, PROCESSORS, on_host, open_file, processors_of
from record.manifest import HostRecord
from record.processors import (
    HELD_BACK,
    HOST_INTERVAL,
    INTERVAL,
    RELAY,
    HostBlock,
    ProcessorBlock,
    ProcessorLine,
    ProcessorSampling,
    QuotaBlock,
)

Numbers = NDArray[np.int64]
Shares = NDArray[np.float64]
_MICROSECOND = 1000
_NODE, _BEGIN = 0, 1


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
    marks: Numbers
    """The times between which waiting is spread evenly: begin and end of each interval, in the order of ends, and none
    before the one ahead."""
    running: ProcessorTimes | None = None
    """Intervals like these for the time in which the node ran; None where it is not known."""
    held_back: ProcessorTimes | None = None
    """Intervals like these for the time in which the node's own quota held it back, which the kernel counts as waiting,
    too; None where there is none."""

    @classmethod
    def of(cls, begin: Numbers, end: Numbers, waiting: Numbers, running: Numbers | None = None) -> ProcessorTimes:
        """The columns of some intervals in any order."""
        ran = None if running is None else cls.of(begin, end, running)
        begin = np.minimum(begin, end - waiting)
        by_begin, by_end = np.argsort(begin, kind="stable"), np.argsort(end, kind="stable")
        marks = np.maximum.accumulate(np.column_stack((begin[by_end], end[by_end])).ravel())
        return cls(begin[by_begin], _sums(waiting[by_begin]), end[by_end], _sums(waiting[by_end]), marks, ran)

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
        return np.interp(times, self.marks, np.repeat(self.ended, 2)[1:-1])


NodeTimes = Mapping[str, ProcessorTimes]


@dataclass(frozen=True, slots=True)
class SampledVariant:
    """Counts of the samplers in one variant."""

    nodes: NodeTimes
    """The relay of one of several hosts is called `relay@HOST`, as its drivers are."""
    stolen: ProcessorTimes
    """The times for which the hypervisor stole processors, as waits of the hosts; sums over processors."""
    hosts: Mapping[str, str]
    """The host on which each node was sampled; empty where one host had all of the run."""


def read_processor_times(
    directory: Path, dilations: Mapping[str, float], hosts: Sequence[HostRecord] = ()
) -> Mapping[str, SampledVariant]:
    """The times of each variant, in the scenario's time by the run's clock; none of a run that was not sampled.

    `dilations` are those of variants that ran slower than their scenario; `hosts` shared the run. Raises
    `RunDirectoryError`.
    """
    found: dict[str, _Blocks] = defaultdict(_Blocks)
    for host in hosts or [HostRecord(name="")]:
        file = directory / (processors_of(host.name) if host.name else PROCESSORS)
        try:
            if file.exists():
                _read(file, host, found)
        except OSError as error:
            raise RunDirectoryError(f"{file}: {error.strerror}") from error
    return {variant: blocks.sampled(dilations.get(variant, 1.0)) for variant, blocks in found.items()}


@dataclass(slots=True)
class _Blocks:
    """The blocks of one variant, as columns of nanoseconds of the run's clock."""

    nodes: dict[str, list[Numbers]] = field(default_factory=lambda: defaultdict(list))
    """Begin, end, waiting and running of each node."""
    quotas: dict[str, list[Numbers]] = field(default_factory=lambda: defaultdict(list))
    """Begin, end, and held back."""
    host: list[Numbers] = field(default_factory=list)
    """Begin, end, stolen, and held back."""
    hosts: dict[str, str] = field(default_factory=dict)
    """The host of each node, if that is one of several."""

    def add(self, block: ProcessorBlock | QuotaBlock | HostBlock, host: HostRecord) -> None:
        if isinstance(block, HostBlock):
            rows = np.array(block.intervals, dtype=np.int64).reshape(-1, HOST_INTERVAL)
            self.host.append(_columns(rows, block.start, host))
            return
        of_nodes, length = (self.nodes, INTERVAL) if isinstance(block, ProcessorBlock) else (self.quotas, HELD_BACK)
        rows = np.array(block.intervals, dtype=np.int64).reshape(-1, length)
        order = np.argsort(rows[:, _NODE], kind="stable")
        numbers, first = np.unique(rows[order, _NODE], return_index=True)
        columns = _columns(rows[:, _BEGIN:], block.start, host)
        for number, own in zip(numbers.tolist(), np.split(order, first[1:]), strict=True):
            node = block.nodes[number]
            if node == RELAY:
                node = on_host(RELAY, host.name)
            of_nodes[node].append(columns[own])
            if host.name:
                self.hosts[node] = host.name

    def sampled(self, dilation: float) -> SampledVariant:
        nodes = {node: ProcessorTimes.of(*_joined(blocks, dilation)) for node, blocks in self.nodes.items()}
        for node, blocks in self.quotas.items():
            if node in nodes:
                nodes[node] = replace(nodes[node], held_back=ProcessorTimes.of(*_joined(blocks, dilation)))
        begin, end, stolen, _ = _joined([np.empty((0, HOST_INTERVAL), dtype=np.int64), *self.host], dilation)
        return SampledVariant(nodes, ProcessorTimes.of(begin, end, stolen), self.hosts)


def _read(file: Path, host: HostRecord, found: Mapping[str, _Blocks]) -> None:
    """Adds the blocks of a host's file to those of their variants."""
    decoder = msgspec.json.Decoder(ProcessorLine)
    with open_file(file) as lines:
        for number, line in enumerate(iter(partial(lines.readline, LONGEST_LINE), b""), 1):
            if not line.endswith(b"\n") and len(line) < LONGEST_LINE:  # the sampler was killed while it wrote
                break
            try:
                block = decoder.decode(line)
                if not isinstance(block, ProcessorSampling):
                    found[block.variant].add(block, host)
            except (msgspec.DecodeError, ValueError, IndexError) as error:
                raise RunDirectoryError(f"{file}:{number}: {error}") from error


def _columns(rows: Numbers, start: int, host: HostRecord) -> Numbers:
    """Rows of begin, end and times, in nanoseconds of the run's clock."""
    columns = rows * _MICROSECOND
    columns[:, :2] += start
    if host.offsets:
        columns[:, :2] += HostClock(host.offsets).offsets_at(columns[:, :2])
    return columns


def _joined(blocks: list[Numbers], dilation: float) -> Numbers:
    rows = np.concatenate(blocks)
    if dilation != 1:
        rows = np.rint(rows / dilation).astype(np.int64)
    return np.asarray(rows.T)


def _sums(numbers: Numbers) -> Numbers:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(numbers)))
