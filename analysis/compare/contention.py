"""Differences of delays held against the contention in both runs, and leads against that of both variants."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from analysis.compare.model import DelayComparison, DelayOrder, SampleEstimate, Statistic
from analysis.tables.summary import Delay, VariantSummary
from record.fidelity import FidelityVerdict
from record.figures import DifferenceVerdict, Figure, FigureVerdict, judge_difference


def judged_delays(compared: DelayComparison, first: Delay, second: Delay) -> DelayComparison:
    """The comparison with a verdict on every statistic."""
    return replace(compared, statistics=[_judged(found, first, second) for found in compared.statistics])


def judged_order(order: DelayOrder, variants: Mapping[str, VariantSummary]) -> DelayOrder:
    """The order with a verdict on the lead; there is no winner where contention can explain it."""
    fastest, following = (variants[name].delay.of(Figure.MEAN) for name in order.by_delay[:2])
    judged = _difference(order.lead, fastest, following)
    explained = judged is not None and judged.verdict is FidelityVerdict.INVALID
    return replace(order, judged=judged, winner=None if explained else order.winner)


def _judged(statistic: Statistic, first: Delay, second: Delay) -> Statistic:
    of_first, of_second = first.of(Figure(statistic.name)), second.of(Figure(statistic.name))
    return replace(
        statistic,
        first_judged=of_first,
        second_judged=of_second,
        judged=_difference(statistic.difference, of_first, of_second),
    )


def _difference(
    found: SampleEstimate, first: FigureVerdict | None, second: FigureVerdict | None
) -> DifferenceVerdict | None:
    if first is None or second is None:
        return None
    return judge_difference(found.value, first, second, beyond_chance=found.beyond_chance)
