"""The difference of two mean delays, by the parts of which delays are made."""

from __future__ import annotations

from msgspec import UNSET, structs

from analysis.compare.model import MeanDifference, PartDifference
from analysis.tables.budget import DelayParts
from analysis.tables.summary import Delay, VariantSummary

_UNIT = "_ms"
_WITHIN_OTHERS = frozenset({"unexplained_absolute_ms"})
"""Fields that are no part of the mean."""
EXPLAINING = frozenset({"contention", "work", "platform"})
"""Parts that state their own cause: the host, and what its brokers cost beside the calibrated ones."""


def compare_means(first: VariantSummary, second: VariantSummary) -> MeanDifference | None:
    """Compares the mean delays of one variant in two runs. None where one of them has no budget."""
    if first.delay.budget is UNSET or second.delay.budget is UNSET:
        return None
    before, after = first.delay.budget.parts, second.delay.budget.parts
    parts = [
        _part(field.name.removesuffix(_UNIT).replace("_", " "), getattr(before, field.name), getattr(after, field.name))
        for field in structs.fields(DelayParts)
        if field.name not in _WITHIN_OTHERS
    ]
    backlog = _part("backlog of contention", _backlog(first.delay), _backlog(second.delay))
    explained = sum(part.difference or 0.0 for part in (*parts, backlog) if part.name in EXPLAINING | {backlog.name})
    return MeanDifference(
        first=before.delay_ms,
        second=after.delay_ms,
        parts=parts,
        backlog=backlog,
        explained=explained,
        left_over=after.delay_ms - before.delay_ms - explained,
    )


def _part(name: str, first: float | None, second: float | None) -> PartDifference:
    difference = None if first is None or second is None else second - first
    return PartDifference(name=name, first=first, second=second, difference=difference)


def _backlog(delay: Delay) -> float | None:
    """The mean delay that contention caused besides itself, milliseconds; None where it is not known.

    A replay leaves out contention and time that nothing explains, and with them the backlog that they caused, which is
    shared out between the two by their size.
    """
    if delay.budget is UNSET or delay.without_contention is UNSET:
        return None
    parts = delay.budget.parts
    contention = parts.contention_ms or 0.0
    unexplained = (parts.unexplained_absolute_ms + parts.unexplained_ms) / 2  # what is positive of it
    caused = parts.delay_ms - delay.without_contention.mean_ms - contention - unexplained
    return max(caused, 0.0) * contention / (contention + unexplained) if contention else 0.0
