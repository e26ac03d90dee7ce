"""The settings of links in words."""

from __future__ import annotations

import pytest

from analysis.report.sentences.settings import _link_range
from topology.full_mesh import drawn_full_mesh
from topology.links import LinkTemplate, LinkTemplates, Range
from topology.model import Broker, Overlay


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (LinkTemplate(delay=Range.fixed(0.002)), "one-way delay 2.0 ms"),
        (LinkTemplate(delay=Range.fixed(0.002), rate=Range.fixed(1e7)), "one-way delay 2.0 ms, 10 Mbit/s"),
        (LinkTemplate(delay=Range(0.002, 0.009), rate=Range(1e6, 2e6)), None),
    ],
)
def test_the_range_of_links_is_that_of_listed_links(template: LinkTemplate, expected: str | None) -> None:
    mesh = drawn_full_mesh("m", [Broker(f"B{number}") for number in range(30)], LinkTemplates(template), 1)
    listed = Overlay("m", mesh.brokers, tuple(mesh.links))
    of_mesh, of_list = _link_range(mesh), _link_range(listed)
    assert of_mesh.partition(",")[0] == of_list.partition(",")[0]
    if expected is not None:
        assert of_mesh == of_list == expected
    else:
        assert of_mesh.endswith(", 1-2 Mbit/s"), "a mesh states the range from which its links draw"


def test_an_overlay_without_links_has_no_range() -> None:
    assert _link_range(Overlay("o", (Broker("B1"),), ())) == "none"
