"""Quantities with units, as people write them in a scenario: `5ms`, `10mbit`, `60/min`, `256KiB`, `2%`.

Parsed durations are seconds, bit rates bits per second, message rates messages per second, sizes bytes, and shares
numbers from 0 to 1. Formatting gives the shortest text that parses back to exactly the same number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from scenario.yaml_files.scalars import shortened
from topology.links import Range

# The length limits keep a hostile number from costing more than a friendly one.
_QUANTITY = re.compile(
    r"([+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?)\s*([^\d\s.].{0,15})?", re.ASCII
)
# The same for editors, in the words that regular expressions of JSON Schema share with Python's.
_NUMBER = r"(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?"
_ZERO = r"[+-]?(?:0{1,40}(?:\.0{0,40})?|\.0{1,40})(?:[eE][+-]?[0-9]{1,3})?"


@dataclass(frozen=True, slots=True)
class Quantity:
    """One kind of quantity and its units."""

    name: str
    """The name with its article, for messages: `a duration`."""
    example: str
    units: Mapping[str, Fraction]
    """The worth of each unit by its name; the name "" allows a bare number."""
    most: float | None = None
    least: float = 0.0
    """The least amount other than 0, because division by a smaller one would overflow."""

    def parse(self, value: object) -> float:
        """The amount in the base unit. Raises `ValueError`, which lists the units."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"expected {self.name} such as {self.example}, got {_shown(value)}")
        text = value.strip() if isinstance(value, str) else repr(value)
        match = _QUANTITY.fullmatch(text)
        if match is None:
            raise ValueError(f"expected {self.name} such as {self.example}, got {_shown(value)}")
        number, unit = Fraction(match[1]), (match[2] or "").strip()
        if number < 0:
            raise ValueError(f"{self.name} cannot be negative, got {_shown(value)}")
        scale = self.units.get(unit)
        if scale is None and number == 0 and not unit:
            scale = Fraction(1)
        if scale is None:
            problem = f"unknown unit {unit!r}" if unit else "a unit is missing"
            raise ValueError(f"{problem} in {_shown(value)}: write {self.name} with one of {self._unit_names()}")
        try:
            amount = float(number * scale)
        except OverflowError:
            raise ValueError(f"{_shown(value)} is too large") from None
        if self.most is not None and amount > self.most:
            raise ValueError(f"{self.name} is at most {self.format(self.most)}, got {_shown(value)}")
        if number and amount < self.least:
            raise ValueError(f"{self.name} is 0, or at least {self.format(self.least)}, got {_shown(value)}")
        return amount

    def format(self, value: float) -> str:
        """The text with the shortest number that `parse` converts back to `value`."""
        texts = [(_plain(float(Fraction(value) / scale)), unit) for unit, scale in self.units.items()]
        exact = [(number, unit) for number, unit in texts if self.parse(f"{number}{unit}") == value]
        number, unit = min(exact, key=lambda text: len(text[0]))
        return number + unit

    def parse_range(self, value: object) -> Range:
        """A quantity, or two of them as `2ms..10ms`."""
        if isinstance(value, Range):
            return value
        if isinstance(value, str) and ".." in value:
            low, high = (self.parse(end) for end in value.split("..", 1))
            if low > high:
                raise ValueError(f"the range {value!r} has its ends swapped")
            return Range(low, high)
        return Range.fixed(self.parse(value))

    def format_range(self, value: Range) -> str:
        if value.low == value.high:
            return self.format(value.low)
        return f"{self.format(value.low)}..{self.format(value.high)}"

    @property
    def pattern(self) -> str:
        """A regular expression of the texts that `parse` reads; their size is not looked at."""
        units = "|".join(re.escape(unit) for unit in self.units if unit)
        needed = "?" if "" in self.units else ""
        return rf"(?:\+?{_NUMBER}\s*(?:{units}){needed}|{_ZERO}\s*(?:{units})?)"

    def schema(self, pattern: str = "", *, shape: str = "") -> dict[str, Any]:
        """The JSON Schema of a field of this kind, whose texts have another `pattern` if it is given.

        Without a unit, a number is 0 or has a meaning of its own.
        """
        return {
            "type": ["string", "number"],
            "pattern": rf"^\s*{pattern or self.pattern}\s*$",
            "minimum": 0,
            "maximum": (self.most or 0) if "" in self.units else 0,
            "title": self.name.split(maxsplit=1)[1] + shape,
            "examples": [self.example],
        }

    def range_schema(self) -> dict[str, Any]:
        """The JSON Schema of a field that takes a range, too."""
        return self.schema(self.range_pattern, shape=" or range")

    @property
    def range_pattern(self) -> str:
        """A regular expression of the texts that `parse_range` reads."""
        return rf"{self.pattern}(?:\s*\.\.\s*{self.pattern})?"

    def _unit_names(self) -> str:
        return ", ".join(unit for unit in self.units if unit)


def _shown(value: object) -> str:
    return shortened("null" if value is None else repr(value))


def _plain(number: float) -> str:
    text = repr(number)
    return text.removesuffix(".0")


def _thousands(names: str, least: Fraction = Fraction(1)) -> dict[str, Fraction]:
    return {name: least * 1000**power for power, name in enumerate(names.split())}


DURATION = Quantity(
    "a duration",
    "5ms",
    {
        "s": Fraction(1),
        "ms": Fraction(1, 10**3),
        "us": Fraction(1, 10**6),
        "ns": Fraction(1, 10**9),
        "min": Fraction(60),
        "h": Fraction(3600),
    },
    most=8760 * 3600.0,
)
BIT_RATE = Quantity("a bandwidth", "10mbit", _thousands("bit kbit mbit gbit"), most=1e15, least=1.0)
MESSAGE_RATE = Quantity(
    "a message rate",
    "60/min",
    {"/s": Fraction(1), "/min": Fraction(1, 60), "/h": Fraction(1, 3600)},
    most=1e9,
    least=1e-9,
)
MOVE_RATE = replace(MESSAGE_RATE, name="a rate of moves", example="2/min")
SIZE = Quantity(
    "a size",
    "256KiB",
    {**{f"{p}iB": Fraction(1024**n) for n, p in enumerate("KMG", start=1)}, **_thousands("B kB MB GB")},
    most=1e15,
)
LENGTH = Quantity(
    "a length", "250m", {"m": Fraction(1), "km": Fraction(1000), "cm": Fraction(1, 100)}, most=1e9, least=1e-3
)
SPEED = Quantity("a speed", "2m/s", {"m/s": Fraction(1), "km/h": Fraction(1000, 3600)}, most=1e9, least=1e-6)
SHARE = Quantity("a share", "2%", {"": Fraction(1), "%": Fraction(1, 100)}, most=1.0)


NONE = Range(0.0, 0.0)


_PERCENTAGE = rf"\+?{_NUMBER}\s*%"


@dataclass(frozen=True, slots=True)
class Jitter:
    """Jitter in seconds, or as a share of each link's own delay."""

    seconds: Range = NONE
    share: float = 0.0

    @staticmethod
    def parse(value: object) -> Jitter:
        if isinstance(value, Jitter):
            return value
        if isinstance(value, str) and value.strip().endswith("%"):
            return Jitter(share=SHARE.parse(value))
        return Jitter(seconds=DURATION.parse_range(value))

    @staticmethod
    def format(value: Jitter) -> str:
        return SHARE.format(value.share) if value.share else DURATION.format_range(value.seconds)


def _sides(value: object) -> tuple[float, float]:
    """One length for both sides of a square, or two of them."""
    if isinstance(value, list | tuple):
        if len(value) != 2:
            raise ValueError("an area is the side of a square, or a list of width and height")
        return LENGTH.parse(value[0]), LENGTH.parse(value[1])
    side = LENGTH.parse(value)
    return side, side


def _format_sides(sides: tuple[float, float]) -> str | list[str]:
    width, height = map(LENGTH.format, sides)
    return width if width == height else [width, height]


def _size(value: object) -> int:
    return round(SIZE.parse(value))


SHORTEST_TIME = 0.001
"""Seconds of a phase in which something happens, and of a time after which a broker does something again."""
Duration = Annotated[
    float, BeforeValidator(DURATION.parse), PlainSerializer(DURATION.format), WithJsonSchema(DURATION.schema())
]
Share = Annotated[float, BeforeValidator(SHARE.parse), PlainSerializer(SHARE.format), WithJsonSchema(SHARE.schema())]
PositiveDuration = Annotated[Duration, Field(gt=0), WithJsonSchema(DURATION.schema() | {"exclusiveMinimum": 0})]
PositiveShare = Annotated[Share, Field(gt=0), WithJsonSchema(SHARE.schema() | {"exclusiveMinimum": 0})]
Size = Annotated[int, BeforeValidator(_size), PlainSerializer(SIZE.format), WithJsonSchema(SIZE.schema())]
DurationRange = Annotated[
    Range,
    BeforeValidator(DURATION.parse_range),
    PlainSerializer(DURATION.format_range),
    WithJsonSchema(DURATION.range_schema()),
]
Length = Annotated[
    float, BeforeValidator(LENGTH.parse), PlainSerializer(LENGTH.format), WithJsonSchema(LENGTH.schema())
]
AreaSides = Annotated[
    tuple[float, float],
    BeforeValidator(_sides),
    PlainSerializer(_format_sides),
    WithJsonSchema(
        LENGTH.schema(shape=", or list of two")
        | {"type": ["string", "number", "array"], "examples": ["2km"]}
        | {"items": LENGTH.schema(), "minItems": 2, "maxItems": 2}
    ),
]
"""Width and height in metres."""
SpeedRange = Annotated[
    Range, BeforeValidator(SPEED.parse_range), PlainSerializer(SPEED.format_range), WithJsonSchema(SPEED.range_schema())
]
BitRateRange = Annotated[
    Range,
    BeforeValidator(BIT_RATE.parse_range),
    PlainSerializer(BIT_RATE.format_range),
    WithJsonSchema(BIT_RATE.range_schema()),
]
MessageRateRange = Annotated[
    Range,
    BeforeValidator(MESSAGE_RATE.parse_range),
    PlainSerializer(MESSAGE_RATE.format_range),
    WithJsonSchema(MESSAGE_RATE.range_schema()),
]
ShareRange = Annotated[
    Range, BeforeValidator(SHARE.parse_range), PlainSerializer(SHARE.format_range), WithJsonSchema(SHARE.range_schema())
]
JitterRange = Annotated[
    Jitter,
    BeforeValidator(Jitter.parse),
    PlainSerializer(Jitter.format),
    WithJsonSchema(
        DURATION.schema(rf"(?:{DURATION.range_pattern}|{_PERCENTAGE})", shape=", range, or share of the delay")
        | {"examples": ["0.5ms", "10%"]}
    ),
]
