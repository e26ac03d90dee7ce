"""Variants of MEDYM's scenarios: a scheme at a point, such as a matching ratio.

Variants are called `<point>+<scheme>`, and `<point>+<further point>+<scheme>` where two things vary. A point that is a
matching ratio is a number of percent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError

CBF, CHANNELIZATION, MST, CLOSE, BALANCED = SCHEMES = ("CBF", "Channelization", "MST", "CloseMST", "BalancedMST")
MULTICASTS = (MST, CLOSE, BALANCED)
"""The schemes that are MEDYM, by their routing functions."""

Schemes = Mapping[str, MeasuredVariant]
"""The variants of one point, by scheme."""


def by_point(run: MeasuredRun, schemes: Iterable[str]) -> Mapping[str, Schemes]:
    """The variants of each point, in the order of the scenario.

    Raises `ClaimsError` where a point lacks one of the schemes.
    """
    found: dict[str, dict[str, MeasuredVariant]] = {}
    for variant in run.variants:
        point, _, scheme = variant.name.rpartition("+")
        found.setdefault(point, {})[scheme] = variant
    for point, variants in found.items():
        for scheme in schemes:
            if scheme not in variants:
                raise ClaimsError(f"{run.directory}: there is no variant {point}+{scheme}")
    return found


def matching_ratio(point: str) -> float:
    """The matching ratio that the last part of a point states."""
    return float(point.rpartition("+")[2]) / 100
