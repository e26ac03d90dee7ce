"""The overlay under load is drawn link by link, on the scale of all variants."""

from __future__ import annotations

from xml.etree.ElementTree import Element, fromstring, tostring

from hypothesis import given
from hypothesis import strategies as st

from analysis.live.frames import ShownSite
from analysis.report.figures.sites import SeenSite
from analysis.report.overlay_drawing import HEIGHT, WIDTH, busiest_link, overlay_drawing
from analysis.tables.comparison import RelievedLink
from analysis.tables.traffic import BrokerMessages, LinkLoad
from topology.full_mesh import drawn_full_mesh
from topology.link_properties import Link, LinkProperties
from topology.links import LinkTemplates
from topology.model import Broker, Overlay

TRIANGLE = Overlay(
    "triangle",
    tuple(Broker(name) for name in ("B1", "B2", "B3")),
    (
        Link("B1", "B2", LinkProperties(delay=0.005), LinkProperties(delay=0.005)),
        Link("B2", "B3"),
        Link("B1", "B3"),
    ),
)
RELIEVED = RelievedLink(source="B1", target="B2", reference_publications=1634, variant_publications=812)


def load(source: str, target: str, publications: int, variant: str = "fixed") -> LinkLoad:
    return LinkLoad(
        variant=variant, source=source, target=target, messages=publications, publications=publications, bytes=0,
        max_queue=0, mean_wait_ms=0.25, max_wait_ms=1.0,
    )  # fmt: skip


def handled(broker: str, kind: str, from_clients: int, received: int) -> BrokerMessages:
    return BrokerMessages(
        variant="fixed", broker=broker, kind=kind, from_clients=from_clients, received=received, sent=0, delivered=0,
        received_bytes=0, sent_bytes=0,
    )  # fmt: skip


def drawn(
    overlay: Overlay,
    links: list[LinkLoad],
    messages: list[BrokerMessages] | None = None,
    busiest: int = 40,
    relieved: RelievedLink | None = None,
) -> Element:
    return fromstring(overlay_drawing(overlay, links, messages or [], busiest, relieved))


def lines(svg: Element) -> dict[str, Element]:
    """The visible line of each link, by the names of its ends."""
    return {
        (group.findtext("title") or "").partition(",")[0]: line
        for group in svg.findall("g")
        if (line := group.find("line")) is not None
    }


def test_link_load_counts_both_directions_and_variants_share_the_scale() -> None:
    links = [load("B1", "B2", 30), load("B2", "B1", 10), load("B2", "B3", 5), load("B1", "B2", 60, "dynamic")]
    assert busiest_link(links) == 60
    assert busiest_link([]) == 1


def test_of_very_many_links_those_are_drawn_that_carried_most() -> None:
    """A full mesh of 101 brokers has 5,050 links; the least loaded one that carried anything is still drawn."""
    mesh = drawn_full_mesh("m", [Broker(f"B{number}") for number in range(1, 102)], LinkTemplates(), 1)
    svg = drawn(mesh, [load("B1", "B2", 30), load("B2", "B1", 10), load("B9", "B100", 1), load("B3", "B4", 0)])
    assert set(lines(svg)) == {"B1 – B2", "B9 – B100"}


def test_a_full_mesh_of_56_brokers_takes_no_quarter_of_a_megabyte() -> None:
    mesh = drawn_full_mesh("m", [Broker(f"B{number}") for number in range(1, 57)], LinkTemplates(), 1)
    svg = drawn(mesh, [load("B1", "B2", 30), load("B3", "B4", 0)])
    assert len(lines(svg)) == 56 * 55 / 2
    assert len(tostring(svg)) < 250_000
    (words,) = [title.text or "" for title in svg.iter("title") if (title.text or "").startswith("B3 – B4,")]
    assert words.endswith(" ms, no publications")
    assert [line for line in drawn(TRIANGLE, []).iter("line") if line.get("class") == "reach"]


def test_every_link_is_drawn_once_and_named_in_both_directions() -> None:
    svg = drawn(TRIANGLE, [load("B1", "B2", 30), load("B2", "B1", 10)], [handled("B1", "publish", 40, 10)])
    found = lines(svg)
    assert set(found) == {"B1 – B2", "B2 – B3", "B1 – B3"}
    widths = {ends: float(line.attrib["stroke-width"]) for ends, line in found.items()}
    assert widths["B1 – B2"] > widths["B2 – B3"] == widths["B1 – B3"]
    titles = [title.text or "" for title in svg.iter("title")]
    assert (
        "B1 – B2, 5.0 ms\nB1 → B2: 30 publications, mean wait 0.25 ms\nB2 → B1: 10 publications, mean wait 0.25 ms"
        in titles
    )
    assert "B1: 50 messages received, 40 of them publications of its clients" in titles
    assert "B2: 0 messages received" in titles


def test_only_brokers_at_which_clients_published_have_a_ring() -> None:
    svg = drawn(TRIANGLE, [], [handled("B1", "publish", 4, 0), handled("B2", "publish", 0, 4)])
    ringed = [
        (group.findtext("title") or "").partition(":")[0]
        for group in svg.iter("g")
        if any(circle.get("class") == "ring" for circle in group.findall("circle"))
    ]
    assert ringed == ["B1"]


def test_a_relieved_link_is_labelled_with_what_it_carried_in_its_direction() -> None:
    def labels(relieved: RelievedLink | None, links: list[LinkLoad]) -> list[str | None]:
        svg = drawn(TRIANGLE, links, relieved=relieved)
        return [text.text for text in svg.iter("text") if text.get("class") == "number"]

    links = [load("B1", "B2", 1634), load("B2", "B1", 10)]
    assert labels(RELIEVED, links) == ["1,634"]
    assert labels(RELIEVED, []) == ["0"]
    assert labels(None, links) == []


def test_the_drawing_has_a_text_alternative() -> None:
    svg = drawn(TRIANGLE, [load("B1", "B2", 30), load("B2", "B1", 10), load("B2", "B3", 5)])
    assert svg.attrib["role"] == "img"
    assert svg.attrib["aria-label"] == ("Overlay; 2 of 3 links carried publications, the most B1 – B2 with 40.")
    assert drawn(TRIANGLE, []).attrib["aria-label"] == "Overlay; no link carried a publication."


def test_sites_of_brokers_at_the_rim_are_inside() -> None:
    names = [f"B{number}" for number in range(1, 9)]
    ends = zip(names, [*names[1:], names[0]], strict=True)
    ring = Overlay("ring", tuple(map(Broker, names)), tuple(Link(*pair) for pair in ends))
    sites = [
        SeenSite(ShownSite(f"{name}-site", number, 1, "5 ms", 0.0), [name], {}, 0, 0)
        for number, name in enumerate(names)
    ]
    svg = fromstring(overlay_drawing(ring, [], [], 1, None, sites=sites))
    squares = list(svg.iter("rect"))
    assert len(squares) == len(names)
    for square in squares:
        x, y, side = (float(square.attrib[name]) for name in ("x", "y", "width"))
        assert 0 <= x <= WIDTH - side
        assert 0 <= y <= HEIGHT - side


@given(st.lists(st.integers(0, 500), min_size=3, max_size=3))
def test_more_publications_are_never_drawn_narrower_and_nothing_is_outside(publications: list[int]) -> None:
    links = [load(link.a, link.b, count) for link, count in zip(TRIANGLE.links, publications, strict=True)]
    found = lines(drawn(TRIANGLE, links, busiest=busiest_link(links)))
    width = {name: float(line.attrib["stroke-width"]) for name, line in found.items()}
    ordered = sorted(zip(TRIANGLE.links, publications, strict=True), key=lambda item: item[1])
    widths = [width[f"{link.a} – {link.b}"] for link, _ in ordered]
    assert widths == sorted(widths)
    for line in found.values():
        assert all(0 <= float(line.attrib[x]) <= WIDTH for x in ("x1", "x2"))
        assert all(0 <= float(line.attrib[y]) <= HEIGHT for y in ("y1", "y2"))
