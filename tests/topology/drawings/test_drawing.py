"""Pictures of overlays: everything is on them, and they are what they say they are."""

from __future__ import annotations

import random
from xml.etree.ElementTree import Element, fromstring

import networkx as nx
import pytest

from record.service_time import ServiceTime
from topology import shapes
from topology.drawings.drawing import to_html, to_svg
from topology.link_properties import Link, LinkProperties
from topology.links import LinkTemplate, LinkTemplates, Range, build
from topology.model import Broker, Overlay

TEMPLATES = LinkTemplates(LinkTemplate(delay=Range(0.005, 0.005), rate=Range.fixed(1e7), loss=Range.fixed(0.01)))


def drawn(graph: nx.Graph[str], name: str = "o") -> Element:
    return fromstring(to_svg(build(name, graph, TEMPLATES, 1)))


def elements(svg: Element, tag: str, of_class: str) -> list[Element]:
    return [one for one in svg.iter(f"{{http://www.w3.org/2000/svg}}{tag}") if of_class in one.get("class", "").split()]


def texts(svg: Element) -> list[str]:
    return [one.text or "" for one in svg.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize(
    "graph",
    [
        shapes.line(1),
        shapes.ring(5),
        shapes.grid(3, 4),
        shapes.tree(20),
        shapes.cyclic(30, 4, random.Random(1)),
        shapes.scot(shapes.lettered(shapes.star(5)), 3),
    ],
)
def test_every_broker_and_every_link_is_on_it(graph: nx.Graph[str]) -> None:
    svg = drawn(graph)
    assert len(elements(svg, "circle", "broker")) == len(graph)
    assert len(elements(svg, "path", "link")) == graph.number_of_edges()
    assert set(graph) <= set(texts(svg))
    width, height = float(svg.get("width", 0)), float(svg.get("height", 0))
    for circle in elements(svg, "circle", "broker"):
        assert 0 < float(circle.get("cx", -1)) < width
        assert 0 < float(circle.get("cy", -1)) < height


def test_one_broker_and_one_link_are_not_many() -> None:
    assert "o: 2 brokers, 1 link, mean degree 1, diameter 1" in texts(drawn(shapes.line(2)))
    assert any(text.startswith("o: 1 broker, 0 links, ") for text in texts(drawn(shapes.line(1))))


def test_links_tell_their_properties() -> None:
    (link,) = elements(drawn(shapes.line(2)), "path", "link")
    assert [title.text for title in link] == ["B1 - B2\ndelay 5 ms, loss 1.00%, 10 Mbit/s"]


def test_a_direction_tells_its_send_time() -> None:
    link = Link(
        "B1", "B2", LinkProperties(delay=0.005, send_time=ServiceTime(mean=0.0058)), LinkProperties(delay=0.005)
    )
    (path,) = elements(fromstring(to_svg(Overlay("o", (Broker("B1"), Broker("B2")), (link,)))), "path", "link")
    assert [title.text for title in path] == ["B1 - B2\nthere: delay 5 ms, send time 5.8 ms\nback: delay 5 ms"]


def test_a_scot_shows_clusters_and_regions() -> None:
    svg = drawn(shapes.scot(shapes.lettered(shapes.line(4)), 3))
    assert {"C0", "C1", "C2", "A", "B", "C", "D"} <= set(texts(svg))
    assert len(elements(svg, "path", "across")) == 4 * 3, "iLinks: of four regions, in each three"
    assert len(elements(svg, "path", "within")) == 3 * 3, "aLinks: of three clusters, in each three"
    colours = {circle.get("fill") for circle in elements(svg, "circle", "broker")}
    assert len(colours) == 3, "a colour for each cluster"


def test_a_redundant_tree_shows_nodes_of_several_brokers() -> None:
    svg = drawn(shapes.redundant_tree(shapes.lettered(shapes.line(4)), 3))
    assert {"B", "C"} <= set(texts(svg))
    assert "A" in texts(svg), "the name of a broker"
    _, *frames = (element for element in svg.iter() if element.tag.endswith("rect"))
    assert [frame.get("stroke-dasharray") for frame in frames] == ["3 3", "3 3"]
    brokers = elements(svg, "circle", "broker")
    for frame in frames:
        left, top, width, height = (float(frame.get(name, "nan")) for name in ("x", "y", "width", "height"))
        inside = [
            circle
            for circle in brokers
            if left < float(circle.get("cx", "nan")) < left + width
            and top < float(circle.get("cy", "nan")) < top + height
        ]
        assert len(inside) == 3


def test_links_bend_around_brokers_in_their_way() -> None:
    """In a region of three, the first and the last have the middle one between them."""
    svg = drawn(shapes.scot(shapes.lettered(shapes.line(2)), 3))
    bent = [path[0].text for path in elements(svg, "path", "link") if "Q" in path.get("d", "")]
    assert [text.split("\n")[0] for text in bent if text] == ["A0 - A2", "B0 - B2"]


def test_links_of_a_region_that_pass_one_broker_and_two_are_on_different_sides() -> None:
    svg = drawn(shapes.scot(shapes.lettered(shapes.line(2)), 4))
    (column,) = {circle.get("cx") for circle in elements(svg, "circle", "broker") if circle[0].text[:1] == "A"}  # type: ignore[index]
    right = {}
    for path in elements(svg, "path", "across"):
        name, course = (path[0].text or "").split("\n")[0], path.get("d", "")
        if "Q" in course and name.startswith("A"):
            right[name] = float(course.split("Q")[1].split(",")[0]) > float(column or 0)
    assert right == {"A0 - A2": True, "A1 - A3": True, "A0 - A3": False}


def test_what_cannot_be_lost_is_marked_unless_that_is_everything() -> None:
    svg = drawn(shapes.explicit([("A", "B"), ("B", "C"), ("C", "A"), ("C", "D")]))
    assert [circle[0].text for circle in elements(svg, "circle", "cut")] == ["C\ndegree 3"]
    assert [path[0].text.split("\n")[0] for path in elements(svg, "path", "bridge") if path[0].text] == ["C - D"]
    assert elements(drawn(shapes.tree(7)), "circle", "cut") == []


def test_names_cannot_break_out() -> None:
    overlay = Overlay("</title><script>alert(1)</script>&", (Broker("A", {"city": '<b>"&'}),), ())
    page = to_html(overlay)
    assert "<script" not in page
    assert "<b>" not in page
    fromstring(to_svg(overlay))


def test_a_page_needs_nothing_else() -> None:
    page = to_html(build("o", shapes.ring(4), TEMPLATES, 1))
    assert page.startswith("<!doctype html>")
    assert "src=" not in page
    assert "href=" not in page


def test_one_overlay_one_picture() -> None:
    overlay = build("o", shapes.cyclic(30, 4, random.Random(1)), TEMPLATES, 1)
    assert to_svg(overlay) == to_svg(overlay)
