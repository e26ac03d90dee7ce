"""Stage 5 by variant: the replay without contention, and the backlog by which it is audited."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from analysis.auditing.backlogs import BacklogStage, BacklogTally
from analysis.auditing.hops.turns import TURNS
from analysis.budget.replay.rows import REPLAY
from analysis.budget.replay.stage import REPLAYED, ReplayStage
from analysis.engines.arrays import integers, lists, row_of

VARIANT_ROWS = pa.schema([*REPLAY, *(field for field in TURNS if field.name not in REPLAY.names)])
"""Parts of variants, row after row: of replays, and turns by which these are audited."""
VARIANTS_READ = pa.schema([*REPLAYED, *BacklogTally().schema()])


@dataclass(frozen=True, slots=True)
class VariantStage:
    """Reads the messages of one variant for both."""

    replay: ReplayStage
    backlogs: BacklogStage

    def __call__(self, parts: pa.Table) -> pa.Table:
        columns = [*self.replay(parts).columns, *self.backlogs(parts).table().columns]
        return pa.table(columns, schema=VARIANTS_READ)


def rows_of_variants(*tables: pa.Table) -> pa.ListArray:
    """The rows of tables that have some of the columns of `VARIANT_ROWS`, as the only value of a column."""
    return row_of(pa.concat_tables(map(_with_all_columns, tables)))


def _with_all_columns(table: pa.Table) -> pa.Table:
    nothing = lists(integers([], pa.int64()), [0] * table.num_rows)
    columns = [table.column(name) if name in table.schema.names else nothing for name in VARIANT_ROWS.names]
    return pa.table(columns, schema=VARIANT_ROWS)
