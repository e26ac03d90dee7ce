"""Stage 4 by publication: the parts of delays, and the sums of the ways by which they are audited."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from analysis.auditing.way_sums import WaySumStage, WayTally
from analysis.budget.stage import BudgetStage
from analysis.budget.tally import BudgetTally
from analysis.engines.arrays import rows_in
from analysis.judging.delay_stage import DELAYS
from analysis.pipeline.variant_stage import VARIANT_ROWS, rows_of_variants

WAYS_READ = pa.schema(
    [
        *BudgetTally().schema(),
        ("without_access", pa.list_(pa.struct(list(DELAYS)))),
        *WayTally().schema(),
        ("of_variants", pa.list_(pa.struct(list(VARIANT_ROWS)))),
    ]
)
"""The results for a bucket: tallies, delays without access links, and parts of variants."""


@dataclass(frozen=True, slots=True)
class WayStage:
    """Reads the ways of one bucket for both."""

    budget: BudgetStage
    sums: WaySumStage

    def __call__(self, parts: pa.Table) -> pa.Table:
        budgeted, (sums, passed) = self.budget(parts), self.sums(parts)
        of_variants = rows_of_variants(rows_in(budgeted.column("replayed")), passed)
        columns = [*budgeted.drop_columns("replayed").columns, *sums.table().columns, of_variants]
        return pa.table(columns, schema=WAYS_READ)
