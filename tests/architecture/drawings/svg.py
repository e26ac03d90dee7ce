"""A deterministic writer of SVG: boxes, texts, bands and curved arrows, in order of drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from xml.sax.saxutils import escape

FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
INK = "#1f2933"
FAINT = "#52606d"
PAPER = "#ffffff"
BOLD = 'font-weight="bold"'
_CHARACTER_WIDTH = 0.56
"""Mean width of a character, as a share of the font's size; wide fonts of the list above fit too."""

Point = tuple[float, float]


def text_width(text: str, size: float) -> float:
    """Width of a text in pixels, about."""
    return len(text) * size * _CHARACTER_WIDTH


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Position of the upper left corner, and extent, in pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def centre(self) -> float:
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height


@dataclass(slots=True)
class Drawing:
    """Elements of a picture with a title; `text` is the whole file."""

    width: float
    height: float
    title: str
    _elements: list[str] = field(default_factory=list)

    def box(self, place: Rectangle, fill: str, line: str, *, radius: float = 6, thickness: float = 1.2) -> None:
        self._elements.append(
            f'<rect x="{_n(place.x)}" y="{_n(place.y)}" width="{_n(place.width)}" height="{_n(place.height)}" '
            f'rx="{_n(radius)}" fill="{fill}" stroke="{line}" stroke-width="{_n(thickness)}"/>'
        )

    def write(
        self, at: Point, text: str, size: float, *, colour: str = INK, anchor: str = "start", style: str = ""
    ) -> None:
        """Text whose base line begins, is centred (`middle`) or ends (`end`) at a point."""
        self._elements.append(
            f'<text x="{_n(at[0])}" y="{_n(at[1])}" font-size="{_n(size)}" fill="{colour}" '
            f'text-anchor="{anchor}"{f" {style}" if style else ""}>{escape(text)}</text>'
        )

    def line(self, begin: Point, end: Point, colour: str, *, dashes: str = "4 4") -> None:
        self._elements.append(
            f'<line x1="{_n(begin[0])}" y1="{_n(begin[1])}" x2="{_n(end[0])}" y2="{_n(end[1])}" '
            f'stroke="{colour}" stroke-dasharray="{dashes}"/>'
        )

    def arrow(self, points: Sequence[Point], colour: str, *, thickness: float = 1.3, curved: bool = True) -> None:
        """Arrow through points, with its head at the last one. Curves leave and reach every point vertically."""
        path = f"M{_n(points[0][0])} {_n(points[0][1])}"
        for (x, y), (next_x, next_y) in pairwise(points):
            if curved and x != next_x:
                middle = (y + next_y) / 2
                path += f"C{_n(x)} {_n(middle)} {_n(next_x)} {_n(middle)} {_n(next_x)} {_n(next_y)}"
            else:
                path += f"L{_n(next_x)} {_n(next_y)}"
        self._elements.append(
            f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{_n(thickness)}" '
            f'stroke-linejoin="round" marker-end="url(#head-{colour.lstrip("#")})"/>'
        )

    @property
    def text(self) -> str:
        colours = sorted({part.partition(")")[0] for e in self._elements for part in e.split("url(#head-")[1:]})
        heads = "".join(
            f'<marker id="head-{colour}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.8L8 4L0 7.2z" fill="#{colour}"/></marker>'
            for colour in colours
        )
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(self.width)} {_n(self.height)}" '
                f'width="{_n(self.width)}" height="{_n(self.height)}" font-family="{FONT}">',
                f"<title>{escape(self.title)}</title>",
                f"<defs>{heads}</defs>",
                f'<rect width="{_n(self.width)}" height="{_n(self.height)}" fill="{PAPER}"/>',
                *self._elements,
                "</svg>\n",
            ]
        )


def _n(number: float) -> str:
    """A number with at most one decimal, so that files do not depend on the last bits of a float."""
    return f"{number:.1f}".removesuffix(".0")
