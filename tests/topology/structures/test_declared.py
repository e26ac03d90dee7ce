"""Structures are found by the attributes that brokers carry, and described only where the overlay has them."""

from __future__ import annotations

import pytest

from topology import shapes
from topology.link_properties import OverlayError
from topology.links import LinkTemplates, build
from topology.model import Overlay
from topology.structures.declared import descriptions, listed, structure_with
from topology.structures.scot import Coordinates, with_coordinates


def scot() -> Overlay:
    return build("o", shapes.scot(shapes.explicit([("A", "B"), ("B", "C")]), 2), LinkTemplates(), 1)


def mislabelled() -> Overlay:
    ring = build("o", shapes.ring(4), LinkTemplates(), 1)
    return with_coordinates(ring, {f"B{number}": Coordinates("x", number) for number in range(1, 5)})


def test_a_structure_is_found_by_its_attributes() -> None:
    structure = structure_with(("region", "cluster"))
    assert structure is not None
    assert structure.name == "scot"
    assert structure.declared_by(scot())
    assert not structure.declared_by(build("o", shapes.ring(4), LinkTemplates(), 1))
    assert structure_with(()) is None
    assert structure_with(("region",)) is None


def test_an_overlay_may_declare_a_structure_that_it_lacks() -> None:
    structure = structure_with(("region", "cluster"))
    assert structure is not None
    assert structure.declared_by(mislabelled())
    assert descriptions(mislabelled()) == {}
    with pytest.raises(OverlayError, match=r"^not a SCOT: its cluster indexes are 1, 2, 3, 4"):
        structure.check(mislabelled())


def test_a_scot_is_described_for_people_and_for_scripts() -> None:
    (description,) = descriptions(scot()).values()
    assert description.lines["clusters"] == "2 of 3 brokers, diameter 2"
    assert description.lines["edge brokers"] == "4, of regions 2: A, C"
    assert description.data["a_links"] == [("A0", "B0"), ("A1", "B1"), ("B0", "C0"), ("B1", "C1")]
    assert description.data["cluster_diameter"] == 2


def test_long_lists_are_cut() -> None:
    assert listed([]) == "none"
    assert listed(f"B{number}" for number in range(14)).startswith("14: B0, B1, ")
    assert listed(f"B{number}" for number in range(14)).endswith("B11, and 2 more")
