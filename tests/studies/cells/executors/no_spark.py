"""A session of Spark that runs jobs of one task in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

_Batches = Iterator[pa.RecordBatch]


class NoSpark:
    """Stands for a session on one core, and for the rows of its job."""

    def addTag(self, _: str) -> None:  # noqa: N802 - Spark's name
        """Nothing is cancelled."""

    def interruptTag(self, _: str) -> None:  # noqa: N802
        """Nothing runs."""

    def range(self, *_: int) -> NoSpark:
        self.batches = [pa.RecordBatch.from_pydict({"id": [0]})]
        return self

    def mapInArrow(self, run: Callable[[_Batches], _Batches], _: str) -> NoSpark:  # noqa: N802
        self.batches = list(run(iter(self.batches)))
        return self

    def toArrow(self) -> pa.Table:  # noqa: N802
        return pa.Table.from_batches(self.batches)

    def selectExpr(self, _: str) -> NoSpark:  # noqa: N802
        return self

    def collect(self) -> list[tuple[int]]:
        return [(0,)]
