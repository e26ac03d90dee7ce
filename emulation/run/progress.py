"""Progress of a run as the user sees it: a live display on a terminal, plain lines anywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from record.manifest import PhaseName

PLAIN_INTERVAL = 10.0
"""Seconds between two plain lines of the same phase."""

PHASES = tuple(PhaseName)


@dataclass(slots=True)
class Snapshot:
    """The state of a run that is worth a look. The run writes it, the display reads it."""

    variant: str = ""
    variant_number: int = 0
    variants: int = 0
    phase: str = ""
    activity: str = ""
    """The present activity, in words."""
    clock: Callable[[], float] = time.monotonic
    """The run's time in seconds, which the times below are of."""
    speed: float | None = None
    """Seconds of the run's time that pass in one of the user's: None where it is the same time, 0 while it is not
    known yet."""
    dilation: float = 1.0
    """Seconds of the run's time that one of the scenario's takes."""
    phase_begin: float = 0.0
    phase_end: float | None = None
    """End of the phase; None when it is not known."""
    run_end: float | None = None
    """The expected end of the whole run."""
    brokers: int = 0
    brokers_up: int = 0
    links: int | None = 0
    """Not known (None) where nobody tells which of them are up."""
    links_up: int = 0
    published: int = 0
    publications: int = 0
    """Publications in the workload; 0 where they are not counted while the run goes on."""
    delivered: int = 0
    rejected: int = 0

    def begin_variant(self, name: str, number: int, run_end: float) -> None:
        """Counts from zero again."""
        self.variant, self.variant_number, self.run_end = name, number, run_end
        self.phase, self.activity, self.phase_end = "start", "", None
        self.brokers_up = self.links_up = self.published = self.publications = self.delivered = self.rejected = 0

    def become(self, other: Snapshot) -> None:
        """Takes over all that another snapshot holds."""
        for field in fields(other):
            setattr(self, field.name, getattr(other, field.name))

    def share(self) -> float | None:
        """Share of the phase that has passed, 0 to 1; None when its end is not known."""
        if self.phase_end is None or self.phase_end <= self.phase_begin:
            return None
        return min(1.0, max(0.0, (self.clock() - self.phase_begin) / (self.phase_end - self.phase_begin)))

    def length(self) -> str:
        """The length of the phase in parentheses, with the real time that it takes where that is known to differ.

        Empty while its end is not known. How long virtual time takes shows only while it passes.
        """
        if self.phase_end is None:
            return ""
        whole = self.phase_end - self.phase_begin
        if self.speed is not None:
            return f"({duration(whole)} of virtual time)"
        if self.dilation != 1:
            return f"({duration(whole / self.dilation)} of the scenario's time, {duration(whole)} of real time)"
        return f"({duration(whole)})"

    def until(self, moment: float) -> str:
        """The user's expected wait for a moment of the run's time. It is named where virtual time is another."""
        ahead = moment - self.clock()
        if self.speed is None:
            return duration(ahead)
        return f"{duration(ahead / self.speed)} of real time" if self.speed else f"{duration(ahead)} of virtual time"

    def stretched(self) -> str | None:
        """Position of the phase in the scenario's time; None where that is the run's time, or the end is not known."""
        if self.dilation == 1 or self.phase_end is None:
            return None
        passed, whole = self.clock() - self.phase_begin, self.phase_end - self.phase_begin
        shown = f"{max(0.0, min(passed, whole)) / self.dilation:.1f} of {whole / self.dilation:g} s"
        return f"{shown} of the scenario's time, {self.dilation:g} times slower"


class RunDisplay(Protocol):
    """Display of a run's progress."""

    def refresh(self) -> None:
        """The snapshot has changed."""

    def print_line(self, line: str) -> None:
        """Prints a line that stays readable."""


def duration(seconds: float) -> str:
    """A time for people: `7 s`, `2 min 05 s`."""
    whole = max(0, round(seconds))
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"


class LiveRunDisplay:
    """A few lines that are redrawn in place."""

    def __init__(self, live: Live, console: Console) -> None:
        self._live = live
        self._console = console

    def refresh(self) -> None:
        self._live.refresh()

    def print_line(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False)


def render(snapshot: Snapshot) -> RenderableType:
    """The live display's lines: position of the run, progress of the phase, and counters."""
    done = PHASES.index(snapshot.phase) if snapshot.phase in PHASES else -1
    trail = Text("  ")
    for number, phase in enumerate(PHASES):
        style = "green" if number < done else "bold cyan" if number == done else "dim"
        trail.append(phase, style=style).append(" › " if phase != PHASES[-1] else "", style="dim")
    trail.append(f"   {snapshot.activity}", style="dim")

    bar = Table.grid(padding=(0, 2))
    share = snapshot.share()
    bar.add_row(
        "",
        ProgressBar(total=1.0, completed=share or 0.0, width=40, pulse=share is None, animation_time=time.monotonic()),
        "" if snapshot.phase_end is None else f"{snapshot.until(snapshot.phase_end)} left in {snapshot.phase}",
        "" if snapshot.run_end is None else f"about {snapshot.until(snapshot.run_end)} left in all",
    )
    heading = Text(f"variant {snapshot.variant_number} of {snapshot.variants}: ").append(snapshot.variant, style="bold")
    return Group(heading, trail, bar, Text(f"  {counters(snapshot)}"))


def counters(snapshot: Snapshot) -> str:
    """Brokers, links and messages in one line."""
    parts = [f"brokers {snapshot.brokers_up}/{snapshot.brokers}"]
    if snapshot.links is not None:
        parts.append(f"links {snapshot.links_up}/{snapshot.links}")
    if snapshot.publications and (
        snapshot.published or snapshot.phase in {PhaseName.RUN, PhaseName.DRAIN, PhaseName.STOP}
    ):
        parts += [f"published {snapshot.published:,}/{snapshot.publications:,}", f"delivered {snapshot.delivered:,}"]
    if snapshot.rejected:
        parts.append(f"rejected {snapshot.rejected:,}")
    if (stretched := snapshot.stretched()) is not None:
        parts.append(stretched)
    if snapshot.speed:
        parts.append(f"virtual time {snapshot.clock():.1f} s, {snapshot.speed:.1f} times as fast as real time")
    return "  ".join(parts)


class PlainRunDisplay:
    """One line when a phase begins, and one now and then while it lasts."""

    def __init__(self, snapshot: Snapshot, console: Console) -> None:
        self._snapshot = snapshot
        self._console = console
        self._last: tuple[int, str] = (0, "")
        self._next_line = 0.0

    def refresh(self) -> None:
        snapshot, now = self._snapshot, time.monotonic()
        current = (snapshot.variant_number, snapshot.phase)
        if not snapshot.phase or (current == self._last and now < self._next_line):
            return
        if current == self._last:
            left = "" if snapshot.phase_end is None else f"  {snapshot.until(snapshot.phase_end)} left"
            doing = f"{snapshot.activity}: " if snapshot.phase_end is None and snapshot.activity else ""
            detail = f"{doing}{counters(snapshot)}{left}"
        else:
            detail = f"{snapshot.activity or counters(snapshot)}  {snapshot.length()}".rstrip()
        self._last, self._next_line = current, now + PLAIN_INTERVAL
        self.print_line(
            f"[{snapshot.variant_number}/{snapshot.variants} {snapshot.variant}] {snapshot.phase:<5}  {detail}"
        )

    def print_line(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)


class NoDisplay:
    """No display, as in a worker process."""

    def refresh(self) -> None:
        """Shows nothing."""

    def print_line(self, line: str) -> None:
        """Shows nothing."""


@contextmanager
def display(snapshot: Snapshot, console: Console) -> Iterator[RunDisplay]:
    """The display that fits where the output goes. It is removed when the block ends."""
    if not console.is_terminal:
        yield PlainRunDisplay(snapshot, console)
        return
    with Live(console=console, refresh_per_second=4, transient=True, get_renderable=lambda: render(snapshot)) as live:
        yield LiveRunDisplay(live, console)


@contextmanager
def no_display(_snapshot: Snapshot) -> Iterator[RunDisplay]:
    """No display."""
    yield NoDisplay()
