"""The overlay of a variant under its load, as a drawing within the page.

Links are wider and redder the more publications they carried, so that width tells them apart without colours. Brokers
at which clients published have a ring; join points of composite subscriptions have a diamond, and a dashed arrow leads
from one to that to which it moved. Sites of clients are small squares beside their broker. Pointing at any of them
shows its numbers. Colours of text and rings are those of the page, light or dark.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from analysis.report.figures.join_points import draw_join_points
from analysis.report.figures.sites import SeenSite, draw_sites
from analysis.report.figures.style import on_scale
from analysis.tables.comparison import RelievedLink
from analysis.tables.placements import Placement
from analysis.tables.traffic import BrokerMessages, LinkLoad
from broker_service.messages import Kind
from record.wording import count_of
from topology.drawings.layout import Position, layout
from topology.link_properties import Link
from topology.model import Overlay

WIDTH, HEIGHT = 400, 320
_MARGIN = 29
"""Room for the sites of brokers at the rim."""
NARROWEST, WIDEST = 1.5, 8.0
"""Widths of links, by the share of the busiest link's load."""
MOST_LINKS_SHOWN = 5_000
"""Links drawn in an overlay; the half million of a mesh of 1,000 brokers would make a page of hundreds of megabytes."""
MOST_LINKS_REACHED = 500
"""Links up to which pointing near one is enough; where there are more, they are too dense for that."""
LABELLED_BROKERS_AT_MOST = 60
LARGEST_BROKER, SMALLEST_BROKER = 13.0, 2.5
"""Radius of a broker in small and in large overlays."""
_PUBLISH = Kind.PUBLISH.word

Ends = tuple[str, str]


_UNKNOWN = "Overlay; its brokers keep no logs, so the loads of links are not known."


def busiest_link(links: Sequence[LinkLoad]) -> int:
    """The most publications that any link of any variant carried, both directions together; at least 1."""
    carried: dict[tuple[str, frozenset[str]], int] = defaultdict(int)
    for row in links:
        carried[row.variant, frozenset((row.source, row.target))] += row.publications
    return max(carried.values(), default=1) or 1


def overlay_drawing(
    overlay: Overlay,
    links: Sequence[LinkLoad],
    messages: Sequence[BrokerMessages] | None,
    busiest: int,
    relieved: RelievedLink | None,
    *,
    placements: Sequence[Placement] = (),
    sites: Sequence[SeenSite] = (),
) -> str:
    """The drawing of one variant as SVG text; nothing of what brokers did where `messages` are not known (None).

    `busiest` is the load that is drawn widest, so that variants can be compared. The relieved link, if any, is labelled
    with the publications that it carried here in that direction. `placements` are the join points of composite
    subscriptions; `sites` are those of clients.
    """
    load = {(row.source, row.target): row for row in links}
    places = {broker: _place(position) for broker, position in layout(overlay).items()}
    shown = _shown_links(overlay, load)
    svg = Element(
        "svg",
        {
            "class": "overlay",
            "viewBox": f"0 0 {WIDTH} {HEIGHT}",
            "role": "img",
            "aria-label": _UNKNOWN if messages is None else _in_words(shown),
        },
    )
    for link, publications in sorted(shown.items(), key=lambda item: item[1]):
        drawn = _draw_link(svg, link, places, publications / busiest, load)
        if len(shown) <= MOST_LINKS_REACHED:
            SubElement(drawn, "line", {**_ends(link, places), "class": "reach"})
    radius = min(LARGEST_BROKER, max(SMALLEST_BROKER, 56 / math.sqrt(len(overlay.brokers))))
    _draw_brokers(svg, overlay, places, messages, radius)
    draw_sites(svg, sites, overlay, places, radius)
    draw_join_points(svg, placements, places, radius)
    if relieved is not None and messages is not None:
        _draw_label(svg, (relieved.source, relieved.target), places, load)
    return tostring(svg, encoding="unicode")


def _place(position: Position) -> Position:
    x, y = position
    return _MARGIN + x * (WIDTH - 2 * _MARGIN), _MARGIN + (1 - y) * (HEIGHT - 2 * _MARGIN)


def _shown_links(overlay: Overlay, load: Mapping[Ends, LinkLoad]) -> dict[Link, int]:
    """Publications of all links, both directions together; of an overlay with very many links, of those that carried
    most."""
    if len(overlay.links) <= MOST_LINKS_SHOWN:
        return {link: _publications(load, link) for link in overlay.links}
    carried: Counter[Ends] = Counter()
    for (source, target), row in load.items():
        carried[min(source, target), max(source, target)] += row.publications
    most = carried.most_common(MOST_LINKS_SHOWN)
    return {overlay.link(*ends): publications for ends, publications in most if publications}


def _publications(load: Mapping[Ends, LinkLoad], link: Link) -> int:
    return sum(load[ends].publications for ends in link.directions if ends in load)


def _in_words(carried: Mapping[Link, int]) -> str:
    """The drawing for readers who cannot see it."""
    if not any(carried.values()):
        return "Overlay; no link carried a publication."
    busiest = max(carried, key=lambda link: carried[link])
    used = sum(publications > 0 for publications in carried.values())
    return (
        f"Overlay; {used} of {len(carried)} links carried publications, the most {busiest.a} – {busiest.b} with "
        f"{carried[busiest]:,}."
    )


def _draw_link(
    svg: Element, link: Link, places: Mapping[str, Position], share: float, load: Mapping[Ends, LinkLoad]
) -> Element:
    group = SubElement(svg, "g")
    SubElement(group, "title").text = _link_in_words(link, load)
    width = NARROWEST + (WIDEST - NARROWEST) * share
    SubElement(group, "line", {**_ends(link, places), "stroke": on_scale(share), "stroke-width": f"{width:.1f}"})
    return group


def _ends(link: Link, places: Mapping[str, Position]) -> dict[str, str]:
    (x1, y1), (x2, y2) = places[link.a], places[link.b]
    return {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}"}


def _link_in_words(link: Link, load: Mapping[Ends, LinkLoad]) -> str:
    named = f"{link.a} – {link.b}, {link.forward.delay * 1000:.1f} ms"
    if not _publications(load, link):
        return f"{named}, no publications"
    lines = [named]
    for source, target in link.directions:
        row = load.get((source, target))
        if row is not None:
            wait = "" if row.mean_wait_ms is None else f", mean wait {row.mean_wait_ms:.2f} ms"
            lines.append(f"{source} → {target}: {count_of(row.publications, 'publication')}{wait}")
    return "\n".join(lines)


def _draw_brokers(
    svg: Element,
    overlay: Overlay,
    places: Mapping[str, Position],
    messages: Sequence[BrokerMessages] | None,
    radius: float,
) -> None:
    handled: Counter[str] = Counter()
    published: Counter[str] = Counter()
    for row in messages or ():
        handled[row.broker] += row.from_clients + row.received
        if row.kind == _PUBLISH:
            published[row.broker] += row.from_clients
    names = [broker.id for broker in overlay.brokers]
    for name in names:
        x, y = places[name]
        group = SubElement(svg, "g", {"class": "broker"})
        words = name if messages is None else _broker_in_words(name, handled[name], published[name])
        SubElement(group, "title").text = words
        at = {"cx": f"{x:.1f}", "cy": f"{y:.1f}"}
        if published[name]:
            SubElement(group, "circle", {**at, "r": f"{radius * 1.3:.1f}", "class": "ring"})
        SubElement(group, "circle", {**at, "r": f"{radius:.1f}"})
        if len(names) <= LABELLED_BROKERS_AT_MOST:
            size = min(1.0, 2.6 / len(name)) * radius
            text = {"x": f"{x:.1f}", "y": f"{y + size * 0.36:.1f}", "font-size": f"{size:.1f}"}
            SubElement(group, "text", text).text = name


def _broker_in_words(name: str, handled: int, published: int) -> str:
    text = f"{name}: {count_of(handled, 'message')} received"
    return f"{text}, {published:,} of them publications of its clients" if published else text


def _draw_label(svg: Element, ends: Ends, places: Mapping[str, Position], load: Mapping[Ends, LinkLoad]) -> None:
    """The publications of a direction, in the middle of its link."""
    (x1, y1), (x2, y2) = (places[name] for name in ends)
    publications = load[ends].publications if ends in load else 0
    at = {"x": f"{(x1 + x2) / 2:.1f}", "y": f"{(y1 + y2) / 2 + 4:.1f}", "class": "number"}
    SubElement(svg, "text", at).text = f"{publications:,}"
