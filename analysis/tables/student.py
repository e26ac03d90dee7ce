"""Quantiles of Student's t, for confidence intervals of means over few independent values.

They are a table, because SciPy, which has them, takes 143 MB and a tenth of a second to import.
"""

from __future__ import annotations

import math

_STUDENT_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Two-sided 95% quantiles of Student's t for 1 to 30 degrees of freedom; beyond, they are close to the normal one."""
_NORMAL = 1.960
_BISECTIONS = 60


def student_t(freedom: int) -> float:
    """The two-sided 95% quantile for this many degrees of freedom, at least 1."""
    if freedom <= len(_STUDENT_T):
        return _STUDENT_T[freedom - 1]
    return _NORMAL + (_NORMAL**3 + _NORMAL) / (4 * freedom)  # the first term of the Cornish-Fisher expansion


def student_t_at(freedom: int, confidence: float) -> float:
    """The two-sided quantile for this many degrees of freedom, at least 1, and a confidence below 1.

    It bisects the probability, which is a finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4).
    """
    low, high = 0.0, 1.0
    while _probability_within(high, freedom) < confidence:
        low, high = high, 2 * high
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _probability_within(middle, freedom) < confidence else (low, middle)
    return (low + high) / 2


def _probability_within(t: float, freedom: int) -> float:
    """The probability that Student's t lies between -t and t."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for number in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (number - 1) / number
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
