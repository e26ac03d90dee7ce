"""A progress board that notes whether each attempt was final."""

from __future__ import annotations

from studies.cells import AnyCell
from studies.cells.attempt import AttemptedCell


class RecordingBoard:
    def __init__(self) -> None:
        self.finals: list[bool] = []

    def begin(self, cell: AnyCell, host: str) -> None:
        """Notes nothing."""

    def print_line(self, line: str) -> None:
        """Notes nothing."""

    def end(self, attempted: AttemptedCell, *, final: bool) -> None:
        self.finals.append(final)
