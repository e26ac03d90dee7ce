"""Stage 4 by publication: the parts of delays, and the sums of the ways by which they are audited."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from analysis.auditing.way_sums import WaySumStage, WayTally
from analysis.budget.stage import BUDGETED, BudgetStage

WAYS_READ = pa.schema([*BUDGETED, *WayTally().schema()])


@dataclass(frozen=True, slots=True)
class WayStage:
    """Reads the ways of one bucket for both."""

    budget: BudgetStage
    sums: WaySumStage

    def __call__(self, parts: pa.Table) -> pa.Table:
        columns = [*self.budget(parts).columns, *self.sums(parts).table().columns]
        return pa.table(columns, schema=WAYS_READ)
