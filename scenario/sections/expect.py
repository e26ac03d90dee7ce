"""The least result that a run is accepted with: shares of deliveries, and limits on figures of its variants.

A share or a limit is for all variants (`p95: 200ms`) or for some by their names (`p95: {dynamic: 150ms}`). `faster` and
`fewer` hold a variant against another one of the same run. `delivery: correct` says what holds without a word, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from record.figures import Figure
from record.limits import Limit, LimitedFigure, RelativeLimit
from record.time_units import MILLISECOND, SECOND
from scenario.sections.messages import Problem
from scenario.sections.section import Section, suggestion
from scenario.sections.units import DURATION, SHARE, SIZE, Quantity, Share

_MOST_COUNT = 10**15
_MILLISECONDS = SECOND / MILLISECOND

Correct = Literal["correct"]
CORRECT: Correct = "correct"
"""Deliveries as the routing protocol promises them, whatever their ratio."""
_Amount = float | Correct
_Single = TypeVar("_Single", float, _Amount)

VariantName = Annotated[str, Field(strict=True, min_length=1)]


def _by_variant(parse: Callable[[object], _Amount], value: object) -> _Amount | dict[str, _Amount]:
    if not isinstance(value, dict):
        return parse(value)
    if not value:
        raise ValueError("names no variant; give a value for all of them, or for some by their names")
    found: dict[str, _Amount] = {}
    for name, given in value.items():
        try:
            found[str(name)] = parse(given)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return found


def _written(write: Callable[[Any], Any], value: object) -> Any:
    return {name: write(each) for name, each in value.items()} if isinstance(value, dict) else write(value)


def _count(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_COUNT:
        raise ValueError(f"expected a whole number such as 12_000, got {value!r}")
    return value


def _delivery(value: object) -> _Amount:
    if value == CORRECT:
        return CORRECT
    try:
        return SHARE.parse(value)
    except ValueError as error:
        raise ValueError(f"{error}; or write `{CORRECT}`") from error


def _delivery_written(value: _Amount) -> str:
    return value if isinstance(value, str) else SHARE.format(value)


def _parsing(parse: Callable[[object], _Amount]) -> BeforeValidator:
    return BeforeValidator(lambda value: _by_variant(parse, value))


def _writing(write: Callable[[Any], Any]) -> PlainSerializer:
    return PlainSerializer(lambda value: _written(write, value))


def _schema(one: dict[str, Any]) -> WithJsonSchema:
    """The JSON Schema of one value for all variants, or of several by the variants' names."""
    kinds = [*([one["type"]] if isinstance(one["type"], str) else one["type"]), "object"]
    title = f"{one['title']}, for all variants or by name"
    return WithJsonSchema(one | {"type": kinds, "title": title, "additionalProperties": one, "minProperties": 1})


def _schema_of(quantity: Quantity) -> WithJsonSchema:
    return _schema(quantity.schema())


_COUNT = {"type": "integer", "minimum": 0, "maximum": _MOST_COUNT, "title": "count", "examples": [12_000]}


_OneOrNamed = float | dict[str, float]
DurationLimit = Annotated[_OneOrNamed, _parsing(DURATION.parse), _writing(DURATION.format), _schema_of(DURATION)]
ShareLimit = Annotated[_OneOrNamed, _parsing(SHARE.parse), _writing(SHARE.format), _schema_of(SHARE)]
_DELIVERY = _schema(SHARE.schema(rf"(?:{CORRECT}|{SHARE.pattern})", shape=f" or {CORRECT}"))
DeliveryLimit = Annotated[_Amount | dict[str, _Amount], _parsing(_delivery), _writing(_delivery_written), _DELIVERY]
SizeLimit = Annotated[_OneOrNamed, _parsing(SIZE.parse), _writing(SIZE.format), _schema_of(SIZE)]
CountLimit = Annotated[_OneOrNamed, _parsing(_count), _writing(int), _schema(_COUNT)]


class Fewer(Section):
    """A limit on messages between brokers, relative to another variant."""

    than: VariantName
    """The other variant."""
    by: Share | None = None
    """The least share of the other variant's figure by which this variant's must be lower."""
    within: Share | None = None
    """The most by which it may be higher, instead of `by`."""

    @model_validator(mode="after")
    def _says_how_much(self) -> Self:
        if (self.by is None) == (self.within is None):
            raise ValueError("give either `by`, a share that it is lower at least, or `within`, one that it may exceed")
        return self

    @property
    def most(self) -> float:
        """The largest ratio to the other variant's."""
        return 1 - self.by if self.by is not None else 1 + (self.within or 0.0)

    @property
    def limited(self) -> LimitedFigure:
        return LimitedFigure.MESSAGES


class Faster(Fewer):
    """A limit on a figure of delays, relative to another variant."""

    figure: Annotated[Figure, WithJsonSchema({"enum": [figure.value for figure in Figure]})] = Figure.MEAN
    """The figure that is compared."""

    @property
    def limited(self) -> LimitedFigure:
        return LimitedFigure(self.figure.value)


class Expect(Section):
    """The least result that the run is accepted with."""

    delivery: DeliveryLimit | None = None
    """`correct`, as is demanded without it, too; or the least delivery ratio of a protocol of best effort."""
    judged: ShareLimit | None = None
    """The least share of the owed notifications that the verdict on deliveries must rest on."""
    valid: Annotated[tuple[Figure, ...], Field(min_length=1)] | None = None
    """Figures of delays that the verdict on fidelity rests on, besides the mean: `[p95, p99]`."""
    mean: DurationLimit | None = None
    """The most that the mean delay may be."""
    p50: DurationLimit | None = None
    """The most that the median delay may be."""
    p95: DurationLimit | None = None
    """The most that the 95th percentile of the delay may be."""
    p99: DurationLimit | None = None
    """The most that the 99th percentile of the delay may be."""
    recovery: DurationLimit | None = None
    """The longest time from the heal of a fault until delivery is as before."""
    messages: CountLimit | None = None
    """The most messages that brokers may send to one another, of all kinds."""
    excused: CountLimit | None = None
    """The most owed notifications that may be missing because evidence excuses them."""
    memory: SizeLimit | None = None
    """The most memory that any broker may have, on real brokers."""
    faster: Annotated[dict[VariantName, Faster], Field(min_length=1)] | None = None
    """Delays of variants relative to others: `{dynamic: {than: fixed, by: 20%}}`."""
    fewer: Annotated[dict[VariantName, Fewer], Field(min_length=1)] | None = None
    """Messages of variants relative to others: `{dynamic: {than: fixed, within: 10%}}`."""

    def of(self, variant: str) -> Expect | None:
        """The limits that hold for one variant, without variants' names; None if there are none."""
        if self == Expect():
            return self
        chosen = {name: value.get(variant) for name, value in self if isinstance(value, dict)}
        for name in ("faster", "fewer"):
            if chosen.get(name) is not None:
                chosen[name] = {variant: chosen[name]}
        made = self.model_copy(update=chosen)
        return None if made == Expect() else made

    @property
    def least_delivery(self) -> float | None:
        """The least delivery ratio of one variant's part; None where deliveries are to be correct."""
        delivery = _single(self.delivery)
        return None if isinstance(delivery, str) else delivery

    @property
    def least_judged(self) -> float | None:
        """The least judged share of one variant's part."""
        return _single(self.judged)

    def unknown_variants(self, variants: list[str]) -> Iterator[Problem]:
        """A problem for each variant that is named here and that the scenario does not have."""
        for field, value in self:
            for name, given in value.items() if isinstance(value, dict) else ():
                if name not in variants:
                    yield Problem(("expect", field, name), f"there is no such variant{suggestion(name, variants)}")
                if not isinstance(given, Fewer):
                    continue
                path = "expect", field, name, "than"
                if given.than not in variants:
                    yield Problem(path, f"there is no variant {given.than!r}{suggestion(given.than, variants)}")
                elif given.than == name:
                    yield Problem(path, "is the variant itself; name another one")

    @property
    def limits(self) -> list[Limit]:
        """The absolute limits of one variant's part."""
        given = [(figure, _single(getattr(self, figure.value))) for figure in LimitedFigure]
        return [
            Limit(figure=figure, most=most * (_MILLISECONDS if figure.is_delay else 1))
            for figure, most in given
            if most is not None
        ]

    @property
    def relative_limits(self) -> list[RelativeLimit]:
        """The relative limits of one variant's part."""
        entries = [*(self.faster or {}).values(), *(self.fewer or {}).values()]
        return [RelativeLimit(figure=entry.limited, than=entry.than, most=entry.most) for entry in entries]


def _single(value: _Single | dict[str, _Single] | None) -> _Single | None:
    """A value of one variant's part."""
    assert not isinstance(value, dict), "the part of one variant has no names in it"
    return value
