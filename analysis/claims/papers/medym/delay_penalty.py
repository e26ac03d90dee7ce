"""Relative delay penalty (MEDYM, section 6), as `analysis.judging.deliveries.delay_penalty` defines it.

A path is a notification of a client at another server than the publisher's.
"""

from __future__ import annotations

from statistics import fmean

import numpy as np

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.papers.medym.variants import CLOSE, MST, MULTICASTS
from analysis.claims.verdict import Measurement
from analysis.judging.deliveries.delay_penalty import DelayPenalties, DirectLinks

COORDINATES = "GNP-"
"""Beginning of the names of variants in which servers locate each other by network coordinates; in the others of MEDYM
they measure round trips."""
HIGH = 3.0
"""Penalty from which a path counts as one of high penalty."""


def penalties_of(variant: MeasuredVariant) -> DelayPenalties:
    """The penalties of a variant's paths. Needs an overlay in which all servers are linked."""
    travelled = [
        (row.delay_ms, row.path)
        for row in variant.notifications
        if row.delay_ms is not None and row.path is not None and len(row.path) > 1
    ]
    return DirectLinks(variant.overlay).penalties((delay for delay, _ in travelled), (path for _, path in travelled))


def share_below_direct(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Share of paths whose penalty is below 1 where locations are measured; the mean over routing functions."""
    shares = []
    for variant in run.variants:
        if variant.name in MULTICASTS:
            found = penalties_of(variant)
            if not len(found.penalties):
                return Measurement(values=(None,))
            shares.append(found.below_direct)
    return Measurement(values=(fmean(shares) if shares else None,))


def locations(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Measured locations against coordinates, and paths of high penalty (figures 12 and 13).

    For each routing function, the 90th percentile of penalties with coordinates over that with measured round trips,
    minus 1. Then 1 minus the median direct latency of paths with a penalty of `HIGH` or more over that of all paths,
    with CloseMST and coordinates, as in figure 13.
    """
    paths = {variant.name: penalties_of(variant) for variant in run.variants}
    for name in (MST, CLOSE, COORDINATES + MST, COORDINATES + CLOSE):
        if name not in paths or not len(paths[name].penalties):
            raise ClaimsError(f"{run.directory}: no event came to another server in a variant {name}")
    located = paths[COORDINATES + CLOSE]
    high = located.latencies[located.penalties >= HIGH]
    return Measurement(
        values=(
            *(_tail(paths[COORDINATES + scheme]) / _tail(paths[scheme]) - 1 for scheme in (MST, CLOSE)),
            float(1 - np.median(high) / np.median(located.latencies)) if len(high) else None,
        )
    )


def _tail(paths: DelayPenalties) -> float:
    return float(np.percentile(paths.penalties, 90))
