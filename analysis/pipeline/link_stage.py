"""Stage 2 by receiving broker: readings for the audit, and passages of publications for the budget of delays."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from analysis.auditing.hops.readings import HopTally
from analysis.auditing.hops.stage import HopStage
from analysis.auditing.hops.table import HopTable
from analysis.budget.passages import PassageStage
from analysis.budget.replay.rows import REPLAY
from analysis.engines.arrays import row_of
from analysis.judging.journeys.notified_ways import WAYS

HOPS_READ = pa.schema(
    [
        *HopTally().schema(),
        ("passages", pa.list_(pa.struct(list(WAYS)))),
        ("replayed", pa.list_(pa.struct(list(REPLAY)))),
    ]
)
"""The results for a bucket: a tally, parts for the buckets of the budget, and parts of the replays of variants."""


@dataclass(frozen=True, slots=True)
class LinkStage:
    """Reads the messages of one bucket for both."""

    hops: HopStage
    passages: PassageStage

    def __call__(self, blocks: pa.Table) -> pa.Table:
        table = HopTable(blocks)
        columns = [*self.hops(table).table().columns, *map(row_of, self.passages(table))]
        return pa.table(columns, schema=HOPS_READ)
