"""The judge of limits: whether figures of a judged run are within what its scenario expects.

1. A limit is held against a variant whose deliveries were judged and whose emulation held. After a broker's defect, an
   interruption, or with a fidelity that is INVALID or UNKNOWN, it is not judged.
2. A limit on a time is judged where the figure is VALID (a recovery where the mean delay is), and where the outcome
   stays the same without what contention did to the figure: what a host made decides nothing.
3. A relative limit is held against the ratio of the same figure of two variants, both judged by these rules.
4. Counts of messages that are estimated from a sample are not judged.
5. Everything is read from the figures of the run's summary, as a reader of it would. Nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import UNSET

from analysis.tables.limits import LimitOutcome, LimitVerdict
from analysis.tables.summary import BROKER_DEFECT, UNJUDGED, UNKNOWN_FIDELITY, VariantSummary
from record.fidelity import FidelityVerdict
from record.figures import Figure
from record.limits import Limit, LimitedFigure, RelativeLimit
from record.manifest import VariantRecord

LargestMemory = Callable[[], Mapping[str, int]]
"""The memory in bytes of the largest broker of each variant that has one; asked for only where it is limited."""


@dataclass(frozen=True, slots=True)
class FoundFigure:
    """A figure of a variant, or the reason why there is none to judge."""

    value: float | None
    without_contention: float | None
    reason: str = ""
    """The reason why there is no figure."""
    judged: bool = True
    """False where the figure may not be held against anything."""

    @classmethod
    def exactly(cls, value: float) -> FoundFigure:
        """A figure on which no host has an effect."""
        return cls(value, value)

    @classmethod
    def unknown(cls, reason: str) -> FoundFigure:
        return cls(None, None, reason, judged=False)


def with_limits(
    variants: Sequence[VariantSummary], records: Sequence[VariantRecord], memory: LargestMemory
) -> list[VariantSummary]:
    """The summaries with the verdicts on the limits of the variants; a variant without limits stays as it is."""
    figures = _Figures(variants, memory)
    limits = {record.name: [*(record.limits or ()), *(record.relative_limits or ())] for record in records}
    return [
        msgspec.structs.replace(variant, limits=[figures.verdict(variant.name, limit) for limit in wanted])
        if (wanted := limits.get(variant.name))
        else variant
        for variant in variants
    ]


class _Figures:
    """The figures of a run's variants."""

    def __init__(self, variants: Sequence[VariantSummary], memory: LargestMemory) -> None:
        self._variants = {variant.name: variant for variant in variants}
        self._memory = memory

    def verdict(self, variant: str, limit: Limit | RelativeLimit) -> LimitVerdict:
        found = self._found(variant, limit.figure)
        if isinstance(limit, Limit):
            return _judged(limit.figure, UNSET, limit.most, found)
        return _judged(limit.figure, limit.than, limit.most, _ratio(found, self._found(limit.than, limit.figure)))

    def _found(self, name: str, figure: LimitedFigure) -> FoundFigure:
        variant = self._variants.get(name)
        if variant is None:
            return FoundFigure.unknown(f"{name} was not run")
        if figure is not LimitedFigure.MEMORY:
            return figure_of(variant, figure)
        if reason := _unjudged(variant):
            return FoundFigure.unknown(f"{name}: {reason}")
        memory = self._memory().get(name)
        return FoundFigure.unknown("no broker's memory was read") if memory is None else FoundFigure.exactly(memory)


def figure_of(variant: VariantSummary, figure: LimitedFigure) -> FoundFigure:
    """A figure of a variant as its summary has it. Memory is in no summary."""
    if reason := _unjudged(variant):
        return FoundFigure.unknown(f"{variant.name}: {reason}")
    return _READ[figure](variant) if figure in _READ else _delay(variant, Figure(figure.value))


def _unjudged(variant: VariantSummary) -> str:
    """The reason why nothing of a variant may be judged; empty for a judged run."""
    verdicts = variant.delivery.verdicts
    if BROKER_DEFECT in verdicts:
        return "a broker's defect ended it"
    if variant.interrupted:
        return "it was interrupted"
    if UNJUDGED in verdicts:
        return "its deliveries could not be judged"
    if variant.fidelity in (FidelityVerdict.INVALID, UNKNOWN_FIDELITY):
        return f"its fidelity is {variant.fidelity}"
    return ""


def _delay(variant: VariantSummary, figure: Figure) -> FoundFigure:
    verdict = variant.delay.of(figure)
    if verdict is None:
        return FoundFigure.unknown("no notification came")
    if verdict.verdict is not FidelityVerdict.VALID:
        return FoundFigure.unknown(f"{verdict.verdict or 'UNKNOWN'}: {verdict.reason}")
    return FoundFigure(verdict.value_ms, verdict.value_ms - (verdict.contention_ms or 0.0))


def _recovery(variant: VariantSummary) -> FoundFigure:
    if not variant.faults:
        return FoundFigure(None, None, "there was no fault to recover from")
    healed = [fault.recovered_s for fault in variant.faults if fault.healed_ns is not None]
    known = [recovered for recovered in healed if recovered is not None]
    if not healed:
        return FoundFigure.unknown("no fault was healed")
    if len(known) < len(healed):
        return FoundFigure.unknown("nothing was delivered before a fault, so there is nothing to compare with")
    mean = _delay(variant, Figure.MEAN)
    return mean if not mean.judged else FoundFigure.exactly(max(known))


def _messages(variant: VariantSummary) -> FoundFigure:
    if variant.sampled_logs is not UNSET:
        return FoundFigure.unknown("counts are estimates, because brokers logged a sample of publications")
    if not variant.brokers_log:
        return FoundFigure.unknown("brokers kept no logs, so nobody counted")
    return FoundFigure.exactly(sum(kind.sent for kind in variant.messages))


def _excused(variant: VariantSummary) -> FoundFigure:
    return FoundFigure.exactly(sum(variant.delivery.power.excused.values()))


_READ: Mapping[LimitedFigure, Callable[[VariantSummary], FoundFigure]] = {
    LimitedFigure.RECOVERY: _recovery,
    LimitedFigure.MESSAGES: _messages,
    LimitedFigure.EXCUSED: _excused,
}
"""Readers of figures other than those of delays and memory."""


def _ratio(found: FoundFigure, other: FoundFigure) -> FoundFigure:
    for figure in (found, other):
        if figure.value is None:
            return figure
    if not other.value or not other.without_contention:
        return FoundFigure.unknown("the other variant's is zero, so there is no ratio")
    assert found.value is not None
    assert found.without_contention is not None
    return FoundFigure(found.value / other.value, found.without_contention / other.without_contention)


def _judged(figure: LimitedFigure, than: str | msgspec.UnsetType, most: float, found: FoundFigure) -> LimitVerdict:
    outcome, reason = LimitOutcome.NOT_JUDGED, found.reason
    if found.judged:
        outcome = _outcome(found.value, most)
        if outcome is not _outcome(found.without_contention, most):
            outcome, reason = LimitOutcome.NOT_JUDGED, _of_the_host(outcome)
    return LimitVerdict(figure=figure, than=than, most=most, found=found.value, outcome=outcome, reason=reason)


def _outcome(value: float | None, most: float) -> LimitOutcome:
    """The outcome for a figure; a figure that there need not be is within every limit."""
    return LimitOutcome.MISSED if value is not None and value > most else LimitOutcome.MET


def _of_the_host(outcome: LimitOutcome) -> str:
    opposite = LimitOutcome.MET if outcome is LimitOutcome.MISSED else LimitOutcome.MISSED
    return f"it is {outcome} as measured and {opposite} without this host's contention"
