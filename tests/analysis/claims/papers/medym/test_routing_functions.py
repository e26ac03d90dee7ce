"""Table 1 of MEDYM's paper on servers that are all at one router, where every tree of n edges uses 2 n LAN links."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from analysis.claims import ClaimsError
from analysis.claims.measured_run import MeasuredRun
from analysis.claims.papers.medym.routing_functions import SHORT
from tests.analysis.claims.papers.medym.small_runs import measured, variant
from topology.link_properties import Link
from topology.model import Broker, Overlay
from topology.underlays.underlay import Underlay, UnderlayRouter


def run_over(servers: int) -> MeasuredRun:
    names = [f"B{number}" for number in range(servers)]
    found = variant("base")
    underlay = Underlay(routers=(UnderlayRouter(0, -1),), links=(), servers=dict.fromkeys(names, 0), lan_delay=0.001)
    links = tuple(Link(a, b) for a, b in pairwise(names))
    overlay = Overlay("chain", tuple(map(Broker, names)), links)
    return MeasuredRun(Path("run"), (replace(found, overlay=overlay, underlay=underlay),))


def test_trees_of_n_edges_cost_two_lan_links_an_edge_and_multicast_one_a_server() -> None:
    run = run_over(SHORT + 20)
    short, long = 2 * SHORT / (SHORT + 1), 2 * (SHORT + 19) / (SHORT + 20)
    assert measured(run, "tree quality", 3, 2, 1.2).values == pytest.approx((short, long) * 3)


def test_times_give_three_statements_for_each_length() -> None:
    assert len(measured(run_over(SHORT + 20), "decision times", 3, 2).values) == 6


def test_lists_need_servers_and_one_variant() -> None:
    with pytest.raises(ClaimsError, match=r"100 servers; more than 100"):
        measured(run_over(SHORT), "tree quality", 3, 2, 1.2)
    with pytest.raises(ClaimsError, match=r"2 variants; one is needed"):
        measured(MeasuredRun(Path("run"), (variant("a"), variant("b"))), "tree quality", 3, 2, 1.2)
