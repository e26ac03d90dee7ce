"""Ways of notifications and passages of publications, put together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import numpy as np

from analysis.auditing.hops.table import Numbers
from analysis.budget.parts import PASSAGE, PassageColumn
from analysis.budget.passages import PassagePart
from analysis.judging.journeys.notified_ways import ArrivalColumn, NoticeColumn, WayPart
from analysis.judging.journeys.paths import NO_ARRIVAL
from analysis.reading.event_table import Truths

_decoder = msgspec.msgpack.Decoder(WayPart | PassagePart)
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


def joined(parts: Iterable[bytes]) -> Bucket:
    """The ways and passages of a bucket, which come in any order."""
    arrivals = [np.empty((0, len(ArrivalColumn)), dtype=np.int64)]
    notices = [np.empty((0, len(NoticeColumn)), dtype=np.int64)]
    passages = [np.empty((0, PASSAGE), dtype=np.int64)]
    before = 0
    for part in map(_decoder.decode, parts):
        if isinstance(part, PassagePart):
            passages.append(np.frombuffer(part.rows, dtype=np.int64).reshape(-1, PASSAGE))
            continue
        for encoded, found, column in (
            (part.arrivals, arrivals, ArrivalColumn.BEFORE),
            (part.notices, notices, NoticeColumn.ARRIVAL),
        ):
            rows = np.frombuffer(encoded, dtype=np.int64).reshape(-1, found[0].shape[1]).copy()
            rows[rows[:, column] != NO_ARRIVAL, column] += before
            found.append(rows)
        before += len(arrivals[-1])
    return Bucket(np.concatenate(arrivals), np.concatenate(notices), np.concatenate(passages))


def _keys(rows: Numbers, column: type[ArrivalColumn] | type[PassageColumn]) -> Numbers:
    """A number for each message, broker and turn."""
    turns = rows[:, column.TIME] * _TIMES ^ rows[:, column.BROKER] * _MIXED
    return np.asarray(rows[:, column.MESSAGE] ^ turns)
