"""Stage 1, by share of the logs: counts, rare events, the events of publications, and messages at links' ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
import pyarrow as pa

from analysis.engines.arrays import row_of
from analysis.reading.event_rows import EventRows
from analysis.reading.hop_events import HOP_BLOCKS
from analysis.reading.log_tally import LogTally
from analysis.reading.logged_variants import LoggedVariants
from analysis.reading.publication_events import EVENT_BLOCKS
from analysis.reading.share_reader import ShareReader
from analysis.run_files.clocks import ONE_CLOCK, Clocks
from analysis.run_files.folders import Folder
from analysis.run_files.logs import (
    NO_DILATION,
    Dilations,
    Logs,
    Piece,
    RecordBlock,
    bring_to_scenario_time,
)
from analysis.tables.rows import rows_of


class Share(msgspec.Struct, frozen=True):
    """A part of the logs that one task reads."""

    number: int
    pieces: list[Piece]


READ = pa.schema(
    [
        *LogTally().schema(),
        ("events", pa.list_(pa.struct(list(EVENT_BLOCKS)))),
        ("hops", pa.list_(pa.struct(list(HOP_BLOCKS)))),
    ]
)
"""The results of stage 1 for a share: its tally, and blocks for the buckets of stage 2."""


@dataclass(frozen=True, slots=True)
class LogStage:
    """Reads a share of the logs. Records of variants that are not in the manifest are counted and ignored."""

    logs: Logs
    logged: LoggedVariants
    buckets: int
    """Number of buckets of publications."""
    link_buckets: int
    """Number of buckets of receiving brokers; 0 where messages at links' ends are not wanted."""
    dilations: Dilations = field(default_factory=lambda: NO_DILATION)
    clocks: Clocks = field(default_factory=lambda: ONE_CLOCK)
    parts: Folder | None = None
    """The folder for parts of the table `events`; None where that is not wanted."""

    def __call__(self, row: pa.Table) -> pa.Table:
        [share] = rows_of(row, Share)
        reader = ShareReader(self.logged, self.buckets, self.link_buckets)
        rows = EventRows() if self.parts is not None else None
        for piece in share.pieces:
            for block in self._blocks(piece, rows):
                reader.read(block, piece.file)
        if rows is not None and self.parts is not None:
            rows.write(self.parts, share.number, self.logged.numbers)
        blocks = [row_of(reader.events.blocks()), row_of(reader.hops.blocks())]
        return pa.table([*reader.tally().table().columns, *blocks], schema=READ)

    def _blocks(self, piece: Piece, rows: EventRows | None) -> Iterator[RecordBlock]:
        """The records of a piece, by the run's clock and in the scenario's time; they are added to `rows`."""
        clock = self.clocks.get(piece.file)
        for block in self.logs.blocks(piece):
            if clock is not None:
                clock.bring_to_run_time(block.records)
            run_times = [record.time for record in block.records] if rows is not None and self.dilations else None
            if self.dilations:
                bring_to_scenario_time(block.records, self.dilations)
            if rows is not None:
                rows.add(block, run_times)
            yield block
