"""Progress of a trial: a bar where the output is a terminal, else a line for each suite; and each row that fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from studies.broker_kit.rows import RowResult, RowVerdict, Suite


class TrialDisplay(Protocol):
    """Progress of rows."""

    def doing(self, what: str) -> None:
        """Shows the row that begins."""

    def done(self, result: RowResult) -> None:
        """One more is done."""


class LiveDisplay:
    """Progress bar for a terminal, which is drawn anew while checks run."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total)

    def doing(self, what: str) -> None:
        self._progress.update(self._task, description=what)

    def done(self, result: RowResult) -> None:
        self._progress.update(self._task, advance=1)
        if line := line_of(result):
            self._progress.console.print(line, markup=False, soft_wrap=True)


class PlainDisplay:
    """Lines for a file or a log."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._suite: Suite | None = None

    def doing(self, what: str) -> None:
        """Lines come often enough."""

    def done(self, result: RowResult) -> None:
        if result.row.suite is not self._suite:
            self._suite = result.row.suite
            self._console.print(f"{self._suite}:", markup=False)
        if line := line_of(result):
            self._console.print(line, markup=False, soft_wrap=True)


@contextmanager
def trial_display(console: Console, total: int) -> Iterator[TrialDisplay]:
    """The display that fits where the output goes."""
    if not console.is_terminal:
        yield PlainDisplay(console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield LiveDisplay(progress, total)


def line_of(result: RowResult) -> str:
    """A row that did not pass, in words; empty for others."""
    match result.verdict:
        case RowVerdict.FAILED:
            return f"FAIL {result.row.id}: {result.reason}\n     demanded: {result.row.demand}"
        case RowVerdict.ADVISED:
            return f"note {result.row.id}: {result.reason}\n     recommended: {result.row.demand}"
        case _:
            return ""
