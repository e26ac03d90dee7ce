"""Differences of delays held against the contention in both runs, or variants."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from analysis.compare.model import DelayComparison, DelayOrder, Statistic
from analysis.tables.estimates import SampleEstimate
from analysis.tables.summary import Delay, VariantSummary
from record.fidelity import FidelityVerdict
from record.figures import DifferenceVerdict, Figure, judge_difference


def judged_difference(found: SampleEstimate, figure: Figure, first: Delay, second: Delay) -> DifferenceVerdict | None:
    """The verdict on the difference of a figure of two delays; None where one of them is not judged."""
    of_first, of_second = first.of(figure), second.of(figure)
    if of_first is None or of_second is None:
        return None
    return judge_difference(found.value, of_first, of_second, beyond_chance=found.beyond_chance)


def judged_delays(compared: DelayComparison, first: Delay, second: Delay) -> DelayComparison:
    """The comparison with a verdict on every statistic."""
    return replace(compared, statistics=[_judged(found, first, second) for found in compared.statistics])


def judged_order(order: DelayOrder, variants: Mapping[str, VariantSummary]) -> DelayOrder:
    """The order with a verdict on the lead; there is no winner where contention can explain it."""
    fastest, following = (variants[name].delay for name in order.by_delay[:2])
    judged = judged_difference(order.lead, Figure.MEAN, fastest, following)
    explained = judged is not None and judged.verdict is FidelityVerdict.INVALID
    return replace(order, judged=judged, winner=None if explained else order.winner)


def _judged(statistic: Statistic, first: Delay, second: Delay) -> Statistic:
    figure = Figure(statistic.name)
    return replace(
        statistic,
        first_judged=first.of(figure),
        second_judged=second.of(figure),
        judged=judged_difference(statistic.difference, figure, first, second),
    )
