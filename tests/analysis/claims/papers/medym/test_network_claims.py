"""Statements about figure 7, from usages that are given."""

from __future__ import annotations

import pytest

from analysis.claims import ClaimsError
from analysis.claims.papers.medym.network_claims import BROADCAST, DISTRIBUTIONS, UNICAST, usage_margins
from analysis.claims.papers.medym.variants import BALANCED, CBF, CHANNELIZATION, CLOSE, MST

LOW = {CBF: 3.0, CHANNELIZATION: 6.0, MST: 1.0, CLOSE: 1.0, BALANCED: 1.2, BROADCAST: 10.0, UNICAST: 1.0}
MIDDLE = {CBF: 2.0, CHANNELIZATION: 4.0, MST: 1.0, CLOSE: 1.25, BALANCED: 1.5, BROADCAST: 5.0, UNICAST: 2.0}
HIGH = {CBF: 1.0, CHANNELIZATION: 1.5, MST: 1.0, CLOSE: 1.1, BALANCED: 1.4, BROADCAST: 1.5, UNICAST: 9.0}
CHANNELS = {"uniform": 4.0, "zipf": 4.4, "multimodal": 3.2, "regional": 4.8}
"""NRU of channelization at the middle ratio."""


def usages() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for name in DISTRIBUTIONS:
        found |= {f"{name}+1": LOW, f"{name}+10": {**MIDDLE, CHANNELIZATION: CHANNELS[name]}, f"{name}+50": HIGH}
    return found


def test_margins_are_the_smallest_of_their_points() -> None:
    place = sum((nru - 2) / 3 for nru in CHANNELS.values()) / 4
    assert usage_margins(usages()) == pytest.approx(
        (0.1, 0.5, 2.0, 1.5, 4.0, place - 0.5, 4.0 / 3.2 - 1, 4.4 / 4.0 - 1)
    )


@pytest.mark.parametrize(
    ("point", "scheme", "nru", "margin"),
    [
        ("zipf+50", CLOSE, 0.9, 0),
        ("zipf+50", CHANNELIZATION, 0.9, 1),
        ("zipf+1", CLOSE, 4.0, 2),
        ("zipf+1", BALANCED, 4.0, 3),
        ("zipf+1", CHANNELIZATION, 1.1, 4),
        ("multimodal+10", CHANNELIZATION, 4.1, 6),
        ("zipf+10", CHANNELIZATION, 3.9, 7),
    ],
)
def test_one_exception_refutes_a_statement(point: str, scheme: str, nru: float, margin: int) -> None:
    found = usages()
    found[point] = {**found[point], scheme: nru}
    assert usage_margins(found)[margin] < 0


def test_every_ratio_is_needed_for_every_distribution() -> None:
    found = usages()
    del found["zipf+50"]
    with pytest.raises(ClaimsError, match="three matching ratios of each distribution"):
        usage_margins(found)
