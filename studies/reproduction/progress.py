"""The progress of a reproduction: a bar with the time left on a terminal, one line for each run elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from emulation.run.progress import duration
from studies.reproduction.budget import CostedCell
from studies.reproduction.cell import CellWork


@dataclass(slots=True)
class RemainingTime:
    """The time that the remaining runs take, from their recorded costs and the pace of the runs that are done."""

    seconds: float
    """Recorded cost of the remaining runs."""
    in_parallel: int
    """Runs at the same time."""
    expected: float = 0.0
    """Recorded cost of the runs that are done, and the time that they took."""
    took: float = 0.0

    def note(self, expected: float, took: float) -> None:
        """A run of this cost is done, and took this many seconds."""
        self.seconds = max(0.0, self.seconds - expected)
        self.expected += expected
        self.took += took

    @property
    def left(self) -> float:
        """Seconds until all are done."""
        pace = self.took / self.expected if self.expected and self.took else 1.0
        return pace * self.seconds / self.in_parallel


def follow(needed: Sequence[CostedCell], done: Iterable[CellWork], in_parallel: int, console: Console) -> None:
    """Consumes runs as they are done, and shows how many there are and the time left."""
    cost = {costed.cell.name: costed.seconds for costed in needed}
    remaining = RemainingTime(sum(cost.values()), in_parallel)
    columns = (BarColumn(), TextColumn("{task.fields[runs]}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(
            "", total=sum(cost.values()), runs=f"0 of {len(needed)} runs, about {duration(remaining.left)} left"
        )
        for number, work in enumerate(done, start=1):
            expected, result = cost[work.cell.name], work.store.read(work.cell)
            took = expected if result is None else result.seconds
            remaining.note(expected, took)
            outcome = duration(took) if work.failure is None else f"FAILED: {work.failure.message}"
            if work.failure is not None and console.is_terminal:
                console.print(f"{work}: {outcome}", markup=False, soft_wrap=True)
            left = f", about {duration(remaining.left)} left" if number < len(needed) else ""
            progress.update(task, advance=expected, runs=f"{number} of {len(needed)} runs{left}")
            if not console.is_terminal:
                line = f"[{number}/{len(needed)}] {work}: {outcome}{left}"
                console.print(line, markup=False, soft_wrap=True)
