"""`brokerlab analyze --follow`: the summary of a run in progress, and its verdicts when it has ended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from analysis.engines.spark_session import LOCAL_MASTER
from analysis.live import LIVE_SUMMARY, Follower, LiveSummary, LiveVariant
from command_line.commands.analyze import conclude
from record.exit_codes import ExitCode
from studies.junit import require_writable

NICE = 10
"""Brokers on this host go first: following a run should not be what makes it INVALID."""
LINE_SECONDS = 10.0
"""Between two lines where there is no terminal."""
QUIET_SECONDS = 60.0
"""After which a run whose logs do not grow may be dead."""
_COLUMNS = (
    "variant", "phase", "published", "notified", "expected", "delivered", "missing", "lost", "duplicate", "spurious",
    "p50 ms", "p99 ms",
)  # fmt: skip


def follow_run(run: Path, master: str | None, junit: Path | None) -> ExitCode:
    """Shows a provisional summary until the run ends, then analyses it. Raises `UserError`s."""
    require_writable(junit)
    os.nice(NICE)
    console = Console(highlight=False)
    try:
        with _board(console) as board:
            summary = Follower(run, master or LOCAL_MASTER).follow(board.show, board.tell)
    except KeyboardInterrupt:
        again = f"brokerlab analyze {run} --follow"
        console.print(
            f"stopped following; the run goes on. `{again}` takes it up again, {run / LIVE_SUMMARY} has what was known",
            markup=False,
            soft_wrap=True,
        )
        return ExitCode.INTERRUPTED
    return conclude(console, run, summary, junit)


class _Board(Protocol):
    def show(self, summary: LiveSummary) -> None: ...

    def tell(self, what: str) -> None: ...


@contextmanager
def _board(console: Console) -> Iterator[_Board]:
    if not console.is_terminal:
        yield _Lines(console)
        return
    with Live(console=console, refresh_per_second=2, transient=True) as live:
        yield _Screen(live)


class _Screen:
    """A table that changes, on a terminal."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._summary: LiveSummary | None = None
        self._doing = ""
        self._grew = time.monotonic()

    def show(self, summary: LiveSummary) -> None:
        if self._summary is None or summary.records > self._summary.records:
            self._grew = time.monotonic()
        self._summary = summary
        self._live.update(self)

    def tell(self, what: str) -> None:
        self._doing = what
        self._live.update(self)

    def __rich__(self) -> Group | Text:
        if self._summary is None:
            return Text(self._doing)
        quiet = time.monotonic() - self._grew
        silent = Text(f"nothing was logged for {quiet:.0f} s: if the run is dead, Ctrl-C and `brokerlab analyze RUN`")
        head = Text(f"provisional, from {self._summary.records:,} records", style="yellow")
        return Group(head, _table(self._summary), *_below(self._summary), *([silent] if quiet > QUIET_SECONDS else []))


class _Lines:
    """A line for each variant every now and then, in a file."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._said = float("-inf")
        self._told = ""

    def show(self, summary: LiveSummary) -> None:
        if self._clock() - self._said < LINE_SECONDS:
            return
        self._said = self._clock()
        for variant in summary.variants:
            self._print(f"provisional: {_line(variant)}")

    def tell(self, what: str) -> None:
        """Stages of the analysis count their parts, which would fill a file."""
        stage = what.partition(" (")[0]
        if stage != self._told:
            self._told = stage
            self._print(stage)

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)


def _table(summary: LiveSummary) -> Table:
    table = Table(*_COLUMNS)
    for column in table.columns[2:]:
        column.justify = "right"
    for one in summary.variants:
        counts = (one.published, one.notified, one.expected, one.delivered, one.missing)
        defects = (one.lost, one.duplicate, one.spurious)
        delays = ("", "") if one.delay is None else (f"{one.delay.p50_ms:.1f}", f"{one.delay.p99_ms:.1f}")
        table.add_row(
            one.name, one.phase, *(f"{count:,}" for count in counts),
            *(Text(f"{count:,}", style="red" if count else "") for count in defects), *delays,
        )  # fmt: skip
    return table


def _below(summary: LiveSummary) -> Iterator[Text]:
    for variant in summary.variants:
        lasting = [fault for fault in variant.faults if fault.healed_ns is None]
        for fault in lasting:
            yield Text(f"{variant.name}: {fault.kind} of {', '.join(fault.what)} lasts", style="yellow")
    if damaged := summary.torn + summary.malformed:
        yield Text(f"{damaged:,} lines could not be read", style="yellow")


def _line(one: LiveVariant) -> str:
    wrong = ", ".join(one.defects) or "nothing wrong so far"
    delay = "" if one.delay is None else f"; median delay {one.delay.p50_ms:.1f} ms"
    return (
        f"{one.name}, {one.phase}: {one.published:,} published, {one.notified:,} notified; of {one.judged:,} judged "
        f"{one.delivered:,} delivered, {one.expected:,} expected, {one.missing:,} missing; {wrong}{delay}"
    )
