"""Relative delay penalty (MEDYM, section 6): the delay of an event on its path over the latency of the direct path.

A path is a notification of a client at another server than the publisher's. Its delay counts from the time at which the
publication was due, and the direct latency is that of the overlay's link between the two servers.
"""

from __future__ import annotations

from statistics import fmean
from typing import NamedTuple

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import Recipe
from analysis.claims.papers.medym.variants import MULTICASTS
from analysis.claims.verdict import Measurement

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
        link = variant.overlay.link(row.path[0], row.path[-1])
        latency = (link.forward if link.a == row.path[0] else link.backward).delay
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
