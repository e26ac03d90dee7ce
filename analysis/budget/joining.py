"""Ways of notifications and passages of publications, put together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from analysis.auditing.hops.table import Numbers
from analysis.budget.order import order_of
from analysis.budget.parts import PASSAGE, PassageColumn
from analysis.engines.arrays import elements_of, lengths_of, numbers_of
from analysis.judging.journeys.notified_ways import ArrivalColumn, NoticeColumn, PublishingColumn
from analysis.judging.journeys.paths import NO_ARRIVAL
from analysis.reading.event_table import NOBODY, Truths

_TIMES, _MIXED, _APART = 0x5DEECE66D, 0x2545F4914F6CDD1D, 0x1D8E4E27C47D124F
"""Odd numbers, by which the parts of a key differ in all bits."""


@dataclass(frozen=True, slots=True)
class JoinedWays:
    """The ways of one variant, with the passage that each arrival ends. Rows are as their modules have them."""

    publishings: Numbers
    """The publications of all variants."""
    arrivals: Numbers
    notices: Numbers
    passages: Numbers
    """The passages of all variants."""
    passage: Numbers
    """The row of the passage of each arrival; any where it is not known."""
    known: Truths
    """True for each arrival whose passage is known."""

    def made(self, rows: Numbers, column: PublishingColumn) -> Numbers:
        """A column of the publications of arrivals or notices, whose first column has them."""
        return np.asarray(self.publishings[rows[:, 0], column])


@dataclass(frozen=True, slots=True)
class Bucket:
    """The ways and passages of a bucket."""

    publishings: Numbers
    arrivals: Numbers
    notices: Numbers
    passages: Numbers

    def of_variant(self, variant: int) -> JoinedWays:
        variants = self.publishings[:, PublishingColumn.VARIANT]
        own = variants[self.arrivals[:, ArrivalColumn.PUBLISHING]] == variant
        arrivals = self.arrivals[own]
        notices = self.notices[variants[self.notices[:, NoticeColumn.PUBLISHING]] == variant]
        places = np.cumsum(own) - 1
        for rows, column in ((arrivals, ArrivalColumn.BEFORE), (notices, NoticeColumn.ARRIVAL)):
            named = rows[:, column] != NO_ARRIVAL
            rows[named, column] = places[rows[named, column]]
        passages = np.flatnonzero(self.passages[:, PassageColumn.VARIANT] == variant)
        if not len(passages):
            nothing = np.zeros(len(arrivals), dtype=np.int64)
            return JoinedWays(self.publishings, arrivals, notices, self.passages, nothing, nothing != 0)
        columns = (PassageColumn.MESSAGE, PassageColumn.BROKER, PassageColumn.TIME, PassageColumn.SENDER)
        ended = _passage_keys(*(self.passages[passages, column] for column in columns))
        messages = self.publishings[arrivals[:, ArrivalColumn.PUBLISHING], PublishingColumn.MESSAGE]
        before = arrivals[:, ArrivalColumn.BEFORE]
        senders = np.where(before == NO_ARRIVAL, NOBODY, arrivals[before, ArrivalColumn.BROKER])
        asked = _passage_keys(messages, arrivals[:, ArrivalColumn.BROKER], arrivals[:, ArrivalColumn.TIME], senders)
        found = places_of(asked, ended)
        known = ended[found] == asked
        return JoinedWays(self.publishings, arrivals, notices, self.passages, passages[found], known)


def joined(parts: pa.Table) -> Bucket:
    """The ways and passages in rows of `WAYS`, which come in any order."""
    publishings = _rows(parts, "publishings", len(PublishingColumn))
    arrivals = _rows(parts, "arrivals", len(ArrivalColumn))
    notices = _rows(parts, "notices", len(NoticeColumn))
    of_publishings, of_arrivals, of_notices = (
        lengths_of(parts.column(name)) // len(columns)
        for name, columns in (
            ("publishings", PublishingColumn),
            ("arrivals", ArrivalColumn),
            ("notices", NoticeColumn),
        )
    )
    first_publishing, first_arrival = (np.cumsum(counts) - counts for counts in (of_publishings, of_arrivals))
    for rows, counts, column, first in (
        (arrivals, of_arrivals, ArrivalColumn.PUBLISHING, first_publishing),
        (arrivals, of_arrivals, ArrivalColumn.BEFORE, first_arrival),
        (notices, of_notices, NoticeColumn.PUBLISHING, first_publishing),
        (notices, of_notices, NoticeColumn.ARRIVAL, first_arrival),
    ):
        rows[:, column] += np.where(rows[:, column] == NO_ARRIVAL, 0, np.repeat(first, counts))
    passages = np.asfortranarray(_rows(parts, "passages", PASSAGE))  # of which most columns are read one by one
    return Bucket(publishings, arrivals, notices, passages)


def _rows(parts: pa.Table, name: str, columns: int) -> Numbers:
    return numbers_of(elements_of(parts.column(name))).reshape(-1, columns)


def places_of(asked: Numbers, keys: Numbers) -> Numbers:
    """The place of each asked key among keys, or any where it is not there. Both are sorted, because a search in order
    is several times as fast as one here and there."""
    order, in_order = order_of(keys), np.argsort(asked)
    found = np.empty(len(asked), dtype=np.int64)
    found[in_order] = order.take(np.searchsorted(keys[order], asked[in_order]), mode="clip")
    return found


def _passage_keys(messages: Numbers, brokers: Numbers, turns: Numbers, senders: Numbers) -> Numbers:
    """A number for each message, receiver, turn and sender: copies of a publication may come from two at one time."""
    return np.asarray(turn_keys(messages, brokers, turns) ^ senders * _APART)


def turn_keys(messages: Numbers, brokers: Numbers, turns: Numbers) -> Numbers:
    """A number for each message, broker and turn."""
    return np.asarray(messages ^ (turns * _TIMES ^ brokers * _MIXED))
