"""The papers whose claims ship with brokerlab: a file of claims for each, and a module of measures for some.

To add a paper, put its file into `papers/`, name it here, and add its measures.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from analysis.claims import quantities
from analysis.claims.files import read_claims
from analysis.claims.measure import Measure
from analysis.claims.model import Claims
from analysis.claims.papers import gryphon, medym, octopia, semi_probabilistic, tid, tid_composites, tid_copies

FILES = tuple(
    Path(__file__).parent / "papers" / f"{paper}.yaml"
    for paper in ("tid", "octopia", "medym", "gryphon", "semi_probabilistic")
)

MEASURES: Mapping[str, Measure] = {
    **tid.MEASURES,
    **tid_copies.MEASURES,
    **tid_composites.MEASURES,
    **octopia.MEASURES,
    **medym.MEASURES,
    **gryphon.MEASURES,
    **semi_probabilistic.MEASURES,
}
"""Every measure by the name that recipes use."""


QUANTITIES: Mapping[str, quantities.Quantity] = {
    **quantities.QUANTITIES,
    **tid_composites.QUANTITIES,
    **octopia.QUANTITIES,
    **medym.QUANTITIES,
    **semi_probabilistic.QUANTITIES,
}
"""Every quantity that a figure draws, by the name that figures use."""

CURVES: Mapping[str, quantities.Curves] = {
    **quantities.CURVES,
    **tid.CURVES,
    **tid_composites.CURVES,
    **medym.CURVES,
    **gryphon.CURVES,
}
"""Every kind of curves that a figure draws, by the name that figures use."""

TIMED = octopia.TIMED
"""Names of the measures of the time that routers themselves take, which is logged only where one of them reads it."""


@cache
def load_claims() -> Claims:
    """The shipped claims. Raises `ClaimsError` as `read_claims` does."""
    return read_claims(FILES)
