"""Output: progress while cases run, then a matrix of results, and each failure with its explanation."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from record.wording import count_of
from studies.conformance.model import Notification
from studies.conformance.result import CaseVerdict, Difference, Result, TablesOnTheWay

RELATION = "relation"
"""Stands where a relation has no protocol."""

_FAILURES_EXPLAINED = 20
_LOOK = 500
"""Results after which output that is no terminal says how far it is."""

_MARKS = {
    CaseVerdict.PASSED: ("pass", "green"),
    CaseVerdict.FAILED: ("FAIL", "bold red"),
    CaseVerdict.SKIPPED: ("skip", "yellow"),
}


class CaseDisplay(Protocol):
    """Progress of cases."""

    def doing(self, what: str) -> None:
        """Shows the activity that begins."""

    def done(self, result: Result) -> None:
        """One more is done."""


class LiveCaseDisplay:
    """A bar that moves."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total, failed="")
        self._failed = 0

    def doing(self, what: str) -> None:
        self._progress.update(self._task, description=what)

    def done(self, result: Result) -> None:
        self._failed += result.verdict is CaseVerdict.FAILED
        self._progress.update(self._task, advance=1, failed=f"[red]{self._failed} failed" if self._failed else "")


class QuietCaseDisplay:
    """One line for each failure, and for every so many results."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._counts: Counter[CaseVerdict] = Counter()

    def doing(self, what: str) -> None:
        """Lines come often enough."""

    def done(self, result: Result) -> None:
        self._counts[result.verdict] += 1
        if result.verdict is CaseVerdict.FAILED:
            self._console.print(line(result), markup=False, soft_wrap=True)
        if (done := self._counts.total()) % _LOOK == 0:
            self._console.print(f"{done:,} of {self._total:,}, {self._counts[CaseVerdict.FAILED]:,} failed")


class PlainCaseDisplay:
    """One line for each result. Relations are many and quick, so only those that fail have one."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def doing(self, what: str) -> None:
        """Lines come often enough."""

    def done(self, result: Result) -> None:
        if result.protocol or result.verdict is not CaseVerdict.PASSED:
            self._console.print(line(result), markup=False, soft_wrap=True)


ShowProgress = Callable[[Console, int], AbstractContextManager[CaseDisplay]]
"""A display of so many results, while cases run."""


@contextmanager
def every_result(console: Console, _: int) -> Iterator[CaseDisplay]:
    """A line for each case."""
    yield PlainCaseDisplay(console)


@contextmanager
def failures_only(console: Console, total: int) -> Iterator[CaseDisplay]:
    """A bar on a terminal, and elsewhere lines for what failed."""
    if not console.is_terminal:
        yield QuietCaseDisplay(console, total)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.fields[failed]}"), console=console, transient=True) as progress:
        yield LiveCaseDisplay(progress, total)


def line(result: Result) -> str:
    """One result in one line."""
    words = [_MARKS[result.verdict][0], result.case, result.protocol or RELATION]
    if result.runtime:
        words.append(result.runtime)
    if result.verdict is not CaseVerdict.SKIPPED:
        words.append(f"{result.seconds:.2f} s")
    return "  ".join(words) + (f"  ({result.note})" if result.note else "")


def print_report(console: Console, results: Sequence[Result]) -> None:
    """The matrix, the failures and the sums."""
    failed = [result for result in results if result.verdict is CaseVerdict.FAILED]
    for result in failed[:_FAILURES_EXPLAINED]:
        console.print(f"\n{line(result)}", markup=False, soft_wrap=True, style="bold")
        for text in explanation(result):
            console.print(f"  {text}", markup=False, soft_wrap=True)
    if more := failed[_FAILURES_EXPLAINED:]:
        console.print(
            f"\nand {count_of(len(more), 'more failure')}: {', '.join(dict.fromkeys(result.case for result in more))}"
        )
    console.print()
    if any(result.protocol for result in results):
        console.print(_matrix(results))
    notes = Counter(result.note for result in results if result.verdict is CaseVerdict.SKIPPED)
    for note, count in notes.items():
        console.print(f"{count:,} skipped: {note}", markup=False, soft_wrap=True)
    for text in sums(results):
        console.print(text, markup=False, soft_wrap=True)


def sums(results: Sequence[Result]) -> Iterator[str]:
    """One line for the relations and one for each runtime."""
    for runtime in dict.fromkeys(result.runtime for result in results):
        of_it = [result for result in results if result.runtime == runtime]
        counts = Counter(result.verdict for result in of_it)
        parts = [f"{counts[verdict]} {verdict}" for verdict in CaseVerdict if counts[verdict]]
        seconds = sum(result.seconds for result in of_it)
        yield f"{runtime or 'relations'}: {', '.join(parts)} in {seconds:.1f} s"


def explanation(result: Result) -> Iterator[str]:
    """Expected and actual notifications, what brokers dropped, and the routing tables on the way."""
    if result.problem:
        yield from result.problem.splitlines()
    for difference in result.differences:
        yield from _difference(difference)
    yield from result.crossings
    if result.refused:
        yield "brokers rejected:"
        yield from (f"  {reason}" for reason in result.refused)
    if result.losses:
        yield "brokers dropped or refused:"
        yield from (f"  {loss}" for loss in result.losses)
    for way in _merged(result.on_the_way):
        yield from _way(way)
    if result.protocol:
        protocol = shlex.quote(result.selected_by or result.protocol)
        yield f"again: --case {result.case} --protocol {protocol} --runtime {result.runtime}"


def _difference(difference: Difference) -> Iterator[str]:
    yield f"client {difference.client}"
    yield f"  expected  {_listed(difference.expected)}"
    yield f"  got       {_listed(difference.got)}"
    if difference.missing:
        yield f"  missing   {_listed(difference.missing)}"
    if difference.surplus:
        yield f"  too many  {_listed(difference.surplus)}"
    if not (difference.missing or difference.surplus):
        yield "  all of them, but in another order"


def _listed(notifications: Iterable[Notification]) -> str:
    words = (
        notification if isinstance(notification, str) else f"[{', '.join(notification)}]"
        for notification in notifications
    )
    return ", ".join(words) or "nothing"


def _merged(ways: Iterable[TablesOnTheWay]) -> list[TablesOnTheWay]:
    """Publications that met the same tables, together."""
    merged: list[TablesOnTheWay] = []
    for way in ways:
        for index, former in enumerate(merged):
            together = replace(former, publications=(*former.publications, *way.publications))
            if together == replace(way, publications=together.publications):
                merged[index] = together
                break
        else:
            merged.append(way)
    return merged


def _way(way: TablesOnTheWay) -> Iterator[str]:
    published = ", ".join(way.publications)
    yield f"routing tables from {way.publisher} to {way.subscriber}, when {published} had been published:"
    for broker, tables in way.tables.items():
        for name, rows in tables.items():
            yield f"  {broker}  {name.replace('_', ' ')}: {json.dumps(rows, ensure_ascii=False)}"


def _matrix(results: Sequence[Result]) -> Table:
    """A row for each protocol, a column for each runtime, and in each cell the number of cases by verdict."""
    runtimes = list(dict.fromkeys(result.runtime for result in results if result.protocol))
    counts = Counter((result.protocol, result.runtime, result.verdict) for result in results)
    table = Table("protocol", *runtimes, box=None, pad_edge=False)
    for protocol in dict.fromkeys(result.protocol for result in results if result.protocol):
        cells = []
        for runtime in runtimes:
            cell = Text()
            for verdict, (mark, style) in _MARKS.items():
                if count := counts[protocol, runtime, verdict]:
                    cell.append(f"{', ' if cell else ''}{count:,} {mark}", style=style)
            cells.append(cell)
        table.add_row(Text(protocol), *cells)
    return table
