"""The rows of two runs side by side, which the terminal and the report of a run beside its twin show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from analysis.compare.model import CountPair, DelayComparison, MeanDifference
from analysis.tables.estimates import SampleEstimate
from analysis.tables.summary import UNKNOWN_FIDELITY
from record.fidelity import FidelityVerdict
from record.figures import FigureVerdict


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A figure of both runs, and its difference."""

    name: str
    first: str
    second: str
    difference: str


def delay_rows(delay: DelayComparison) -> Iterator[ComparedRow]:
    """A row for each statistic, with the verdict behind a figure that does not hold."""
    for statistic in delay.statistics:
        yield ComparedRow(
            f"delay {statistic.name}, ms",
            estimate_in_words(statistic.first, "{:,.2f}") + _marked(statistic.first_judged),
            estimate_in_words(statistic.second, "{:,.2f}") + _marked(statistic.second_judged),
            estimate_in_words(statistic.difference, "{:+.1%}"),
        )


def part_rows(mean: MeanDifference) -> Iterator[ComparedRow]:
    """A row for each part of the mean delay."""
    for part in (*mean.parts, mean.backlog):
        first, second = ("not known" if value is None else f"{value:.2f}" for value in (part.first, part.second))
        yield ComparedRow(
            f"  {part.name}, ms", first, second, "" if part.difference is None else f"{part.difference:+.2f} ms"
        )


def count_row(count: CountPair, name: str = "") -> ComparedRow:
    """A count under its own name, or another one."""
    difference = "" if count.difference is None else f"{count.difference:+.1%}"
    return ComparedRow(name or count.name, f"{count.first:,}", f"{count.second:,}", difference)


def delivery_rows(counts: Iterable[CountPair]) -> Iterator[ComparedRow]:
    """A row for each count that either run has."""
    return (count_row(count) for count in counts if count.first or count.second)


def estimate_in_words(estimate: SampleEstimate, number: str) -> str:
    """A number with its interval, as `12.30 [11.80, 12.90]`."""
    text = number.format(estimate.value)
    if estimate.interval is None:
        return text
    low, high = (number.format(end) for end in estimate.interval)
    return f"{text} [{low}, {high}]"


def _marked(judged: FigureVerdict | None) -> str:
    """The verdict on a figure that does not hold, or of which it is not known, behind the figure."""
    if judged is None or judged.verdict is FidelityVerdict.VALID:
        return ""
    return f" {judged.verdict or UNKNOWN_FIDELITY}"
