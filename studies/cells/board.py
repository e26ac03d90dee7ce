"""The display of running cells: a bar with the time left and the cell of each host, or one line for each cell."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from emulation.run.progress import duration
from record.wording import count_of
from studies.cells.attempt import AttemptedCell, CellFailure
from studies.cells.cell import AnyCell


class RemainingTime:
    """The time that cells take which are not done yet, from what they cost and the pace of those that were run."""

    def __init__(self, cells: Sequence[AnyCell], in_parallel: int, pace: float = 0.0) -> None:
        """`cells` are still to be run; `pace` is an estimate of the seconds that a unit of their costs takes, 0 where
        it is unknown."""
        self._costs = {cell.key: cell.cost for cell in cells}
        self._in_parallel = in_parallel
        self._estimate = pace
        self._cost = self._seconds = 0.0

    def note(self, cell: AnyCell, seconds: float) -> None:
        """Records the seconds that an attempt at a cell took."""
        self._cost += cell.cost
        self._seconds += seconds

    def end(self, cell: AnyCell) -> None:
        """A cell is done."""
        self._costs.pop(cell.key, None)

    @property
    def left(self) -> float:
        """Seconds until all are done; 0 where it is unknown."""
        pace = self._seconds / self._cost if self._cost and self._seconds else self._estimate
        return pace * sum(self._costs.values()) / min(self._in_parallel, max(1, len(self._costs)))

    def in_words(self) -> str:
        """The time as the user reads it; empty while it is unknown."""
        return f"about {duration(self.left)} left" if self.left else ""


class ConsoleBoard:
    """The progress board of a study on a terminal, or in a file. May be called from several threads."""

    def __init__(
        self,
        console: Console,
        planned: int,
        done: int,
        remaining: RemainingTime,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._clock = clock
        self._planned = planned
        self._done = done
        self._remaining = remaining
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

    def begin(self, cell: AnyCell, host: str) -> None:
        """A host begins an attempt at a cell. Executors that do not learn of it do not call this."""
        with self._lock:
            self._now[host, cell.key] = self._clock()

    def end(self, attempted: AttemptedCell, *, final: bool) -> None:
        """An attempt has ended and is recorded; the cell is done if this attempt was the final one."""
        cell, attempt = attempted.cell, attempted.attempt
        if isinstance(attempt, CellFailure):
            self._count(cell, final=True)
            self._print_end(f"{cell.key}: FAILED: {attempt.message}")
            return
        with self._lock:
            now = self._clock()
            since = self._now.pop((attempt.host, cell.key), now - attempt.seconds)
        # The time on this clock includes the way to the host and back. A host that has begun another attempt at the
        # same cell has overwritten its start; then the attempt's own time counts.
        seconds = max(now - since, attempt.seconds)
        self._remaining.note(cell, seconds)
        self._count(cell, final=final)
        again = "" if final else "; it is run again"
        self._print_end(f"{cell.key} on {attempt.host}: {attempt.result.outcome}{again}", duration(seconds))
        for reason in attempt.result.doubts:
            self.print_line(f"    {reason}")

    def _count(self, cell: AnyCell, *, final: bool) -> None:
        if final:
            with self._lock:
                self._remaining.end(cell)
                self._done += 1

    def _print_end(self, line: str, *timing: str) -> None:
        times = ", ".join(filter(None, (*timing, self._remaining.in_words())))
        self.print_line(f"[{self._done}/{self._planned}] {line}{f' ({times})' if times else ''}")

    def print_line(self, line: str) -> None:
        """Prints a line that stays readable."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _render(self) -> RenderableType:
        with self._lock:
            now, done, left = dict(self._now), self._done, self._remaining.in_words()
        bar = Table.grid(padding=(0, 2))
        bar.add_row(
            ProgressBar(total=self._planned, completed=done, width=40),
            f"{done} of {count_of(self._planned, 'cell')}",
            left,
        )
        clock = self._clock()
        return Group(bar, *(Text(f"  {host}: {key}, {duration(clock - since)}") for (host, key), since in now.items()))
