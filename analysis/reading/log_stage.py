"""Stage 1, by share of the logs: counts, rare events, and the events of publications in buckets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analysis.engines.interface import Output
from analysis.reading.event_rows import EventRows
from analysis.reading.log_tally import LogTally
from analysis.reading.share_reader import LoggedVariants, ShareReader
from analysis.run_files.clocks import ONE_CLOCK, Clocks
from analysis.run_files.logs import (
    NO_DILATION,
    Dilations,
    Piece,
    RecordBlock,
    bring_to_scenario_time,
    read_piece,
)


@dataclass(frozen=True, slots=True)
class Share:
    """A part of the logs that one task reads."""

    number: int
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True)
class LogStage:
    """Reads a share of the logs. Records of variants that are not in the manifest are counted and ignored."""

    logged: LoggedVariants
    buckets: int
    """Of publications, and as many of receiving brokers behind them."""
    dilations: Dilations = field(default_factory=lambda: NO_DILATION)
    clocks: Clocks = field(default_factory=lambda: ONE_CLOCK)
    parts: str = ""
    """The directory for parts of the table `events`; empty where that is not wanted."""

    def __call__(self, share: Share) -> Output[LogTally]:
        reader = ShareReader(self.logged, self.buckets)
        rows = EventRows() if self.parts else None
        for piece in share.pieces:
            for block in self._blocks(piece, rows):
                reader.read(block, piece.file)
        if rows is not None:
            rows.write(Path(self.parts), share.number, self.logged.numbers)
        hops = {self.buckets + number: part for number, part in reader.hops.parts().items()}
        return Output(reader.tally(), reader.events.parts() | hops)

    def _blocks(self, piece: Piece, rows: EventRows | None) -> Iterator[RecordBlock]:
        """The records of a piece, by the run's clock and in the scenario's time; they are added to `rows`."""
        clock = self.clocks.get(Path(piece.file).name)
        for block in read_piece(piece):
            if clock is not None:
                clock.bring_to_run_time(block.records)
            run_times = [record.time for record in block.records] if rows is not None and self.dilations else None
            if self.dilations:
                bring_to_scenario_time(block.records, self.dilations)
            if rows is not None:
                rows.add(block, run_times)
            yield block
