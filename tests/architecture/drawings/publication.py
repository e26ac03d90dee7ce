"""The second drawing: a publication's way through the functions of two clients and two brokers."""

from __future__ import annotations

from itertools import pairwise

from tests.architecture.drawings.svg import BOLD, FAINT, Drawing, Rectangle
from tests.architecture.journeys import LAYERS, PUBLICATION, Step

_COLUMNS = tuple(dict.fromkeys(LAYERS.values()))
_COLOURS = {
    "client library": ("#ffecea", "#c25450"),
    "gRPC shell": ("#fff6e0", "#c4831c"),
    "link": ("#e9f7ec", "#3c9a5f"),
    "broker core": ("#e3f8ff", "#2186a8"),
    "router": ("#f4ecfb", "#8a56b8"),
}
_BAND_FILLS = ("#f7f9fb", "#eef2f6")
_BOX_WIDTH, _BOX_HEIGHT, _COLUMN, _ROW = 222.0, 40.0, 240.0, 58.0
_LEFT, _HEAD, _WIRE, _PADDING = 152.0, 108.0, 46.0, 14.0
_ARROW = "#52606d"


def draw() -> Drawing:
    """Columns are layers, rows are steps in the order of time, bands are processes."""
    drawing = Drawing(_LEFT + len(_COLUMNS) * _COLUMN + 20, 0, "A publication's way")
    drawing.write((24, 34), "A publication's way, from client to client", 20, style=BOLD)
    explanation = (
        "Columns are layers, bands are processes. In the simulator the same links, core and routers "
        "have another shell, clock and wire."
    )
    drawing.write((24, 56), explanation, 13, colour=FAINT)
    for number, layer in enumerate(_COLUMNS):
        centre = _LEFT + number * _COLUMN + _COLUMN / 2
        drawing.write((centre, _HEAD - 16), layer, 15, colour=_COLOURS[layer][1], anchor="middle", style=BOLD)
    top, last = _HEAD, None
    for number, process in enumerate(PUBLICATION):
        height = len(process.steps) * _ROW + 2 * _PADDING - (_ROW - _BOX_HEIGHT)
        drawing.box(Rectangle(16, top, drawing.width - 32, height), _BAND_FILLS[number % 2], "#d5dde5", radius=8)
        drawing.write((30, top + 26), process.name, 13.5, style=BOLD)
        places = [_place(step, top + _PADDING + row * _ROW) for row, step in enumerate(process.steps)]
        if last is not None:
            _draw_wire(drawing, last, places[0], PUBLICATION[number - 1].leaves_by)
        for before, after in pairwise(places):
            _draw_call(drawing, before, after)
        for step, place in zip(process.steps, places, strict=True):
            _draw_step(drawing, step, place)
        top, last = top + height + _WIRE, places[-1]
    drawing.height = top - _WIRE + 20
    return drawing


def _place(step: Step, y: float) -> Rectangle:
    return Rectangle(
        _LEFT + _COLUMNS.index(step.layer) * _COLUMN + (_COLUMN - _BOX_WIDTH) / 2, y, _BOX_WIDTH, _BOX_HEIGHT
    )


def _draw_step(drawing: Drawing, step: Step, place: Rectangle) -> None:
    fill, line = _COLOURS[step.layer]
    drawing.box(place, fill, line, radius=5)
    drawing.write((place.centre, place.y + 16.5), step.short_name, 12.5, anchor="middle")
    drawing.write((place.centre, place.y + 32), step.does, 10.5, colour=FAINT, anchor="middle")


def _draw_call(drawing: Drawing, before: Rectangle, after: Rectangle) -> None:
    """Straight down within a layer; to another layer, out at the side and down on it."""
    end = (after.centre, after.y - 1)
    if before.x == after.x:
        drawing.arrow([(before.centre, before.bottom), end], _ARROW, thickness=1.6)
        return
    side = before.x + before.width if after.x > before.x else before.x
    level = before.y + before.height / 2
    drawing.arrow([(side, level), (after.centre, level), end], _ARROW, thickness=1.6, curved=False)


def _draw_wire(drawing: Drawing, before: Rectangle, after: Rectangle, label: str) -> None:
    """Down between two processes, with the name of what carries the publication beside it."""
    level = (before.bottom + after.y) / 2
    points = [
        (before.centre, before.bottom),
        (before.centre, level),
        (after.centre, level),
        (after.centre, after.y - 1),
    ]
    drawing.arrow(points, _ARROW, thickness=1.6, curved=False)
    drawing.write((max(before.centre, after.centre) + 14, level + 4), label, 12.5, style='font-style="italic"')
