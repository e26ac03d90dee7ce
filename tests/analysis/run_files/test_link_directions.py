"""Directions of links that are looked up, against a table of all of them."""

from __future__ import annotations

import pytest

from analysis.run_files.link_directions import LinkDirections
from topology.full_mesh import drawn_full_mesh
from topology.link_properties import Link, LinkProperties
from topology.links import LinkTemplate, LinkTemplates, Range
from topology.model import Broker, Overlay

BROKERS = tuple(Broker(f"B{number}") for number in range(1, 5))
MESH = drawn_full_mesh("mesh", BROKERS, LinkTemplates(LinkTemplate(delay=Range(0.001, 0.01))), 1)
LINE = Overlay(
    "line",
    BROKERS,
    tuple(
        Link(f"B{number}", f"B{number + 1}", LinkProperties(delay=number / 100), LinkProperties(delay=number / 50))
        for number in range(1, 4)
    ),
)


@pytest.mark.parametrize("overlay", [MESH, LINE])
def test_every_direction_has_the_properties_of_its_link(overlay: Overlay) -> None:
    forward = {(link.a, link.b): link.forward for link in overlay.links}
    both = forward | {(link.b, link.a): link.backward for link in overlay.links}
    directions = LinkDirections(overlay)
    assert list(directions.items()) == list(both.items())
    assert len(directions) == len(both)
    assert directions["B1", "B2"] is directions["B1", "B2"]


@pytest.mark.parametrize("overlay", [MESH, LINE])
@pytest.mark.parametrize("ends", [("B1", "B1"), ("B1", "B9"), ("B9", "B1"), ("", "B1")])
def test_other_ends_have_no_link(overlay: Overlay, ends: tuple[str, str]) -> None:
    directions = LinkDirections(overlay)
    assert ends not in directions
    assert directions.get(ends) is None
