"""Growing logs as a source of Spark's Structured Streaming: a row is a stretch of whole lines that is new.

Spark's own file source takes each file once, as a whole. This one remembers how far it came in every file, in Spark's
checkpoint, so that a stream that is stopped goes on where it was. Workers read the lines themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes

from analysis.live.growth import Places, grown, latest
from analysis.run_files.logs import Piece

FORMAT = "brokerlab-logs"
PATH, MOST_BYTES = "path", "mostbytes"
"""Options: the directory of logs; how many bytes a micro-batch takes at most, about."""


class GrowingLogs(DataSource):
    """`session.readStream.format(FORMAT)`."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return "file string, start long, end long"

    def streamReader(self, schema: object) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        return GrowthReader(self.options[PATH], int(self.options[MOST_BYTES]))


class StretchOfLines(InputPartition):
    """All that is new; one task tells of it, for there is little to tell."""

    def __init__(self, pieces: list[Piece]) -> None:
        super().__init__(None)
        self.pieces = pieces


class GrowthReader(DataSourceStreamReader):
    """Offsets are bytes by file name."""

    def __init__(self, logs: str, most: int) -> None:
        self._logs = Path(logs)
        self._most = most

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxBytes(self._most)

    def latestOffset(self, start: Places, limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        return latest(self._logs, start, None if isinstance(limit, ReadAllAvailable) else self._most)

    def partitions(self, start: Places, end: Places) -> list[InputPartition]:
        pieces = grown(self._logs, start, end)
        return [StretchOfLines(pieces)] if pieces else []

    def read(self, partition: InputPartition) -> Iterator[tuple[str, int, int]]:
        assert isinstance(partition, StretchOfLines)
        for piece in partition.pieces:
            yield piece.file, piece.start, piece.end
