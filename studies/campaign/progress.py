"""The display of a running campaign: a bar with the time left and the cell of each host, or one line for each cell."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from emulation.run.progress import duration
from studies.campaign.cell import Cell
from studies.campaign.executors.interface import AttemptedCell
from studies.campaign.sentences import attempt_line, why_not_valid


@dataclass(slots=True)
class CellDuration:
    """The time that a cell takes: an estimate at first, then the mean of the cells that were run."""

    seconds: float
    """Seconds of one cell; 0 while it is unknown."""
    in_parallel: int
    """Cells that run at the same time."""
    measured: int = 0

    def note(self, seconds: float) -> None:
        total = self.seconds * self.measured + seconds
        self.measured += 1
        self.seconds = total / self.measured

    def left(self, cells: int) -> str:
        """The time that `cells` cells take, as the user reads it; empty while it is unknown."""
        if not self.seconds or not cells:
            return ""
        return f"about {duration(cells * self.seconds / min(self.in_parallel, cells))} left"


class ConsoleBoard:
    """The progress board of a campaign on a terminal, or in a file. May be called from several threads."""

    def __init__(
        self,
        console: Console,
        planned: int,
        done: int,
        cell_duration: CellDuration,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._clock = clock
        self._planned = planned
        self._done = done
        self._cell_duration = cell_duration
        self._now: dict[tuple[str, str], float] = {}
        """The start of each running attempt, by host and cell. A host may begin one before the end of its last is
        shown."""
        self._lock = threading.Lock()
        self._live = Live(console=console, refresh_per_second=2, transient=True, get_renderable=self._render)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def begin(self, cell: Cell, host: str) -> None:
        with self._lock:
            self._now[host, cell.key] = self._clock()

    def end(self, attempted: AttemptedCell, *, final: bool) -> None:
        attempt = attempted.attempt
        with self._lock:
            now = self._clock()
            since = self._now.pop((attempt.host, attempted.cell.key), now - attempt.seconds)
            # The time on this clock includes the way to the host and back. A host that has begun another attempt at the
            # same cell has overwritten its start; then the attempt's own time counts.
            seconds = max(now - since, attempt.seconds)
            self._cell_duration.note(seconds)
            self._done += final
            left = self._cell_duration.left(self._planned - self._done)
        again = "" if final else "; it is run again"
        timing = ", ".join(part for part in (duration(seconds), left) if part)
        line = f"[{self._done}/{self._planned}] {attempted.cell.key} on {attempt.host}: {attempt_line(attempt)}{again}"
        self.print_line(f"{line} ({timing})")
        for reason in why_not_valid(attempt.result):
            self.print_line(f"    {reason}")

    def print_line(self, line: str) -> None:
        """Prints a line that stays readable."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _render(self) -> RenderableType:
        with self._lock:
            now, done = dict(self._now), self._done
            left = self._cell_duration.left(self._planned - done)
        bar = Table.grid(padding=(0, 2))
        bar.add_row(
            ProgressBar(total=self._planned, completed=done, width=40), f"{done} of {self._planned} cells", left
        )
        clock = self._clock()
        return Group(bar, *(Text(f"  {host}: {key}, {duration(clock - since)}") for (host, key), since in now.items()))
