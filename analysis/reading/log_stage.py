"""Stage 1, by share of the logs: counts, rare events, and the events of publications in buckets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analysis.engines.interface import Output
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
class LogStage:
    """Reads a share of the logs. Records of variants that are not in the manifest are counted and ignored."""

    logged: LoggedVariants
    buckets: int
    """Of publications, and as many of receiving brokers behind them."""
    dilations: Dilations = field(default_factory=lambda: NO_DILATION)
    clocks: Clocks = field(default_factory=lambda: ONE_CLOCK)

    def __call__(self, share: Sequence[Piece]) -> Output[LogTally]:
        reader = ShareReader(self.logged, self.buckets)
        for piece in share:
            for block in self._blocks(piece):
                reader.read(block, piece.file)
        hops = {self.buckets + number: part for number, part in reader.hops.parts().items()}
        return Output(reader.tally(), reader.events.parts() | hops)

    def _blocks(self, piece: Piece) -> Iterator[RecordBlock]:
        """The records of a piece, by the run's clock and in the scenario's time."""
        clock = self.clocks.get(Path(piece.file).name)
        if clock is None:
            yield from read_piece(piece, self.dilations)
            return
        for block in read_piece(piece):
            clock.bring_to_run_time(block.records)
            bring_to_scenario_time(block.records, self.dilations)
            yield block
