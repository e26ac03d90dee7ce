"""The tolerances between requested and measured properties of links.

- Delay: the median of n one-way delays is within the greater of 0.3 ms and 2% of the request, plus three standard
  errors of a median if there is jitter.
- Jitter: of n delays not so many are outside of the band in which 95% should be that chance explains it, and not so
  many in the middle of the distribution, where a quarter should be. Bands are wider by the tolerance of a delay, which
  the host itself may spread delays by, so jitter that is smaller than that cannot be judged.
- Rate: within 3%.
- Loss: the number of lost packets is within the central 99% interval of the binomial distribution.

Medians and counts are used because a host that is late now and then says nothing about a link; the relay's lateness is
judged separately.
"""

from __future__ import annotations

import bisect
import math
import statistics
from collections.abc import Sequence
from functools import cache

from emulation.network.relay.shaping import standard_quantiles
from topology.link_properties import LinkProperties

DELAY_FLOOR = 0.3e-3
"""Least tolerance of a delay, in seconds."""
DELAY_SHARE = 0.02
"""Least tolerance of a delay, as a share of the delay asked for."""
RATE_SHARE = 0.03
LOSS_CONFIDENCE = 0.99
SPREAD_ALARM = 0.01
"""Chance that the spread of the delays of a link as asked looks wrong, in one direction and one measurement. What looks
wrong is measured again."""

_STANDARD_ERRORS = 3
_MEDIAN_EFFICIENCY = 1.2533
"""Standard error of a median of normal samples over that of their mean; the other distributions' are smaller."""
_WIDE, _NARROW = 0.95, 0.25
"""Shares of the delays in the two bands. At these, 20 delays tell a jitter three times as large from the one asked in
95 of 100 cases, and an absent one always."""


def delay_tolerance(asked: float, jitter: float, samples: int, floor: float = DELAY_FLOOR) -> float:
    """Tolerance in seconds of the median of `samples` delays, `floor` at least."""
    standard_error = _MEDIAN_EFFICIENCY * jitter / math.sqrt(samples)
    return max(floor, DELAY_SHARE * asked) + _STANDARD_ERRORS * standard_error


def median_delay(properties: LinkProperties) -> float:
    """Median delay in seconds of a packet that takes no time to be sent."""
    return max(
        0.0, properties.delay + statistics.median(standard_quantiles(properties.distribution)) * properties.jitter
    )


def too_wide(
    properties: LinkProperties,
    delays: Sequence[float],
    offset: float = 0.0,
    alarm: float = SPREAD_ALARM,
    floor: float = DELAY_FLOOR,
) -> bool:
    """True if the delays are spread more than the requested jitter explains, with a false alarm in `alarm` cases.

    `offset` is what each packet takes besides, in seconds. Without jitter more than half of the delays must be three
    tolerances away from the request.
    """
    allowed = max(floor, DELAY_SHARE * properties.delay)
    low, high = _band(properties, _WIDE)
    if not properties.jitter:
        outside = sum(abs(delay - offset - properties.delay) > 3 * allowed for delay in delays)
        return outside > len(delays) / 2
    outside = sum(not low - allowed <= delay - offset <= high + allowed for delay in delays)
    return binomial_tail(len(delays), outside, 1 - _share(properties, low, high)) < alarm


def too_narrow(
    properties: LinkProperties,
    delays: Sequence[float],
    alarm: float = SPREAD_ALARM,
    floor: float = DELAY_FLOOR,
) -> bool:
    """True if more of the delays are close together than the requested jitter explains, as `too_wide`.

    Delays are compared with their own median, so that what all packets take besides does not matter.
    """
    if not properties.jitter or len(delays) < 2:
        return False
    low, high = _band(properties, _NARROW)
    middle, half = statistics.median(delays), (high - low) / 2
    if half <= floor / 3:
        return False
    # The median itself, or the two around it, are inside by their choice.
    others = len(delays) - (2 - len(delays) % 2)
    inside = sum(abs(delay - middle) <= half for delay in delays) - (len(delays) - others)
    return binomial_tail(others, max(0, inside), _densest(properties, 2 * half)) < alarm


def rate_is_kept(asked: float, measured: float) -> bool:
    """True if a rate is within tolerance."""
    return abs(measured - asked) <= RATE_SHARE * asked


def loss_interval(sent: int, share: float, confidence: float = LOSS_CONFIDENCE) -> tuple[int, int]:
    """Fewest and most of `sent` packets that may be lost where `share` of them should be."""
    if share in {0.0, 1.0}:
        return (round(sent * share),) * 2
    tail = (1 - confidence) / 2
    below, low, high = 0.0, 0, sent
    for lost in range(sent + 1):
        probability = _binomial(sent, lost, share)
        if below + probability <= tail:
            low = lost + 1
        below += probability
        if below >= 1 - tail:
            high = lost
            break
    return low, high


@cache
def _table(properties: LinkProperties) -> tuple[float, ...]:
    """Delays in seconds at equal steps of probability."""
    quantiles = standard_quantiles(properties.distribution)
    return tuple(max(0.0, properties.delay + quantile * properties.jitter) for quantile in quantiles)


def _band(properties: LinkProperties, share: float) -> tuple[float, float]:
    """The limits between which this share of delays lies, with equal shares on both sides, in seconds."""
    table = _table(properties)
    beyond = round((1 - share) / 2 * len(table))
    return table[beyond], table[-1 - beyond]


def _share(properties: LinkProperties, low: float, high: float) -> float:
    """The share of delays between two limits."""
    table = _table(properties)
    return (bisect.bisect_right(table, high) - bisect.bisect_left(table, low)) / len(table)


@cache
def _densest(properties: LinkProperties, width: float) -> float:
    """The greatest share of delays between limits this far apart: the median of a few delays may lie anywhere."""
    table = _table(properties)
    return max(bisect.bisect_right(table, low + width) - index for index, low in enumerate(table)) / len(table)


def binomial_tail(trials: int, least: int, share: float) -> float:
    """The chance of at least so many successes in independent trials."""
    if least <= 0 or share >= 1:
        return 1.0
    if share <= 0:
        return 0.0
    return math.fsum(_binomial(trials, successes, share) for successes in range(least, trials + 1))


def _binomial(trials: int, successes: int, share: float) -> float:
    logarithm = math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
    return math.exp(logarithm + successes * math.log(share) + (trials - successes) * math.log1p(-share))
