"""Figures and numbers of a run beside its twin."""

from __future__ import annotations

from msgspec.structs import replace

from analysis.compare import RunComparison
from analysis.compare.counts import compare_messages
from analysis.compare.means import compare_means
from analysis.compare.model import DelayComparison, MessageComparison, Side, Statistic, VariantComparison, count
from analysis.report.figures.delay_budget import PARTS_SHOWN
from analysis.report.figures.twin import twin_plots, twin_rows
from analysis.tables.budget import DelayParts
from analysis.tables.delays import DelayDistribution
from analysis.tables.estimates import SampleEstimate
from record.fidelity import FidelityVerdict
from record.figures import Figure, FigureVerdict
from tests.analysis.compare.made_up import messages, neutral, variant


def parts(links: float, contention: float | None) -> DelayParts:
    return neutral(DelayParts, links_ms=links, contention_ms=contention)


def distribution(lower: float) -> list[DelayDistribution]:
    return [neutral(DelayDistribution, variant="fixed", lower_ms=lower, upper_ms=2 * lower, notifications=10)]


COMPARISON = neutral(
    RunComparison,
    first=neutral(Side, simulated=True),
    variants=[
        neutral(
            VariantComparison,
            name="fixed",
            mean=compare_means(variant("fixed", parts=parts(5, 0)), variant("fixed", parts=parts(6, None))),
            messages=compare_messages([messages("B1", received=100)], [messages("B1", received=110)]),
            delivery=[count("delivered", 40, 40), count("lost", 0, 0)],
        )
    ],
)


def test_lines_of_both_have_one_colour_and_the_twins_is_dotted() -> None:
    (_, figure), _ = twin_plots(COMPARISON, distribution(6), distribution(5))
    assert [(line.name, line.line.dash, line.x[0]) for line in figure.data] == [
        ("fixed, real", "solid", 6), ("fixed, twin", "dot", 5),
    ]  # fmt: skip
    assert figure.data[0].line.color == figure.data[1].line.color


def test_bars_of_both_stand_side_by_side_and_what_is_not_known_has_none() -> None:
    _, (_, figure) = twin_plots(COMPARISON, [], [])
    bars = {bar.name: list(bar.y) for bar in figure.data}
    assert list(bars) == [name for name, _, _ in PARTS_SHOWN]
    assert bars["links"] == [5, 6]
    assert bars["contention"] == [0, None]
    assert [list(axis) for axis in figure.data[0].x] == [["fixed", "fixed"], ["twin", "real"]]


def test_numbers_are_messages_in_all_by_kind_and_deliveries_that_there_were() -> None:
    (row,) = twin_rows(COMPARISON)
    assert [(pair.name, pair.first, pair.second, pair.difference) for pair in row.figures] == [
        ("messages received", "100", "110", "+10.0%"), ("delivered", "40", "40", "+0.0%"),
    ]  # fmt: skip
    assert [pair.name for pair in row.kinds] == ["publish"]


def test_a_figure_of_real_brokers_that_does_not_hold_says_so() -> None:
    invalid = FigureVerdict(
        figure=Figure.P99, value_ms=30.0, contention_ms=20.0, unexplained_ms=0.0, verdict=FidelityVerdict.INVALID,
        counts=False,
    )  # fmt: skip
    statistic = Statistic(
        name="p99",
        first=SampleEstimate(10.0),
        second=SampleEstimate(30.0),
        difference=SampleEstimate(2.0),
        second_judged=invalid,
    )
    delay = neutral(DelayComparison, statistics=[statistic, replace(statistic, name="mean", second_judged=None)])
    (row,) = twin_rows(
        neutral(RunComparison, variants=[neutral(VariantComparison, messages=neutral(MessageComparison), delay=delay)])
    )
    assert [(pair.first, pair.second) for pair in row.figures[:2]] == [("10.00", "30.00 INVALID"), ("10.00", "30.00")]


def test_without_budgets_there_are_no_bars() -> None:
    unknown = neutral(
        RunComparison, variants=[neutral(VariantComparison, messages=neutral(MessageComparison), name="fixed")]
    )
    assert [heading for heading, _ in twin_plots(unknown, distribution(6), distribution(5))] == ["Delays of both"]
    assert twin_rows(unknown)[0].sentences == ["0.0% of the messages are at other brokers or of other kinds"]
