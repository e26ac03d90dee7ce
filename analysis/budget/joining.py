"""Ways of notifications and passages of publications, put together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from analysis.auditing.hops.table import Numbers
from analysis.budget.parts import PASSAGE, PassageColumn
from analysis.engines.arrays import elements_of, lengths_of, numbers_of
from analysis.judging.journeys.notified_ways import ArrivalColumn, NoticeColumn
from analysis.judging.journeys.paths import NO_ARRIVAL
from analysis.reading.event_table import Truths

_TIMES, _MIXED = 0x5DEECE66D, 0x2545F4914F6CDD1D
"""Odd numbers, by which the parts of a key differ in all bits."""


@dataclass(frozen=True, slots=True)
class JoinedWays:
    """The ways of one variant, with the passage that each arrival ends. Rows are as their modules have them."""

    arrivals: Numbers
    notices: Numbers
    passages: Numbers
    """One for each arrival; any where it is not known."""
    known: Truths
    """True for each arrival whose passage is known."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """The ways and passages of a bucket."""

    arrivals: Numbers
    notices: Numbers
    passages: Numbers

    def of_variant(self, variant: int) -> JoinedWays:
        own = self.arrivals[:, ArrivalColumn.VARIANT] == variant
        arrivals = self.arrivals[own]
        notices = self.notices[self.notices[:, NoticeColumn.VARIANT] == variant]
        places = np.cumsum(own) - 1
        for rows, column in ((arrivals, ArrivalColumn.BEFORE), (notices, NoticeColumn.ARRIVAL)):
            named = rows[:, column] != NO_ARRIVAL
            rows[named, column] = places[rows[named, column]]
        passages = np.flatnonzero(self.passages[:, PassageColumn.VARIANT] == variant)
        if not len(passages):
            nothing = np.zeros((len(arrivals), PASSAGE), dtype=np.int64)
            return JoinedWays(arrivals, notices, nothing, np.zeros(len(arrivals), dtype=np.bool_))
        ended, asked = _keys(self.passages, PassageColumn)[passages], _keys(arrivals, ArrivalColumn)
        order = np.argsort(ended)
        found = order.take(np.searchsorted(ended, asked, sorter=order), mode="clip")
        return JoinedWays(arrivals, notices, self.passages[passages[found]], ended[found] == asked)


def joined(parts: pa.Table) -> Bucket:
    """The ways and passages in rows of `WAYS`, which come in any order."""
    arrivals = _rows(parts, "arrivals", len(ArrivalColumn))
    notices = _rows(parts, "notices", len(NoticeColumn))
    lengths = lengths_of(parts.column("arrivals")) // len(ArrivalColumn)
    before = np.cumsum(lengths) - lengths
    of_notices = lengths_of(parts.column("notices")) // len(NoticeColumn)
    for rows, column, counts in (
        (arrivals, ArrivalColumn.BEFORE, lengths),
        (notices, NoticeColumn.ARRIVAL, of_notices),
    ):
        first = np.repeat(before, counts)
        rows[:, column] += np.where(rows[:, column] == NO_ARRIVAL, 0, first)
    return Bucket(arrivals, notices, _rows(parts, "passages", PASSAGE))


def _rows(parts: pa.Table, name: str, columns: int) -> Numbers:
    return numbers_of(elements_of(parts.column(name))).reshape(-1, columns).copy()


def _keys(rows: Numbers, column: type[ArrivalColumn] | type[PassageColumn]) -> Numbers:
    return turn_keys(rows[:, column.MESSAGE], rows[:, column.BROKER], rows[:, column.TIME])


def turn_keys(messages: Numbers, brokers: Numbers, turns: Numbers) -> Numbers:
    """A number for each message, broker and turn."""
    return np.asarray(messages ^ (turns * _TIMES ^ brokers * _MIXED))
