"""The comparison of two runs in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.compare.means import EXPLAINING
from analysis.compare.model import (
    LEFT_OVER_SHARE,
    DelayComparison,
    MeanDifference,
    RunComparison,
    VariantComparison,
    relative,
)
from analysis.tables.wording import rounded
from record.fidelity import FidelityVerdict

_SHOWN_FROM = 0.05
"""Milliseconds that are shown as 0.1."""
_OTHER_WAYS = 0.0005
"""Share of messages at other brokers that is shown as 0.1%."""
_NAMED_FROM = 0.005
"""Share of the first mean from which a part of the difference is named."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Names of the two runs within sentences, and the one that what is left over may be of."""

    first: str
    second: str
    suspects: str


RUNS = Sides("the first run", "the second", "of one run or of the other")
TWINS = Sides("the twin", "real brokers", "of the emulation or of the simulator")


def sides_of(comparison: RunComparison) -> Sides:
    """The names for these runs."""
    first, second = comparison.first, comparison.second
    return TWINS if first.simulated and not second.simulated else RUNS


def difference_in_words(variant: VariantComparison, sides: Sides) -> Iterator[str]:
    """Sentences on the parts of the difference of the mean delays, on what they leave over, and on other decisions."""
    mean, delay = variant.mean, variant.delay
    if mean is not None and delay is not None:
        yield _parts(mean, sides)
        yield _left_over(mean, sides) + (_chance(mean, delay) if mean.stands_out else "")
    elif delay is not None:
        yield (
            "parts of the difference: not known, because the logs of one of the runs do not hold the ways of messages"
        )
    if (messages := variant.messages) is None:
        yield "messages: not compared, because brokers of one of the runs keep no logs"
        return
    by_load = _by_load(messages.misplaced) if variant.follows_load else ""
    yield f"{messages.misplaced:.1%} of the messages are at other brokers or of other kinds{by_load}"


def _by_load(misplaced: float) -> str:
    """A clause on decisions that load changed; empty where messages went the same ways."""
    if misplaced < _OTHER_WAYS:
        return ""
    return ": routing decides by load, which contention changes, so part of the difference may be of other ways"


def distribution_in_words(delay: DelayComparison) -> Iterator[str]:
    """Sentences on the distance of both distributions, and on each difference that contention on a host can explain, in
    part or wholly, or may."""
    distance = delay.quantiles
    yield (
        f"quantiles of the delay are {distance.mean:.2f} ms apart in the mean, at most {distance.greatest:.2f} ms "
        f"(at {distance.at:.0%})"
    )
    for statistic in delay.statistics:
        judged = statistic.judged
        if judged is None or judged.verdict is FidelityVerdict.VALID:
            continue
        if judged.without_contention is None:
            yield f"delay {statistic.name}: it is not known what contention did to this difference"
        else:
            part = "most" if judged.verdict is FidelityVerdict.INVALID else "a part"
            without = f"{judged.without_contention:+.1%} without it"
            yield f"delay {statistic.name}: contention explains {part} of this difference, {without}"


def _parts(mean: MeanDifference, sides: Sides) -> str:
    share = relative(mean.first, mean.second)
    found = f"mean delay {_signed(mean.difference)} ms" + ("" if share is None else f" ({share:+.1%})")
    known = [(part.name, part.difference) for part in mean.parts if part.difference is not None]
    least = max(_SHOWN_FROM, _NAMED_FROM * mean.first)
    large = [(name, change) for name, change in known if abs(change) >= least]
    large.sort(key=lambda part: -abs(part[1]))
    shown = [f"{name} {_signed(change)}" for name, change in large]
    shown += [f"{part.name} not known" for part in mean.parts if part.difference is None]
    return f"{found} from {sides.first} to {sides.second}: {', '.join(shown) or 'no part differs'}"


def _left_over(mean: MeanDifference, sides: Sides) -> str:
    *others, last = [part.name for part in mean.parts if part.name in EXPLAINING and part.difference is not None]
    backlog = mean.backlog.difference or 0.0
    if abs(backlog) >= _SHOWN_FROM:
        others, last = [*others, last], f"the backlog that it caused ({_signed(backlog)})"
    explained = f"{', '.join(others)} and {last} explain {_signed(mean.explained)} ms of it"
    left_over = f"{_signed(mean.left_over)} ms is left over"
    if not mean.stands_out:
        return f"{explained}; {left_over}, no more than {LEFT_OVER_SHARE:.0%} of the mean"
    return (
        f"{explained}; {left_over}, {abs(mean.left_over) / mean.first:.0%} of the mean, most of it in {_place(mean)}: "
        f"it is {sides.suspects}, unknown which"
    )


def _place(mean: MeanDifference) -> str:
    """The part in which most of what is left over is."""
    sign = 1 if mean.left_over > 0 else -1
    rest = {part.name: sign * (part.difference or 0.0) for part in mean.parts if part.name not in EXPLAINING}
    return max(rest, key=lambda name: rest[name])


def _chance(mean: MeanDifference, delay: DelayComparison) -> str:
    """A clause on chance; empty where what is left over is beyond it."""
    found = delay.of("mean")
    if found.difference.interval is None:
        return "; the run is too short to tell it from chance"
    low, high = (found.first.value * bound - mean.explained for bound in found.difference.interval)
    within = f"95% interval {_signed(low)} to {_signed(high)} ms"
    return f"; chance alone may explain it ({within})" if low <= 0 <= high else ""


def _signed(milliseconds: float) -> str:
    number = rounded(abs(milliseconds))
    return f"{'-' if milliseconds < 0 else '+'}{number}" if abs(milliseconds) >= _SHOWN_FROM else number
