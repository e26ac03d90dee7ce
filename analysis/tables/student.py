"""Quantiles of Student's t, for confidence intervals of means over few independent values.

They are a table, because SciPy, which has them, takes 143 MB and a tenth of a second to import.
"""

from __future__ import annotations

_STUDENT_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Two-sided 95% quantiles of Student's t for 1 to 30 degrees of freedom; beyond, they are close to the normal one."""
_NORMAL = 1.960


def student_t(freedom: int) -> float:
    """The two-sided 95% quantile for this many degrees of freedom, at least 1."""
    if freedom <= len(_STUDENT_T):
        return _STUDENT_T[freedom - 1]
    return _NORMAL + (_NORMAL**3 + _NORMAL) / (4 * freedom)  # the first term of the Cornish-Fisher expansion
