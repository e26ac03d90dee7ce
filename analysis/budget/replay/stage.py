"""The stage that replays the log of one variant at a time, and measures the delays of the replay.

A message can wait for any other one of its variant, so a variant is one group. It takes about 460 bytes for each
message that a broker received, of which the row is 104.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec
import numpy as np
import pyarrow as pa

from analysis.auditing.hops.table import Numbers
from analysis.budget.joining import places_of, turn_keys
from analysis.budget.replay.overlay import replayed
from analysis.budget.replay.rows import EndColumn, HopColumn, PublishingColumn
from analysis.budget.variant import BudgetedVariant
from analysis.engines.arrays import elements_of, numbers_of
from analysis.reading.event_table import Truths
from analysis.reading.publication_events import UNKNOWN
from analysis.tables.totals import Rows, Tally
from record.time_units import MILLISECOND


class ReplayedDelays(msgspec.Struct, frozen=True, kw_only=True):
    """The delays of one variant's notifications in the replay."""

    variant: int
    notifications: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float


@dataclass(slots=True)
class ReplayTally(Tally):
    """The replays of all variants."""

    delays: Rows[ReplayedDelays] = field(default_factory=partial(Rows, ReplayedDelays, ("variant",)))

    def of(self, variant: int) -> ReplayedDelays | None:
        return next((delays for delays in self.delays if delays.variant == variant), None)


REPLAYED = ReplayTally().schema()


@dataclass(frozen=True)
class ReplayStage:
    """Replays one variant."""

    variants: Sequence[BudgetedVariant]
    nodes: Sequence[str]

    def __call__(self, parts: pa.Table) -> pa.Table:
        """`parts` are rows of `REPLAY`."""
        number = int(numbers_of(parts.column("variant"))[0])
        delays = delays_of(
            _rows(parts, "hops", HopColumn),
            _rows(parts, "publishings", PublishingColumn),
            _rows(parts, "ends", EndColumn),
            self.variants[number],
            self.nodes,
        )
        tally = ReplayTally()
        if len(delays):
            p50, p95, p99 = (float(quantile) for quantile in np.percentile(delays, [50, 95, 99]) / MILLISECOND)
            mean = int(delays.sum()) / len(delays) / MILLISECOND
            found = ReplayedDelays(
                variant=number, notifications=len(delays), mean_ms=mean, p50_ms=p50, p95_ms=p95, p99_ms=p99
            )
            tally.delays.add(found)
        return tally.table()


def delays_of(
    hops: Numbers, publishings: Numbers, ends: Numbers, variant: BudgetedVariant, nodes: Sequence[str]
) -> Numbers:
    """The delays in the replay, of those `ends` whose last turn is in it."""
    hops = hops[np.lexsort(hops[:, _ORDER].T)]
    keys = turn_keys(*(hops[:, column] for column in (HopColumn.MESSAGE, HopColumn.BROKER, HopColumn.TURN)))

    def found(rows: Numbers, column: type[PublishingColumn] | type[EndColumn]) -> tuple[Numbers, Truths]:
        asked = turn_keys(rows[:, column.MESSAGE], rows[:, column.BROKER], rows[:, column.TURN])
        places = places_of(asked, keys)
        return places, keys[places] == asked

    places, known = found(publishings, PublishingColumn)
    for of_hop, column in _KNOWN_BETTER:
        hops[places[known], of_hop] = publishings[known, column]
    together = (np.diff(hops[:, _ORDER[1:]], axis=0) == 0).all(axis=1)
    hops[1:][together, HopColumn.OWN] = 0  # a frame that was handled as a whole has its work once
    turns = replayed(hops, variant, nodes)
    places, known = found(ends, EndColumn)
    known &= turns[places] != UNKNOWN
    last = turns[places[known]]
    return np.asarray(last + ends[known, EndColumn.REST] - ends[known, EndColumn.INTENDED])


_ORDER = (HopColumn.MESSAGE, HopColumn.SENDER, HopColumn.BROKER, HopColumn.TURN)
_KNOWN_BETTER = (
    (HopColumn.DUE, PublishingColumn.DUE),
    (HopColumn.READY, PublishingColumn.READY),
    (HopColumn.OWN, PublishingColumn.OWN),
)


def _rows(parts: pa.Table, name: str, column: type[HopColumn] | type[PublishingColumn] | type[EndColumn]) -> Numbers:
    return numbers_of(elements_of(parts.column(name))).reshape(-1, len(column))
