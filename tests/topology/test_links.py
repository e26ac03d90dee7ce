"""Links draw their properties by the seed and their own ends."""

from __future__ import annotations

import pytest

from topology import shapes
from topology.link_properties import OverlayError
from topology.links import LinkTemplate, LinkTemplates, Range, build

RANGED = LinkTemplates(LinkTemplate(delay=Range(0.002, 0.010), jitter_share=0.05, rate=Range.fixed(1e7)))


def test_ranges_are_drawn_within_and_differ_by_link() -> None:
    links = build("o", shapes.full(8), RANGED, seed=1).links
    delays = [link.forward.delay for link in links]
    assert all(0.002 <= delay <= 0.010 for delay in delays)
    assert len(set(delays)) == len(delays)
    assert max(delays) - min(delays) > 0.004
    assert all(link.forward.jitter == pytest.approx(0.05 * link.forward.delay) for link in links)
    assert {link.forward.rate for link in links} == {1e7}


def test_another_link_changes_no_other() -> None:
    few, more = build("o", shapes.line(3), RANGED, seed=1), build("o", shapes.line(5), RANGED, seed=1)
    assert few.links == more.links[:2]
    assert few.links != build("o", shapes.line(3), RANGED, seed=2).links[:2]


def test_directions_are_alike_unless_told_otherwise() -> None:
    (link,) = build("o", shapes.line(2), RANGED, seed=1).links
    assert link.forward == link.backward
    two_way = LinkTemplates(RANGED.forward, LinkTemplate(loss=Range.fixed(0.1)))
    (link,) = build("o", shapes.line(2), two_way, seed=1).links
    assert (link.forward.loss, link.backward.loss, link.backward.delay) == (0, 0.1, 0)


def test_single_links_may_differ() -> None:
    slow = LinkTemplates(LinkTemplate(delay=Range.fixed(1.0)))
    overlay = build("o", shapes.line(3), RANGED, 1, {("B2", "B3"): slow})
    assert overlay.link("B3", "B2").forward.delay == 1.0
    assert overlay.link("B1", "B2").forward.delay < 1.0


def test_an_exception_gives_its_link_the_direction() -> None:
    one_way = LinkTemplates(LinkTemplate(delay=Range.fixed(1.0)), LinkTemplate(delay=Range.fixed(2.0)))
    graph = shapes.explicit([("A", "B"), ("C", "A")])
    link = build("o", graph, RANGED, 1, {("C", "A"): one_way}).link("A", "C")
    assert (link.a, link.b, link.forward.delay, link.backward.delay) == ("C", "A", 1.0, 2.0)


def test_the_order_of_the_ends_changes_no_link() -> None:
    here, there = (build("o", shapes.explicit([ends]), RANGED, 1).links[0] for ends in (("A", "B"), ("B", "A")))
    assert here.forward == there.forward


def test_a_swapped_range_is_refused() -> None:
    with pytest.raises(OverlayError, match="swapped"):
        Range(2, 1)
