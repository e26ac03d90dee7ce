"""Stage 2 by receiving broker: readings for the audit, and passages of publications for the budget of delays."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from analysis.auditing.hops.readings import HopTally
from analysis.auditing.hops.stage import HopStage
from analysis.auditing.hops.table import HopTable
from analysis.budget.passages import PassageStage
from analysis.engines.arrays import row_of
from analysis.judging.journeys.notified_ways import WAYS
from analysis.pipeline.variant_stage import VARIANT_ROWS, rows_of_variants

HOPS_READ = pa.schema(
    [
        *HopTally().schema(),
        ("passages", pa.list_(pa.struct(list(WAYS)))),
        ("of_variants", pa.list_(pa.struct(list(VARIANT_ROWS)))),
    ]
)
"""The results for a bucket: a tally, parts for the buckets of the budget, and parts of variants."""


@dataclass(frozen=True, slots=True)
class LinkStage:
    """Reads the messages of one bucket for both."""

    hops: HopStage
    passages: PassageStage

    def __call__(self, blocks: pa.Table) -> pa.Table:
        table = HopTable(blocks)
        tally, turns = self.hops(table)
        passages, replayed = self.passages(table)
        columns = [*tally.table().columns, row_of(passages), rows_of_variants(replayed, turns)]
        return pa.table(columns, schema=HOPS_READ)
