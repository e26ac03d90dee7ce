"""Usage of the network, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.claims import ClaimsError
from analysis.claims.papers.medym.network_claims import BROADCAST, UNICAST, normalized_usages
from analysis.claims.papers.medym.network_usage import stress_of
from analysis.claims.papers.medym.traffic import traffic_of
from analysis.claims.papers.medym.variants import SCHEMES
from analysis.judging.journeys.network import Network
from tests.analysis.claims.papers.medym.small_runs import (
    SERVERS,
    UNDERLAY,
    Copy,
    Published,
    measured,
    run_of,
)

CHAIN = Published("P:1", "A", (Copy("A", "B"), Copy("B", "C")), ("B", "C"))
STAR = Published("P:1", "A", (Copy("A", "B"), Copy("A", "C")), ("B", "C"))
IDEAL = 0.033
"""Seconds: the LAN links of A, B and C, and both links between routers."""


def test_usage_is_that_of_copies_over_merged_paths(tmp_path: Path) -> None:
    """A to B takes 12 ms, A to C 32 ms, B to C 22 ms."""
    run = run_of(tmp_path, {f"uniform+1+{scheme}": (STAR if scheme == "CBF" else CHAIN,) for scheme in SCHEMES})
    (usages,) = normalized_usages(run).values()
    assert usages["CBF"] == usages[UNICAST] == pytest.approx(0.044 / IDEAL)
    assert usages["MST"] == usages[BROADCAST] == pytest.approx(0.034 / IDEAL)


def test_the_mean_is_over_events_with_a_destination(tmp_path: Path) -> None:
    events = (CHAIN, STAR._replace(id="P:2"), Published("P:3", "A", (), ("A",)))
    run = run_of(tmp_path, {f"uniform+1+{scheme}": events for scheme in SCHEMES})
    (usages,) = normalized_usages(run).values()
    assert usages["MST"] == pytest.approx((0.034 + 0.044) / 2 / IDEAL)


def test_links_are_crossed_by_the_paths_of_copies(tmp_path: Path) -> None:
    """Each of the two copies crosses a link between routers and two LAN links; B's LAN link is crossed by both. Links
    are r0-r1, r1-r2, and the LAN links of A, B and C."""
    run = run_of(tmp_path, {"1+MST": (CHAIN, Published("P:2", "A"))})
    stress = stress_of(traffic_of(run)["1+MST"], Network(UNDERLAY, SERVERS))
    assert stress.tolist() == [0.5, 0.5, 0.5, 1.0, 0.5]


def test_statements_about_links(tmp_path: Path) -> None:
    """CBF uses three of the five links, and the others all. BalancedMST crosses none twice for an event."""
    near, twice = Published("P:1", "A", (Copy("A", "B"), Copy("A", "B"))), CHAIN
    balanced = Published("P:1", "A", (Copy("A", "C"),))
    other = {"CBF": (near,), "BalancedMST": (balanced, Published("P:2", "B", (Copy("B", "C"),)))}
    run = run_of(tmp_path, {f"10+{scheme}": other.get(scheme, (twice,)) for scheme in SCHEMES})
    assert measured(run, "link stress").values == pytest.approx((5 / 3 - 1, 2 / 1 - 1))


def test_links_say_nothing_without_an_event(tmp_path: Path) -> None:
    run = run_of(tmp_path, {f"10+{scheme}": () for scheme in SCHEMES})
    assert measured(run, "link stress").values == (None, None)


def test_without_an_underlay_there_is_no_usage(tmp_path: Path) -> None:
    run = run_of(tmp_path, {f"1+{scheme}": (CHAIN,) for scheme in SCHEMES})
    run = replace(run, variants=tuple(replace(variant, underlay=None) for variant in run.variants))
    with pytest.raises(ClaimsError, match=r"1\+CBF: there is no network"):
        measured(run, "link stress")
