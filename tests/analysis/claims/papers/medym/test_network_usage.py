"""Usage of the network, by hand and against unions of paths that NetworkX finds."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.claims import ClaimsError
from analysis.claims.papers.medym.network_claims import BROADCAST, UNICAST, normalized_usages
from analysis.claims.papers.medym.network_usage import Network
from analysis.claims.papers.medym.traffic import traffic_of
from analysis.claims.papers.medym.variants import SCHEMES
from tests.analysis.claims.papers.medym.small_runs import (
    SERVERS,
    UNDERLAY,
    Copy,
    Published,
    measured,
    run_of,
)
from topology.underlay import RouterLink, Underlay, UnderlayRouter

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
    stress = Network(UNDERLAY, SERVERS).stress(traffic_of(run)["1+MST"])
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


DELAYS = st.permutations(range(1, 16))
"""Exponents of the delays of all links between six routers: powers of two, so that no two paths are equally long."""


@given(delays=DELAYS, source=st.integers(0, 5), wanted=st.sets(st.integers(0, 5), min_size=1))
def test_ideal_is_the_sum_of_merged_paths(delays: list[int], source: int, wanted: set[int]) -> None:
    links = [
        RouterLink(a, b, 2.0**-delay) for (a, b), delay in zip(itertools.combinations(range(6), 2), delays, strict=True)
    ]
    names = [f"B{number}" for number in range(6)]
    underlay = Underlay(
        routers=(UnderlayRouter(0, -1),) * 6, links=tuple(links), lan_delay=0.5,
        servers={name: number for number, name in enumerate(names)},
    )  # fmt: skip
    graph: nx.Graph[int] = nx.Graph()
    graph.add_weighted_edges_from((link.a, link.b, link.delay) for link in links)
    destinations = wanted - {source}
    crossed = {
        (min(edge), max(edge))
        for destination in destinations
        for edge in itertools.pairwise(nx.shortest_path(graph, source, destination, weight="weight"))
    }
    merged = sum(graph.edges[edge]["weight"] for edge in crossed)
    lan = 0.5 * (len(destinations) + bool(destinations))
    assert Network(underlay, names).ideal(source, np.array(sorted(destinations), np.int64)) == merged + lan
