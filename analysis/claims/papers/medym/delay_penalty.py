"""Relative delay penalty (MEDYM, section 6): the delay of an event on its path over the latency of the direct path.

A path is a notification of a client at another server than the publisher's. Its delay counts from the time at which the
publication was due, and the direct latency is that of the overlay's link between the two servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.papers.medym.variants import CLOSE, MST, MULTICASTS
from analysis.claims.verdict import Measurement

COORDINATES = "GNP-"
"""Beginning of the names of variants in which servers locate each other by network coordinates; in the others of MEDYM
they measure round trips."""
HIGH = 3.0
"""Penalty from which a path counts as one of high penalty."""
_ROUNDING = 1e-6
"""Largest relative error of a delay, because logs have whole nanoseconds."""


class PathDelay(NamedTuple):
    """A path of an event."""

    penalty: float
    latency: float
    """Of the direct path, in seconds."""


def delays_of(variant: MeasuredVariant) -> list[PathDelay]:
    """The paths of a variant. Needs an overlay in which all servers are linked."""
    found = []
    for row in variant.notifications:
        if row.delay_ms is None or row.path is None or len(row.path) < 2:
            continue
        latency = variant.overlay.link(row.path[0], row.path[-1]).properties_from(row.path[0]).delay
        found.append(PathDelay(row.delay_ms / 1000 / latency, latency))
    return found


def share_below_direct(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Share of paths whose penalty is below 1 where locations are measured; the mean over routing functions."""
    shares = []
    for variant in run.variants:
        if variant.name in MULTICASTS:
            penalties = [path.penalty for path in delays_of(variant)]
            if not penalties:
                return Measurement(values=(None,))
            shares.append(fmean(penalty < 1 - _ROUNDING for penalty in penalties))
    return Measurement(values=(fmean(shares) if shares else None,))


def locations(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Measured locations against coordinates, and paths of high penalty (figures 12 and 13).

    For each routing function, the 90th percentile of penalties with coordinates over that with measured round trips,
    minus 1. Then 1 minus the median direct latency of paths with a penalty of `HIGH` or more over that of all paths,
    with CloseMST and coordinates, as in figure 13.
    """
    paths = {variant.name: delays_of(variant) for variant in run.variants}
    for name in (MST, CLOSE, COORDINATES + MST, COORDINATES + CLOSE):
        if not paths.get(name):
            raise ClaimsError(f"{run.directory}: no event came to another server in a variant {name}")
    located = paths[COORDINATES + CLOSE]
    high = [path.latency for path in located if path.penalty >= HIGH]
    typical = median(path.latency for path in located)
    return Measurement(
        values=(
            *(_tail(paths[COORDINATES + scheme]) / _tail(paths[scheme]) - 1 for scheme in (MST, CLOSE)),
            1 - median(high) / typical if high else None,
        )
    )


def _tail(paths: Sequence[PathDelay]) -> float:
    return float(np.percentile([path.penalty for path in paths], 90))
