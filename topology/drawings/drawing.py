"""Pictures of overlays: SVG, or a self-contained HTML page.

Brokers have the positions of `layout`. Clusters, levels, domains or countries, if brokers have any, are colours; the
regions and clusters of a SCOT, and the nodes of a redundant tree that hold several brokers, are framed and named. Links
bend around brokers that they would otherwise run through. Pointing at a broker or a link shows its properties.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from record.wording import count_of
from topology.drawings.layout import Position, layout
from topology.link_properties import BrokerId, Link
from topology.metrics import Metrics, metrics
from topology.model import AttributeValue, Broker, Overlay
from topology.structures.redundant_tree import NODE

COLOURS = (
    *("#3b82c4", "#e07b39", "#3a9d6e", "#b05fb8", "#c2a12b", "#7a8491"),
    *("#2fa3a8", "#8a6d4f", "#5a63c9", "#7fae2e", "#d178a5", "#4a5568"),
)
_GROUPINGS = ("cluster", "level", "domain", "country")
"""Attributes that may determine a broker's colour: the first that all brokers have, with few enough values."""
_FEW = 12
"""Largest number of brokers for which a small drawing is large enough."""
_LABELLED_AT_MOST = 150
_BENT_AT_MOST = 300
"""Largest number of brokers for which links are bent around brokers."""
_MESH_LINES_AT_MOST = 5_000
"""Largest number of links of a full mesh that are drawn."""
_REACH = 12.0
"""Pixels from a broker to the frames of its region and its cluster."""
_FAINT, _GROUND = "#8a96a3", "#ffffff"
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#26323d}.faint{fill:#66727f}.strong{font-weight:600}"
    ".link{fill:none;stroke:#9aa7b4;stroke-width:1.2}.link:hover{stroke:#cf4b5b;stroke-width:3}"
    ".across{stroke-dasharray:5 3;stroke:#6f7c89}.within{stroke:#3f4c59;stroke-width:1.8}.bridge{stroke:#cf4b5b}"
    ".broker{stroke:#fff;stroke-width:1.5}.broker:hover{stroke:#26323d}.cut{stroke:#cf4b5b;stroke-width:2.5}"
    ".inside{font-size:10px;font-weight:600;fill:#fff;pointer-events:none}"
    ".beside{font-size:11px;paint-order:stroke;stroke:#fff;stroke-width:3px;pointer-events:none}"
)


def to_svg(overlay: Overlay) -> str:
    """The overlay as SVG text."""
    svg = _Drawing(overlay, layout(overlay), metrics(overlay)).svg()
    indent(svg, " ")
    return tostring(svg, encoding="unicode") + "\n"


def to_html(overlay: Overlay) -> str:
    """An HTML page with the drawing."""
    name = html.escape(overlay.name)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{name}</title>\n'
        "<style>body{margin:16px;background:#fff}svg{max-width:100%;height:auto}</style>\n"
        f"{to_svg(overlay)}</html>\n"
    )


def headline(overlay: Overlay, numbers: Metrics) -> str:
    """The line above the drawing."""
    brokers = count_of(numbers.brokers, "broker")
    links = count_of(numbers.links, "link")
    return f"{overlay.name}: {brokers}, {links}, mean degree {numbers.degree.mean:.3g}, diameter {numbers.diameter}"


@dataclass(frozen=True, slots=True)
class _Size:
    """Sizes of the drawing in pixels."""

    width: float
    height: float
    radius: float
    """Radius of a broker."""
    margin: float = 56.0
    top: float = 84.0


class _Drawing:
    """The drawing of one overlay as SVG elements."""

    def __init__(self, overlay: Overlay, positions: Mapping[BrokerId, Position], numbers: Metrics) -> None:
        self._overlay = overlay
        self._numbers = numbers
        self._clusters = _grouped(overlay, "cluster")
        self._regions = _grouped(overlay, "region") if self._clusters else {}
        self._region = {broker: region for region, brokers in self._regions.items() for broker in brokers}
        self._size = _size(overlay, len(self._regions), len(self._clusters))
        inner = self._size.width - 2 * self._size.margin, self._size.height - self._size.top - self._size.margin
        self._places = {
            broker: (self._size.margin + x * inner[0], self._size.top + (1 - y) * inner[1])
            for broker, (x, y) in positions.items()
        }
        self._colours = _colours(overlay)

    def svg(self) -> Element:
        width, height = f"{self._size.width:.0f}", f"{self._size.height:.0f}"
        root = Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "width": width,
                "height": height,
                "viewBox": f"0 0 {width} {height}",
            },
        )
        SubElement(root, "style").text = _STYLE
        SubElement(root, "rect", {"width": width, "height": height, "fill": _GROUND})
        _text(root, 16, 24, headline(self._overlay, self._numbers), "strong")
        self._draw_legend(root)
        self._draw_regions(root)
        self._draw_clusters(root)
        self._draw_nodes(root)
        bridges = {frozenset(ends) for ends in self._numbers.bridges} if self._has_cycles else set()
        for link in self._overlay.links if self._shows_links else ():
            self._draw_link(root, link, frozenset((link.a, link.b)) in bridges)
        cuts = set(self._numbers.articulation_points) if self._has_cycles else set()
        for broker in self._overlay.brokers:
            self._draw_broker(root, broker, broker.id in cuts)
        if len(self._places) <= _LABELLED_AT_MOST:
            for broker in self._overlay.brokers:
                self._draw_label(root, broker.id)
        return root

    @property
    def _shows_links(self) -> bool:
        """False for a full mesh whose lines would cover everything."""
        return not self._overlay.is_full_mesh or self._numbers.links <= _MESH_LINES_AT_MOST

    @property
    def _has_cycles(self) -> bool:
        """False for a tree, where every loss cuts and marks would mean nothing."""
        return self._numbers.links >= self._numbers.brokers

    def _draw_legend(self, root: Element) -> None:
        x = _text(root, 16, 46, f"{self._colours.attribute}:", "faint") + 8 if self._colours.attribute else 16
        for group, colour in self._colours.of.items():
            SubElement(root, "circle", {"cx": f"{x + 5:.0f}", "cy": "42", "r": "5", "fill": colour})
            x = _text(root, x + 14, 46, group, "faint") + 10
        if self._regions:
            x = _text(root, x, 46, "solid: aLink, within a cluster; dashed: iLink, within a region", "faint") + 14
        if not self._shows_links:
            _text(root, x, 46, "every two brokers are linked; lines are left out", "faint")
        if self._has_cycles and (self._numbers.bridges or self._numbers.articulation_points):
            _text(root, x, 46, "red: its loss alone cuts the overlay apart", "faint")

    def _draw_regions(self, root: Element) -> None:
        reach = self._size.radius + _REACH
        for region, brokers in self._regions.items():
            x = self._places[brokers[0]][0]
            top, height = self._size.top - reach - 4, self._size.height - self._size.top - self._size.margin
            _frame(root, (x - reach, top, 2 * reach, height + 2 * reach + 8), "#eef2f6", _FAINT, "3 3")
            _text(root, x, self._size.height - 14, region, anchor="middle")

    def _draw_clusters(self, root: Element) -> None:
        reach = self._size.radius + _REACH
        for index, (cluster, brokers) in enumerate(self._clusters.items() if self._regions else ()):
            heights = [self._places[broker][1] for broker in brokers]
            top, bottom = min(heights) - reach, max(heights) + reach
            colour = COLOURS[index % len(COLOURS)]
            _frame(root, (14, top, self._size.width - 28, bottom - top), colour, colour, None)
            _text(root, 20, top + 15, f"C{cluster}", "strong")

    def _draw_nodes(self, root: Element) -> None:
        """Frames around the brokers of a redundant tree's nodes, which stand side by side where levels are rows."""
        reach = self._size.radius + _REACH
        in_rows = bool(_grouped(self._overlay, "level"))
        for node, brokers in _grouped(self._overlay, NODE).items() if in_rows else ():
            if len(brokers) < 2:
                continue
            places = [self._places[broker] for broker in brokers]
            left, top = (min(place[axis] for place in places) - reach for axis in (0, 1))
            right, bottom = (max(place[axis] for place in places) + reach for axis in (0, 1))
            _frame(root, (left, top, right - left, bottom - top), "#eef2f6", _FAINT, "3 3")
            _text(root, left, top - 4, node, "strong")

    def _draw_link(self, root: Element, link: Link, bridge: bool) -> None:
        a, b = self._places[link.a], self._places[link.b]
        classes = ["link"]
        across = bool(self._regions) and self._region[link.a] == self._region[link.b]
        if self._regions:
            classes.append("across" if across else "within")
        if bridge:
            classes.append("bridge")
        path = SubElement(root, "path", {"class": " ".join(classes), "d": self._course(a, b, across)})
        SubElement(path, "title").text = _about_link(link)

    def _course(self, a: Position, b: Position, across: bool) -> str:
        """A straight line, or an arc around brokers on it; within a region a flat arc that stays in the column.

        A flat arc passes one broker on one side, two on the other side, and so on, farther out each time.
        """
        passed = 0
        if len(self._places) <= _BENT_AT_MOST:
            passed = sum(_stands_between(place, a, b, self._size.radius) for place in self._places.values())
        if passed == 0:
            return f"M{a[0]:.1f},{a[1]:.1f}L{b[0]:.1f},{b[1]:.1f}"
        length = math.dist(a, b)
        bulge = 0.14 + 12 / length
        if across:
            out = min(self._size.radius + 4 + 3 * ((passed - 1) // 2), self._size.radius + _REACH - 2)
            bulge = (2 if passed % 2 else -2) * out / length
        x, y = (a[0] + b[0]) / 2 + bulge * (a[1] - b[1]), (a[1] + b[1]) / 2 + bulge * (b[0] - a[0])
        return f"M{a[0]:.1f},{a[1]:.1f}Q{x:.1f},{y:.1f} {b[0]:.1f},{b[1]:.1f}"

    def _draw_broker(self, root: Element, broker: Broker, cut: bool) -> None:
        x, y = (f"{coordinate:.1f}" for coordinate in self._places[broker.id])
        circle = {"class": "broker cut" if cut else "broker", "cx": x, "cy": y, "r": f"{self._size.radius:.1f}"}
        circle["fill"] = self._colours.colour(broker)
        SubElement(SubElement(root, "circle", circle), "title").text = _about_broker(broker, self._overlay)

    def _draw_label(self, root: Element, broker: BrokerId) -> None:
        x, y = self._places[broker]
        if len(broker) <= 3 and self._size.radius >= 13:
            _text(root, x, y + 3.5, broker, "inside", anchor="middle")
        else:
            _text(root, x, y - self._size.radius - 3, broker, "beside", anchor="middle")


def _size(overlay: Overlay, regions: int, clusters: int) -> _Size:
    if regions:
        return _Size(max(640.0, 62.0 * regions + 112), 84 + 56 + max(150.0 * clusters - 60, 60), 13)
    brokers = len(overlay.brokers)
    side = min(2400.0, max(400.0 if brokers <= _FEW else 560.0, 110 * math.sqrt(brokers)))
    radius = 13.5 if all(len(broker.id) <= 3 for broker in overlay.brokers) else 7.0
    return _Size(1.35 * side, side + 60, radius if brokers <= 60 else max(5.0, radius * math.sqrt(60 / brokers)))


@dataclass(frozen=True, slots=True)
class _Colours:
    """The meaning of a broker's colour."""

    attribute: str
    """The attribute that the colour shows; empty when it shows none."""
    of: Mapping[AttributeValue, str]
    """The colour of each value of the attribute."""

    def colour(self, broker: Broker) -> str:
        return self.of[broker.attributes[self.attribute]] if self.attribute else COLOURS[0]


def _colours(overlay: Overlay) -> _Colours:
    for attribute in _GROUPINGS:
        groups = _grouped(overlay, attribute)
        if 1 < len(groups) <= len(COLOURS):
            numeric = all(isinstance(group, int | float) for group in groups)
            order = sorted(groups, key=lambda group: float(str(group))) if numeric else list(groups)
            return _Colours(attribute, dict(zip(order, COLOURS, strict=False)))
    return _Colours("", {})


def _grouped(overlay: Overlay, attribute: str) -> dict[AttributeValue, list[BrokerId]]:
    """Brokers by the value of an attribute, in order; empty unless all brokers have it."""
    groups: dict[AttributeValue, list[BrokerId]] = {}
    for broker in overlay.brokers:
        if attribute not in broker.attributes:
            return {}
        groups.setdefault(broker.attributes[attribute], []).append(broker.id)
    return groups


def _stands_between(place: Position, a: Position, b: Position, radius: float) -> bool:
    """True for a circle on the line from a to b that is not one of its ends."""
    along = ((place[0] - a[0]) * (b[0] - a[0]) + (place[1] - a[1]) * (b[1] - a[1])) / (math.dist(a, b) ** 2 or 1)
    if place in (a, b) or not 0 < along < 1:
        return False
    nearest = a[0] + along * (b[0] - a[0]), a[1] + along * (b[1] - a[1])
    return math.dist(place, nearest) < 0.8 * radius


def _about_broker(broker: Broker, overlay: Overlay) -> str:
    lines = [broker.id, f"degree {len(overlay.neighbours(broker.id))}"]
    return "\n".join([*lines, *(f"{name} {value}" for name, value in broker.attributes.items())])


def _about_link(link: Link) -> str:
    return "\n".join([f"{link.a} - {link.b}", *_directions(link)])


def _directions(link: Link) -> Iterator[str]:
    both = link.forward == link.backward
    for arrow, properties in (("", link.forward),) if both else (("there: ", link.forward), ("back: ", link.backward)):
        parts = [f"delay {properties.delay * 1e3:.3g} ms"]
        if properties.jitter:
            parts.append(f"jitter {properties.jitter * 1e3:.3g} ms")
        if properties.loss:
            parts.append(f"loss {properties.loss:.2%}")
        if properties.rate is not None:
            parts.append(f"{properties.rate / 1e6:.3g} Mbit/s")
        if properties.send_time:
            parts.append(f"send time {properties.send_time.mean * 1e3:.3g} ms")
        yield arrow + ", ".join(parts)


def _frame(root: Element, box: tuple[float, float, float, float], fill: str, stroke: str, dashes: str | None) -> None:
    x, y, width, height = (f"{number:.1f}" for number in box)
    attributes = {"x": x, "y": y, "width": width, "height": height, "rx": "9", "fill": fill, "stroke": stroke}
    if dashes is None:
        attributes["fill-opacity"] = "0.10"
    else:
        attributes["stroke-dasharray"] = dashes
    SubElement(root, "rect", attributes)


def _text(
    root: Element,
    x: float,
    y: float,
    text: object,
    kind: str = "",
    *,
    anchor: str = "start",
) -> float:
    """Writes a text and returns the approximate x coordinate of its end."""
    attributes = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
    if kind:
        attributes["class"] = kind
    SubElement(root, "text", attributes).text = str(text)
    return x + 6.6 * len(str(text))
