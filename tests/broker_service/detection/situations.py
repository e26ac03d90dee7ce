"""Situations for the properties of a detector."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.broker_service.detection.checks import LATENESS, Situation
from tests.broker_service.detection.strategies import LATEST, patterns, publications, windows
from tests.broker_service.language.strategies import rearranged


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Any situation."""
    pattern, published = draw(patterns), draw(publications())
    return Situation(
        pattern,
        rearranged(pattern, draw(st.randoms(use_true_random=False))),
        draw(windows),
        published,
        draw(st.permutations(published)),
        [draw(st.integers(0, LATEST + LATENESS)) for _ in published],
        draw(st.integers(0, 6)),
    )
