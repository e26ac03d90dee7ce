"""The tolerances between requested and measured properties of links.

- Delay: the median of n one-way delays is within the greater of 0.3 ms and 2% of the request, plus three standard
  errors of a median if there is jitter.
- Rate: within 3%.
- Loss: the number of lost packets is within the central 99% interval of the binomial distribution.

Medians are used because a host that is late now and then says nothing about a link; the relay's lateness is judged
separately.
"""

from __future__ import annotations

import math

DELAY_FLOOR = 0.3e-3
"""Seconds."""
DELAY_SHARE = 0.02
RATE_SHARE = 0.03
LOSS_CONFIDENCE = 0.99

_STANDARD_ERRORS = 3
_MEDIAN_EFFICIENCY = 1.2533
"""Standard error of a median of normal samples over that of their mean; the other distributions' are smaller."""


def delay_tolerance(asked: float, jitter: float, samples: int) -> float:
    """Tolerance in seconds of the median of `samples` delays."""
    standard_error = _MEDIAN_EFFICIENCY * jitter / math.sqrt(samples)
    return max(DELAY_FLOOR, DELAY_SHARE * asked) + _STANDARD_ERRORS * standard_error


def rate_is_kept(asked: float, measured: float) -> bool:
    """True if a rate is within tolerance."""
    return abs(measured - asked) <= RATE_SHARE * asked


def loss_interval(sent: int, share: float) -> tuple[int, int]:
    """Fewest and most of `sent` packets that may be lost where `share` of them should be."""
    if share in {0.0, 1.0}:
        return (round(sent * share),) * 2
    tail = (1 - LOSS_CONFIDENCE) / 2
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


def _binomial(trials: int, successes: int, share: float) -> float:
    logarithm = math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
    return math.exp(logarithm + successes * math.log(share) + (trials - successes) * math.log1p(-share))
