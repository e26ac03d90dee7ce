"""Rewired overlays keep the rules of semi-probabilistic routing's dynamic network."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topology import shapes
from topology.evolutions.evolution import Appears, Evolution, Vanishes
from topology.evolutions.rewiring import Rewiring, Toward, rewired
from topology.full_mesh import DrawnLinks
from topology.link_properties import OverlayError
from topology.links import LinkTemplate, LinkTemplates, Range, build
from topology.model import Overlay

PLAIN = LinkTemplates(LinkTemplate(delay=Range(0.001, 0.01)))
LINKS = DrawnLinks(PLAIN, 1)


def regular(brokers: int, degree: int, seed: int, partitions: bool) -> Overlay:
    graph = shapes.random_regular(brokers, degree, random.Random(seed))
    return replace(build("o", graph, PLAIN, 1), may_be_partitioned=partitions)


def run(seed: int, every: float = 0.03, *, partitions: bool = False) -> Evolution:
    start = regular(20, 4, seed, partitions)
    return rewired(start, Rewiring(every, 0.1, 4), LINKS, 2.0, random.Random(seed))


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), every=st.sampled_from((0.03, 0.07, 0.25)), partitions=st.booleans())
def test_rewiring_keeps_its_rules(seed: int, every: float, partitions: bool) -> None:
    evolution = run(seed, every, partitions=partitions)
    vanishing = [change for change in evolution.changes if isinstance(change, Vanishes)]
    appearing = [change for change in evolution.changes if isinstance(change, Appears)]
    assert [change.at for change in vanishing] == [number * every for number in range(1, int(2.0 / every) + 1)]
    expected = [change.at + 0.1 for change in vanishing if change.at + 0.1 <= 2.0]
    assert [change.at for change in appearing] == expected, "each lost link is replaced after exactly 0.1 s"
    links = {frozenset((link.a, link.b)) for link in evolution.start.links}
    lost: list[frozenset[str]] = []
    for change in evolution.changes:
        degree = Counter(broker for ends in links for broker in ends)
        if isinstance(change, Vanishes):
            assert min(degree[change.a], degree[change.b]) >= 4
            lost.append(frozenset((change.a, change.b)))
            links.remove(lost[-1])
        else:
            ends = frozenset((change.link.a, change.link.b))
            assert max(degree[broker] for broker in ends) <= 4
            assert ends != lost.pop(0), "not the two brokers that have just lost theirs"
            assert change.link == LINKS.between(change.link.a, change.link.b)
            links.add(ends)
        degree = Counter(broker for pair in links for broker in pair)
        assert {degree[broker.id] for broker in evolution.start.brokers} <= {3, 4, 5}


def test_new_links_toward_brokers_that_have_too_few() -> None:
    """One end at least has fewer links than wanted, so that fewer brokers have more than that."""

    def more_than_wanted(toward: Toward) -> int:
        rewiring, found = Rewiring(0.03, 0.1, 4, toward), 0
        evolution = rewired(regular(40, 4, 1, False), rewiring, LINKS, 6.0, random.Random(1))
        degree = Counter(end for link in evolution.start.links for end in (link.a, link.b))
        for change in evolution.changes:
            if isinstance(change, Vanishes):
                degree.subtract((change.a, change.b))
                continue
            ends = (change.link.a, change.link.b)
            if toward is Toward.BELOW_DEGREE and min(degree.values()) < 4:
                assert min(degree[end] for end in ends) < 4
            degree.update(ends)
            found += sum(links > 4 for links in degree.values())
        return found

    assert more_than_wanted(Toward.BELOW_DEGREE) < more_than_wanted(Toward.AT_MOST_DEGREE)


def test_an_overlay_that_may_not_be_partitioned_never_is() -> None:
    start = replace(build("o", shapes.ring(6), PLAIN, 1), may_be_partitioned=False)
    evolution = rewired(start, Rewiring(0.3, 0.1, 2), LINKS, 20.0, random.Random(2))
    assert all(moment.parts == 1 for moment in evolution.moments(20.0))
    allowed = rewired(replace(start, may_be_partitioned=True), Rewiring(0.03, 0.1, 2), LINKS, 20.0, random.Random(2))
    assert any(moment.parts > 1 for moment in allowed.moments(20.0))


def test_one_seed_one_evolution() -> None:
    assert run(1) == run(1)
    assert run(1).changes != run(2).changes


def test_every_possible_pair_comes_up_equally_often() -> None:
    """On a ring of six, the first new link joins one of the nine pairs without a link (chi-square, 8 degrees)."""
    start = replace(build("o", shapes.ring(6), PLAIN, 1), may_be_partitioned=True)
    counts: Counter[tuple[int, int]] = Counter()
    for seed in range(900):
        evolution = rewired(start, Rewiring(1.0, 0.5, 2), LINKS, 1.9, random.Random(seed))
        vanished, appeared = evolution.changes
        assert isinstance(vanished, Vanishes) and isinstance(appeared, Appears)
        order = [broker.id for broker in start.brokers]
        ends = order.index(vanished.a), order.index(vanished.b)
        first = ends[0] if ends[1] == ends[0] + 1 else ends[1]  # so that all lost links are alike
        turned = sorted((order.index(end) - first) % 6 for end in (appeared.link.a, appeared.link.b))
        counts[turned[0], turned[1]] += 1
    assert len(counts) == 9
    assert sum((count - 100) ** 2 / 100 for count in counts.values()) < 43, "p = 1e-6"


def test_300_changes_a_second_with_300_brokers() -> None:
    start = regular(300, 5, 1, False)
    evolution = rewired(start, Rewiring(1 / 150, 0.1, 5), LINKS, 2.0, random.Random(1))
    assert len(evolution.changes) in range(585, 601)
    assert all(first.at <= second.at for first, second in pairwise(evolution.changes))


def test_what_cannot_be_rewired_is_refused() -> None:
    tree = build("o", shapes.line(4), PLAIN, 1)
    with pytest.raises(OverlayError, match="no link may be rewired"):
        rewired(tree, Rewiring(1, 1, 1), LINKS, 5, random.Random(1))
    full = build("o", shapes.full(4), PLAIN, 1)
    with pytest.raises(OverlayError, match="no two brokers of degree 3 or less may be linked after"):
        rewired(full, Rewiring(1, 0.5, 3), LINKS, 5, random.Random(1))
    with pytest.raises(OverlayError, match="too many changes for an overlay of 3,000 links"):
        rewired(regular(1000, 6, 1, True), Rewiring(0.001, 0.1, 6), LINKS, 101.0, random.Random(1))
    with pytest.raises(OverlayError, match="more than 2,000,000 changes"):
        rewired(full, Rewiring(1e-6, 0.5, 3), LINKS, 5, random.Random(1))


@pytest.mark.parametrize("rewiring", [(0.0, 1.0, 2), (1.0, 1.0, 0)])
def test_impossible_rules_are_refused(rewiring: tuple[float, float, int]) -> None:
    with pytest.raises(OverlayError):
        Rewiring(*rewiring)
