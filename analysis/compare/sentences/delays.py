"""The comparison of the delays of a run's variants in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from analysis.compare.sentences.finding import ComparisonInWords, named
from analysis.run_files.blocks import BLOCK_SECONDS, FEWEST_BLOCKS
from analysis.tables.comparison import Comparison
from analysis.tables.wording import capitalised, milliseconds
from record.fidelity import FidelityVerdict
from record.figures import DifferenceVerdict
from record.wording import count_of

_SAME = 0.001
"""Relative differences below this are no difference in words."""
_LONGEST = 100
"""Multiple of the run's length beyond which a sentence recommends no longer run."""


def delay_comparison(compared: Comparison, scenario: Mapping[str, Any]) -> ComparisonInWords:
    """The words for a comparison of delays. `scenario` is the resolved scenario, whose `vary` names the variants."""
    reference, variant = named(compared.reference, scenario), named(compared.variant, scenario)
    difference = compared.relative_difference
    if difference is None:
        finding = f"{variant} and {reference} delivered no notification in common, so their delays cannot be compared."
        return ComparisonInWords(capitalised(finding), "")
    if difference == 0 and compared.interval in (None, (0.0, 0.0)):
        both = count_of(compared.pairs, "notification")
        finding = f"{variant} and {reference} delivered {both} with the same delays."
        return ComparisonInWords(capitalised(finding), "")
    verdict = compared.verdict
    if verdict is not UNSET and verdict.verdict is FidelityVerdict.INVALID:
        finding = f"no difference beyond contention between {variant} and {reference}: {_speed(difference)}"
        return ComparisonInWords(capitalised(f"{finding}{_without_contention(verdict)}."), _numbers(compared))
    numbers = _numbers(compared)
    if verdict is not UNSET and verdict.verdict is not FidelityVerdict.VALID:
        numbers = f"{numbers} The difference is {_speed(difference)}{_without_contention(verdict)}."
    return ComparisonInWords(capitalised(_finding(compared, variant, reference)), numbers)


def _without_contention(verdict: DifferenceVerdict) -> str:
    """The difference that is left without contention, as a clause."""
    if verdict.without_contention is None:
        return "; it is not known what contention did to it"
    return f" as measured, and {_speed(verdict.without_contention)} without contention"


def _finding(compared: Comparison, variant: str, reference: str) -> str:
    difference = compared.relative_difference or 0.0
    if abs(difference) < _SAME and not compared.beyond_chance:
        return f"{variant} was as fast as {reference}, to within {_SAME:.1%}."
    first = f"{variant} was"
    if compared.candidates > 1:
        first = f"of the {compared.candidates} other variants, {variant} was the fastest:"
    change = f"{first} {_speed(difference)} than {reference}"
    if compared.interval is None:
        return (
            f"nothing was shown about the delays of {variant} and {reference}: chance can only be ruled out over at "
            f"least {FEWEST_BLOCKS * BLOCK_SECONDS} s in which both deliver (field timeline.run)."
        )
    if not compared.beyond_chance:
        low, high = (_speed(bound) for bound in compared.interval)
        return (
            f"no difference beyond chance between {variant} and {reference}: {change}, "
            f"with a 95% interval from {low} to {high}{_longer(compared)}."
        )
    low, high = sorted(_percent(bound) for bound in map(abs, compared.interval))
    return f"{change} (95% interval {low} to {high}){_cause(compared)}."


def _longer(compared: Comparison) -> str:
    """The length of a run that would tell the measured difference from chance, as a clause.

    An interval narrows with the square root of the run's length. Empty where no run that one would wait for suffices.
    """
    difference = compared.relative_difference
    if not difference or compared.interval is None:
        return ""
    low, high = compared.interval
    towards_zero = high - difference if difference < 0 else difference - low
    times = math.ceil((towards_zero / difference) ** 2)
    if times > _LONGEST:
        return ""
    return f"; a run about {times} times as long would tell a difference of this size from chance"


def _cause(compared: Comparison) -> str:
    """The cause of a difference as a clause; empty where the logs show none."""
    if not compared.because_of_queues:
        return ""
    if (compared.relative_difference or 0.0) > 0:
        return ", because messages waited longer in output queues"
    if compared.relieved is None:
        return ", because messages waited less in output queues"
    return f", because publications went round the busy link {_arrow(compared)}"


def _numbers(compared: Comparison) -> str:
    means = [milliseconds(mean) for mean in (compared.variant_mean_ms, compared.reference_mean_ms)]
    both = count_of(compared.pairs, "notification")
    numbers = f"Mean delay {' instead of '.join(means)}, over {both} that both delivered."
    relieved = compared.relieved
    if not compared.beyond_chance or relieved is None:
        return numbers
    return (
        f"{numbers} {_arrow(compared)} carried {relieved.variant_publications:,} publications instead of "
        f"{relieved.reference_publications:,}."
    )


def _arrow(compared: Comparison) -> str:
    return "" if compared.relieved is None else f"{compared.relieved.source} → {compared.relieved.target}"


def _speed(difference: float) -> str:
    """A relative difference of delays in words."""
    return f"{_percent(abs(difference))} {'faster' if difference < 0 else 'slower'}"


def _percent(share: float) -> str:
    """Whole percents from 10 on, because further digits would claim more than the interval bears."""
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"
