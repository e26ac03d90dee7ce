"""`brokerlab compare`: two analysed runs side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from analysis.compare import DifferenceLimits, RunComparison, compare_runs, parse_limits, violations
from analysis.compare.model import (
    CountPair,
    DelayComparison,
    DelayOrder,
    MeanDifference,
    MessageComparison,
    VariantComparison,
)
from analysis.compare.sentences import Sides, difference_in_words, marked, sides_of
from analysis.tables.estimates import SampleEstimate
from record.errors import BadInputError
from record.exit_codes import ExitCode
from record.fidelity import FidelityVerdict

_WIDTH = 120
"""Columns of output that is not a terminal."""


def compare(first: Path, second: Path, within: str | None, show: Callable[[RunComparison], None]) -> ExitCode:
    """Shows the comparison; `VIOLATED` when limits were given and are not kept. Raises `UserError`s."""
    limits = _limits(within)
    comparison = compare_runs(first, second)
    show(comparison)
    if limits is None:
        return ExitCode.CORRECT
    broken = violations(comparison, limits)
    for line in broken or [f"within {within}"]:
        typer.echo(line, err=True)
    return ExitCode.VIOLATED if broken else ExitCode.CORRECT


def as_json(comparison: RunComparison) -> None:
    """Prints one JSON document, as `analysis.compare.model` describes it."""
    typer.echo(msgspec.json.format(msgspec.json.encode(comparison), indent=2))


def as_tables(comparison: RunComparison) -> None:
    """Prints tables for people, in the width of the terminal or of `_WIDTH`."""
    console = Console(highlight=False)
    widen(console)
    _print(console, comparison)


def widen(console: Console) -> None:
    """Gives output that is not a terminal the width that tables take."""
    if not console.is_terminal:
        console.width = _WIDTH


def _limits(within: str | None) -> DifferenceLimits | None:
    try:
        return None if within is None else parse_limits(within)
    except ValueError as error:
        raise BadInputError(f"--within {within}: {error}") from error


def _print(console: Console, comparison: RunComparison) -> None:
    sides = _table("", "first", "second")
    for name in ("run_id", "scenario", "seed", "runtime", "delivery", "fidelity", "publications_logged"):
        sides.add_row(
            name.replace("_id", "").replace("_", " "),
            *(escape(str(getattr(side, name))) for side in (comparison.first, comparison.second)),
        )
    console.print(sides)
    for variant in comparison.variants:
        console.print(f"\n[bold]{escape(variant.name)}[/bold]")
        print_variant(console, variant, ("first", "second"), sides_of(comparison))
    for where, names in (("first", comparison.only_first), ("second", comparison.only_second)):
        if names:
            console.print(f"\nonly in the {where} run: {', '.join(names)}", markup=False)
    if comparison.order is not None:
        console.print(f"\n[bold]order of the variants:[/bold] {comparison.order.verdict}")
        for where, order in (("first", comparison.order.first), ("second", comparison.order.second)):
            console.print(f"  {where:<7} {_order(order)}", markup=False)


def print_variant(console: Console, variant: VariantComparison, headings: tuple[str, str], sides: Sides) -> None:
    """Prints the figures of a variant in both runs, whose columns have these headings."""
    table = _table("", *headings, "difference")
    if variant.delay is not None:
        _add_delay(table, variant.delay)
    else:
        table.add_row("delay", "no notifications in one of the runs", "", "")
    if variant.mean is not None:
        _add_parts(table, variant.mean)
    _add_messages(table, variant.messages)
    _add_count(table, variant.matching.name, variant.matching)
    for count in variant.delivery:
        if count.first or count.second:
            _add_count(table, count.name, count)
    console.print(table)
    if variant.delay is not None:
        distance = variant.delay.quantiles
        console.print(
            f"quantiles of the delay are {distance.mean:.2f} ms apart in the mean, "
            f"at most {distance.greatest:.2f} ms (at {distance.at:.0%})"
        )
        for line in _contention_lines(variant.delay):
            console.print(line, markup=False)
    for sentence in difference_in_words(variant, sides):
        console.print(sentence, markup=False, soft_wrap=not console.is_terminal)


def _contention_lines(delay: DelayComparison) -> list[str]:
    """A line for each difference that contention on a host can explain, in part or wholly, or may."""
    lines = []
    for statistic in delay.statistics:
        judged = statistic.judged
        if judged is None or judged.verdict is FidelityVerdict.VALID:
            continue
        if judged.without_contention is None:
            lines.append(f"delay {statistic.name}: it is not known what contention did to this difference")
        else:
            part = "most" if judged.verdict is FidelityVerdict.INVALID else "a part"
            without = f"{judged.without_contention:+.1%} without it"
            lines.append(f"delay {statistic.name}: contention explains {part} of this difference, {without}")
    return lines


def _add_delay(table: Table, delay: DelayComparison) -> None:
    for statistic in delay.statistics:
        table.add_row(
            f"delay {statistic.name}, ms",
            _estimate(statistic.first, "{:.2f}") + marked(statistic.first_judged),
            _estimate(statistic.second, "{:.2f}") + marked(statistic.second_judged),
            _estimate(statistic.difference, "{:+.1%}"),
        )


def _add_parts(table: Table, mean: MeanDifference) -> None:
    for part in (*mean.parts, mean.backlog):
        values = ("not known" if value is None else f"{value:.2f}" for value in (part.first, part.second))
        table.add_row(f"  {part.name}, ms", *values, "" if part.difference is None else f"{part.difference:+.2f} ms")


def _add_messages(table: Table, messages: MessageComparison) -> None:
    _add_count(table, "messages received", messages.total)
    for count in messages.kinds:
        _add_count(table, f"  {count.name}", count)
    for count in messages.worst_brokers:
        _add_count(table, f"  at {count.name}", count)


def _add_count(table: Table, name: str, count: CountPair) -> None:
    difference = "" if count.difference is None else f"{count.difference:+.1%}"
    table.add_row(escape(name), f"{count.first:,}", f"{count.second:,}", difference)


def _estimate(estimate: SampleEstimate, number: str) -> str:
    text = number.format(estimate.value)
    if estimate.interval is None:
        return text
    low, high = (number.format(end) for end in estimate.interval)
    return escape(f"{text} [{low}, {high}]")


def _order(order: DelayOrder) -> str:
    names = " < ".join(order.by_delay)
    return f"{names}, the second by {_estimate(order.lead, '{:+.1%}')}".replace("\\[", "[")


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="left" if index == 0 else "right")
    return table
