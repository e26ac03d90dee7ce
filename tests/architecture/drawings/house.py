"""The first drawing: packages and their rooms on their floors, with the imports between them as arrows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from tests.architecture.drawings.layers import Placed, place
from tests.architecture.drawings.svg import BOLD, FAINT, INK, Drawing, Point, Rectangle, text_width
from tests.architecture.imports import Import, imports, modules
from tests.architecture.order import PACKAGES, ROOMS, packages

PURPOSES: Mapping[str, str] = {
    "record": "what a run leaves behind, for writer and reader",
    "broker_service": "the broker: a core without I/O, shells around it",
    "brokerlab": "names for outsiders",
    "topology": "overlays: generators, files, drawings",
    "scenario": "what a run shall be: file, faults, workload",
    "emulation": "runs of a scenario, on hosts or simulated",
    "analysis": "from logs to tables, verdicts and the report",
    "studies": "many runs",
    "command_line": "the commands",
}
COLOURS: Mapping[str, tuple[str, str]] = {
    "record": ("#f0f4f8", "#829ab1"),
    "broker_service": ("#e3f8ff", "#2186a8"),
    "brokerlab": ("#fdeef6", "#b0487f"),
    "topology": ("#e9f7ec", "#3c9a5f"),
    "scenario": ("#f3f7e1", "#7b8f2a"),
    "emulation": ("#fff6e0", "#c4831c"),
    "analysis": ("#f4ecfb", "#8a56b8"),
    "studies": ("#ffecea", "#c25450"),
    "command_line": ("#f1f3f5", "#616e7c"),
}
"""Fill and line of each package."""

_ROOM_HEIGHT, _ROOM_TEXT, _ROOM_PADDING = 25.0, 12.5, 9.0
_FLOOR = 51.0
"""Distance between the floors of a package, pixels."""
_TITLE, _MARGIN, _BETWEEN, _EDGE = 52.0, 22.0, 56.0, 24.0
_LEAST_WIDTH = 520.0
"""Width of a package's box where its rooms need less, pixels."""
_ARROW = "#9aa5b1"
_NAMES = {"__main__": "__main__.py"}


@dataclass(frozen=True, slots=True)
class Package:
    """A package with its rooms placed; positions are relative to its first room's corner."""

    name: str
    placed: Placed
    arrows: Sequence[tuple[str, str]]

    @property
    def floors(self) -> Sequence[Iterable[str]]:
        return ROOMS[self.name]

    @property
    def width(self) -> float:
        title = text_width(self.name, 17) + 2 * _MARGIN
        return max(self.placed.width + 2 * _MARGIN, title, text_width(PURPOSES[self.name], 12) + 2 * _MARGIN)

    @property
    def height(self) -> float:
        return _TITLE + (len(self.floors) - 1) * _FLOOR + _ROOM_HEIGHT + _MARGIN


def draw() -> Drawing:
    """The whole house, the ground at the bottom."""
    found = imports(modules(packages()))
    rows = [[_package(name, found) for name in _side_by_side(floor)] for floor in PACKAGES]
    width = 2 * _EDGE + max(sum(max(p.width, _LEAST_WIDTH) + _BETWEEN for p in row) - _BETWEEN for row in rows)
    heights = [max(package.height for package in row) for row in rows]
    head = 74.0
    drawing = Drawing(width, head + sum(heights) + _BETWEEN * (len(rows) - 1) + _EDGE, "Packages, rooms and imports")
    drawing.write((_EDGE, 34), "brokerlab: packages and their rooms", 20, style=BOLD)
    drawing.write(
        (_EDGE, 56),
        "An arrow is an import. All arrows point down; those that follow from others are left out.",
        13,
        colour=FAINT,
    )
    places: dict[str, Rectangle] = {}
    y = head
    for row, height in zip(reversed(rows), reversed(heights), strict=True):
        widths = [max(package.width, _LEAST_WIDTH) for package in row]
        x = (width - sum(widths) - _BETWEEN * (len(row) - 1)) / 2
        for package, own in zip(row, widths, strict=True):
            places[package.name] = Rectangle(x, y, own, height)
            x += own + _BETWEEN
        y += height + _BETWEEN
    for name, place_of in places.items():
        drawing.box(place_of, COLOURS[name][0], COLOURS[name][1], radius=10, thickness=1.6)
    _draw_package_arrows(drawing, _reduced((a.importer.split(".")[0], a.imported.split(".")[0]) for a in found), places)
    for row in rows:
        for package in row:
            _draw_package(drawing, package, places[package.name])
    return drawing


def _side_by_side(floor: Iterable[str]) -> list[str]:
    """Packages of a floor from left to right; PURPOSES lists them in that order."""
    return [name for name in PURPOSES if name in floor]


def _package(name: str, found: Iterable[Import]) -> Package:
    arrows = _reduced(
        (importer.split(".")[1], imported.split(".")[1])
        for importer, imported in ((arrow.importer, arrow.imported) for arrow in found)
        if importer.startswith(f"{name}.") and imported.startswith(f"{name}.")
    )
    widths = {
        room: text_width(_NAMES.get(room, room), _ROOM_TEXT) + 2 * _ROOM_PADDING for f in ROOMS[name] for room in f
    }
    return Package(name, place([sorted(floor) for floor in ROOMS[name]], arrows, widths), arrows)


def _room_width(room: str) -> float:
    return text_width(_NAMES.get(room, room), _ROOM_TEXT) + 2 * _ROOM_PADDING


def _reduced(arrows: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Arrows between different ends, without those that follow from two or more others; sorted."""
    graph = nx.DiGraph((begin, end) for begin, end in arrows if begin != end)
    return sorted(nx.transitive_reduction(graph).edges)


def _draw_package(drawing: Drawing, package: Package, whole: Rectangle) -> None:
    _, line = COLOURS[package.name]
    drawing.write((whole.x + 14, whole.y + 24), package.name, 17, colour=line, style=BOLD)
    drawing.write((whole.x + 14, whole.y + 41), PURPOSES[package.name], 12, colour=FAINT)
    left = whole.x + (whole.width - package.placed.width) / 2
    top = whole.y + _TITLE + (whole.height - package.height) / 2
    highest = len(package.floors) - 1

    def level(number: int) -> float:
        return top + (highest - number) * _FLOOR

    rooms: dict[str, Rectangle] = {}
    for number, floor in enumerate(package.floors):
        for room in floor:
            width = _room_width(room)
            rooms[room] = Rectangle(left + package.placed.centres[room] - width / 2, level(number), width, _ROOM_HEIGHT)
    for high, low in package.arrows:
        points: list[Point] = [(rooms[high].centre, rooms[high].bottom)]
        for number, centre in package.placed.bends[high, low]:
            points += [(left + centre, level(number)), (left + centre, level(number) + _ROOM_HEIGHT)]
        drawing.arrow([*points, (rooms[low].centre, rooms[low].y - 1)], _ARROW)
    for room, place_of in sorted(rooms.items()):
        drawing.box(place_of, "#ffffff", line, radius=4)
        drawing.write(
            (place_of.centre, place_of.y + 17), _NAMES.get(room, room), _ROOM_TEXT, colour=INK, anchor="middle"
        )


def _draw_package_arrows(drawing: Drawing, arrows: Sequence[tuple[str, str]], places: Mapping[str, Rectangle]) -> None:
    """Arrows from lower edges to upper edges, their ends spread along each edge in the order of the other ends."""
    for high, low in arrows:
        leaving = sorted((end for begin, end in arrows if begin == high), key=lambda name: places[name].centre)
        arriving = sorted((begin for begin, end in arrows if end == low), key=lambda name: places[name].centre)
        begin, end = places[high], places[low]
        x = begin.x + begin.width * (leaving.index(low) + 1) / (len(leaving) + 1)
        to = end.x + end.width * (arriving.index(high) + 1) / (len(arriving) + 1)
        drawing.arrow([(x, begin.bottom), (to, end.y - 1)], COLOURS[high][1], thickness=2.2)
