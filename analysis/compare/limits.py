"""Limits on the differences between two runs: `delay=15%,messages=2%`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from analysis.compare.model import OrderVerdict, RunComparison, VariantComparison


@dataclass(frozen=True, slots=True)
class DifferenceLimits:
    """The greatest relative difference of each quantity, by its name in `QUANTITIES`, as a share."""

    shares: Mapping[str, float]


def _delay(statistic: str) -> Callable[[VariantComparison], float | None]:
    def difference(variant: VariantComparison) -> float | None:
        return None if variant.delay is None else variant.delay.of(statistic).difference.value

    return difference


QUANTITIES: Mapping[str, Callable[[VariantComparison], float | None]] = {
    "delay": _delay("mean"),
    "p50": _delay("p50"),
    "p95": _delay("p95"),
    "p99": _delay("p99"),
    "messages": lambda variant: None if variant.messages is None else variant.messages.total.difference,
    "matching": lambda variant: None if variant.matching is None else variant.matching.difference,
}
"""Quantities that can be limited. `delay` is the mean delay, `messages` counts all messages that brokers received."""


def parse_limits(text: str) -> DifferenceLimits:
    """Limits from the text of `--within`. Raises `ValueError` that names the quantities and the notation."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, equals, share = (word.strip() for word in part.partition("="))
        if name not in QUANTITIES or not equals:
            raise ValueError(f"{part.strip()!r}: write NAME=SHARE, as delay=15%, with one of {', '.join(QUANTITIES)}")
        try:
            shares[name] = float(share.removesuffix("%")) / (100 if share.endswith("%") else 1)
        except ValueError:
            raise ValueError(f"{part.strip()!r}: {share!r} is not a share; write {name}=15% or {name}=0.15") from None
        if not 0 <= shares[name] < float("inf"):
            raise ValueError(f"{part.strip()!r}: a difference of at most {share} makes no sense")
    return DifferenceLimits(shares)


def violations(comparison: RunComparison, limits: DifferenceLimits) -> list[str]:
    """One line for each limit that is exceeded, for different winners, and for each variant that only one run has."""
    lines = [line for variant in comparison.variants for line in _violations_of(variant, limits)]
    if comparison.order is not None and comparison.order.verdict is OrderVerdict.DIFFERENT_WINNERS:
        first, second = comparison.order.first.winner, comparison.order.second.winner
        lines.append(f"winner: {first} in the first run, {second} in the second")
    for name in (*comparison.only_first, *comparison.only_second):
        lines.append(f"{name}: only one of the runs has this variant")
    return lines


def _violations_of(variant: VariantComparison, limits: DifferenceLimits) -> Iterator[str]:
    for name, most in limits.shares.items():
        difference = QUANTITIES[name](variant)
        if difference is None:
            yield f"{variant.name}: {name} cannot be compared, one of the runs has none"
        elif abs(difference) > most:
            yield f"{variant.name}: {name} differs by {difference:+.1%}, more than {most * 100:g}%"
