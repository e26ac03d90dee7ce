"""The backlog that waits for a processor made at brokers, by which the replay of a log is audited.

1. A message is *ready* when it is due: by its link as asked after it was written, or when its publisher published it.
   It was ready later than that as far as its broker neither ran nor waited before the message was logged: so the
   broker did not have it yet.
2. The *work* of a message is the time to its turn from that of the message before, or from when it was ready, less the
   waits meanwhile. A broker is one server: the work that pends when a message is ready is what has come less what is
   done; without waits it would be what Lindley's recursion has. The difference is backlog that waits made.
3. A message's turn was later than by that recursion by its own waits, which are contention, and by that backlog. Where
   its broker did not take messages in the order in which they were ready, it is the lesser of what both say.

Messages would also have been ready earlier if others had not been held up elsewhere, so this is the least of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec
import numpy as np
import pyarrow as pa

from analysis.auditing.hops.asked import AskedVariant
from analysis.auditing.hops.table import Numbers
from analysis.auditing.hops.turns import TurnColumn
from analysis.auditing.way_sums import PassedColumn
from analysis.engines.arrays import elements_of, numbers_of
from analysis.reading.publication_events import UNKNOWN
from analysis.run_files.processor_times import ProcessorTimes
from analysis.tables.totals import Rows, Sum, Tally


class BacklogSum(msgspec.Struct):
    """The backlog on the ways of one variant's notifications, nanoseconds."""

    variant: int
    backlog: Sum = 0


@dataclass(slots=True)
class BacklogTally(Tally):
    """The backlogs of variants."""

    backlogs: Rows[BacklogSum] = field(default_factory=partial(Rows, BacklogSum))


@dataclass(frozen=True)
class BacklogStage:
    """Sums the backlog of one variant."""

    variants: Sequence[AskedVariant]
    nodes: Sequence[str]
    """Brokers and drivers, by number."""

    def __call__(self, parts: pa.Table) -> BacklogTally:
        """`parts` are rows that have the columns of `TURNS`."""
        tally = BacklogTally()
        number = int(numbers_of(parts.column("variant"))[0])
        turns = _by_broker(_rows(parts, "turns", len(TurnColumn)))
        passed = _by_broker(_rows(parts, "passed", len(PassedColumn)))
        for broker, times in self._sampled(number):
            if broker in passed:
                over_links = turns.get(broker, np.empty((0, len(TurnColumn)), dtype=np.int64))
                tally.backlogs.of(number).backlog += _on_ways(over_links, passed[broker], times)
        return tally

    def _sampled(self, variant: int) -> Iterator[tuple[int, ProcessorTimes]]:
        processors = self.variants[variant].processors
        return ((number, processors[node]) for number, node in enumerate(self.nodes) if node in processors)


def _on_ways(turns: Numbers, passed: Numbers, times: ProcessorTimes) -> int:
    """The backlog of one broker's turns, once for each notification on whose way the turn is."""
    clients = passed[passed[:, PassedColumn.PUBLISHED] != UNKNOWN]
    published = clients[:, [PassedColumn.BROKER, PassedColumn.TURN, PassedColumn.PUBLISHED, PassedColumn.TURN]]
    rows = np.concatenate((turns, published))
    rows = rows[np.argsort(rows[:, TurnColumn.TURN], kind="stable")]
    turn = rows[:, TurnColumn.TURN]
    behind = backlogs(turn, rows[:, TurnColumn.DUE], rows[:, TurnColumn.ARRIVED], times)
    places = np.searchsorted(turn, passed[:, PassedColumn.TURN], side="right") - 1
    found = (places >= 0) & (turn[places] == passed[:, PassedColumn.TURN])
    return int((behind[places] * passed[:, PassedColumn.NOTIFICATIONS])[found].sum())


def backlogs(turn: Numbers, due: Numbers, arrived: Numbers, times: ProcessorTimes) -> Numbers:
    """The backlog of waits ahead of each message of a broker, in the order of turns. It is negative for messages that
    were taken before others which had been ready earlier."""
    due = np.minimum(due, turn)
    ready = _ready(due, np.clip(arrived, due, turn), times)
    begun = np.maximum(ready, np.concatenate((turn[:1] * 0, turn[:-1])))
    work = turn - begun - _waited(begun, turn, times)
    order = np.argsort(ready, kind="stable")
    come = np.empty_like(work)
    come[order] = np.cumsum(work[order])
    idle = np.empty_like(work)
    idle[order] = np.maximum.accumulate((ready - come + work)[order])
    at_work = np.maximum(np.searchsorted(begun, ready, side="right") - 1, 0)
    until = np.clip(ready, begun[at_work], turn[at_work])
    done = (np.cumsum(work) - work)[at_work] + until - begun[at_work] - _waited(begun[at_work], until, times)
    without = come + idle
    later = turn - without - _waited(ready, turn, times)
    return np.asarray(np.minimum(later, come - done - (without - ready)))


def _ready(due: Numbers, arrived: Numbers, times: ProcessorTimes) -> Numbers:
    """The times from which a broker had messages, or would have had them if it had not been busy."""
    busy = times.waited_in(due, arrived)
    if times.running is not None:
        busy = busy + times.running.waited_in(due, arrived)
    return np.asarray(arrived - np.minimum(np.rint(busy).astype(np.int64), arrived - due))


def _waited(begin: Numbers, end: Numbers, times: ProcessorTimes) -> Numbers:
    """The likely waiting in each span, less what the node's own quota took."""
    waited = times.waited_in(begin, end)
    if times.held_back is not None:
        waited = np.maximum(waited - times.held_back.waited_in(begin, end), 0)
    return np.rint(waited).astype(np.int64)


def _rows(parts: pa.Table, name: str, columns: int) -> Numbers:
    return numbers_of(elements_of(parts.column(name))).reshape(-1, columns)


def _by_broker(rows: Numbers) -> dict[int, Numbers]:
    """Rows by their first column."""
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    found, first = np.unique(rows[:, 0], return_index=True)
    return dict(zip(found.tolist(), np.split(rows, first[1:]), strict=True)) if len(rows) else {}
