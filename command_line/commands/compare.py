"""`brokerlab compare`: two analysed runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from analysis.compare import DifferenceLimits, RunComparison, compare_runs, parse_limits, violations
from analysis.compare.model import DelayOrder, VariantComparison
from analysis.compare.sentences.rows import (
    ComparedRow,
    count_row,
    delay_rows,
    delivery_rows,
    estimate_in_words,
    part_rows,
)
from analysis.compare.sentences.runs import Sides, difference_in_words, distribution_in_words, sides_of
from record.errors import BadInputError
from record.exit_codes import ExitCode

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
    for row in _rows(variant):
        table.add_row(*map(escape, (row.name, row.first, row.second, row.difference)))
    console.print(table)
    if variant.delay is not None:
        for line in distribution_in_words(variant.delay):
            console.print(line, markup=False)
    for sentence in difference_in_words(variant, sides):
        console.print(sentence, markup=False, soft_wrap=not console.is_terminal)


def _rows(variant: VariantComparison) -> Iterator[ComparedRow]:
    if variant.delay is not None:
        yield from delay_rows(variant.delay)
    else:
        yield ComparedRow("delay", "no notifications in one of the runs", "", "")
    if variant.mean is not None:
        yield from part_rows(variant.mean)
    if variant.messages is not None:
        yield count_row(variant.messages.total, "messages received")
        yield from (count_row(kind, f"  {kind.name}") for kind in variant.messages.kinds)
        yield from (count_row(broker, f"  at {broker.name}") for broker in variant.messages.worst_brokers)
    if variant.matching is not None:
        yield count_row(variant.matching)
    yield from delivery_rows(variant.delivery)


def _order(order: DelayOrder) -> str:
    names = " < ".join(order.by_delay)
    return f"{names}, the second by {estimate_in_words(order.lead, '{:+.1%}')}"


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="left" if index == 0 else "right")
    return table
