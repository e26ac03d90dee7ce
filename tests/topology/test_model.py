"""An overlay is checked when it is made; links are found from either end."""

from __future__ import annotations

import math

import pytest

from topology.link_properties import Link, LinkProperties, OverlayError
from topology.model import Broker, Overlay


def overlay(brokers: str, *links: str) -> Overlay:
    pairs = (link.split("-") for link in links)
    return Overlay("o", tuple(Broker(b) for b in brokers.split()), tuple(Link(a, b) for a, b in pairs))


@pytest.mark.parametrize(
    ("brokers", "links", "message"),
    [
        ("", [], "an overlay needs at least one broker"),
        ("A A", [], "broker A is listed twice"),
        ("A B", ["A-C"], "link A - C: there is no broker 'C'"),
        ("A B", ["A-B", "A-A"], "link A - A: a broker cannot be linked to itself"),
        ("A B", ["A-B", "B-A"], "link B - A is listed twice"),
        ("A B C D E", ["A-B", "B-C", "D-E"], "the overlay is disconnected: 2 parts, one of them {D, E}; "
         "add a link between each two parts"),
        ("A/B", [], "broker id 'A/B': use letters, digits and any of -_. (32 at most, a letter or digit first)"),
    ],
)  # fmt: skip
def test_what_cannot_be_an_overlay(brokers: str, links: list[str], message: str) -> None:
    with pytest.raises(OverlayError) as raised:
        overlay(brokers, *links)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    "properties",
    [
        {"delay": -1.0},
        {"delay": math.inf},
        {"jitter": math.nan},
        {"loss": 1.5},
        {"rate": 0.0},
        {"queue_limit": 0},
    ],
)
def test_what_cannot_be_a_link(properties: dict[str, float]) -> None:
    with pytest.raises(OverlayError, match="a link's"):
        LinkProperties(**properties)  # type: ignore[arg-type]


def test_neighbours_and_links_from_either_end() -> None:
    made = overlay("A B C", "A-B", "C-A")
    assert made.neighbours("A") == ("B", "C")
    assert made.neighbours("C") == ("A",)
    assert made.link("A", "C") is made.link("C", "A") is made.links[1]
    with pytest.raises(KeyError):
        made.link("B", "C")


def test_equal_when_made_of_equals() -> None:
    assert overlay("A B", "A-B") == overlay("A B", "A-B")
    assert overlay("A B", "A-B") != overlay("A B", "B-A")


def test_as_a_graph() -> None:
    made = Overlay("o", (Broker("A", {"level": 0}), Broker("B")), (Link("A", "B"),))
    graph = made.to_networkx()
    assert graph.nodes["A"]["level"] == 0
    assert graph.edges["A", "B"]["link"] is made.links[0]
