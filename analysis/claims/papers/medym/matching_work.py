"""Matching work (MEDYM, sections 2.1 and 3): comparisons of the content of an event with subscriptions.

Under MEDYM the publication server compares an event with the subscriptions of all servers, and each destination with
those of its own clients. Under content-based forwarding every server on the way compares it, and under channelization
every server of the channel.
"""

from __future__ import annotations

from collections.abc import Iterator

from analysis.claims.measured_run import MeasuredRun
from analysis.claims.model import Recipe
from analysis.claims.papers.medym.variants import (
    CBF,
    CHANNELIZATION,
    MULTICASTS,
    SCHEMES,
    Schemes,
    by_point,
    matching_ratio,
)
from analysis.claims.verdict import Measurement


def matching_work(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Comparisons of an event under content-based forwarding, then under channelization, over those under MEDYM, minus
    1. Each is the smallest over MEDYM's routing functions and over matching ratios below 100%, at which every server
    compares every event; None without an event at one of them."""
    points = [schemes for point, schemes in by_point(run, SCHEMES).items() if matching_ratio(point) < 1]
    return Measurement(values=tuple(_smallest(points, rival) for rival in (CBF, CHANNELIZATION)))


def _smallest(points: list[Schemes], rival: str) -> float | None:
    excesses = [excess for schemes in points for excess in _excesses(schemes, rival)]
    found = [excess for excess in excesses if excess is not None]
    return min(found) if found and len(found) == len(excesses) else None


def _excesses(schemes: Schemes, rival: str) -> Iterator[float | None]:
    compared = schemes[rival].matching.per_publication
    for scheme in MULTICASTS:
        own = schemes[scheme].matching.per_publication
        yield None if compared is None or own is None else compared / own - 1
