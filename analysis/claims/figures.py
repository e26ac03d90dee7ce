"""Figures of the papers, drawn again from runs made here.

`papers/figures.yaml` lists, by scenario, the figures whose data its runs hold. A recipe names a *quantity* of a variant
and the *axis* along which it is drawn; every variant of the scenario becomes a point of a curve, or a curve over time.
Nothing is judged here: figures show what the verdicts on claims are made from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from analysis.claims.files import read_as
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError
from broker_service.messages import Kind

FILE = Path(__file__).parent / "papers" / "figures.yaml"
TIME = "time"
"""The axis of a curve over the run phase of one variant, where others are over settings of several variants."""
VARIANT = "variant"
"""The axis of a single curve over all variants, each at its name."""
MOST_POINTS = 120
"""Points of a curve over time; longer runs are averaged over several seconds a point."""


class FigureRecipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One figure of a paper, or one panel of it, and its data in a run."""

    figure: str
    """Its name in the paper, such as `Figure 5(a)`."""
    quantity: str
    """A name of `QUANTITIES`."""
    axis: str | int = VARIANT
    """`time`, `variant`, the dotted path of a varied setting such as `routing.horizon`, or the position of a part of
    the variants' names, which are joined by `+`."""
    curves: str | int | None = None
    """Path or position, as in `axis`, of the setting that tells curves apart; the rest of the variants' names by
    default."""
    title: str = ""
    """Title of the axis; its last component by default."""


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One curve in the run of one seed."""

    name: str
    x: list[float | str]
    y: list[float | None]
    """Value at each place of `x`; None where the run gives no number."""


class DrawnFigure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure in the run of one seed."""

    figure: str
    x_title: str
    y_title: str
    curves: list[Curve]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a whole variant."""

    title: str
    """With the unit, as an axis shows it."""
    of: Callable[[MeasuredVariant], float | None]


def draw(run: MeasuredRun, recipe: FigureRecipe) -> DrawnFigure:
    """The curves of a figure. Raises `ClaimsError` for a quantity or a setting that does not exist."""
    if recipe.axis == TIME:
        curves = [_over_time(variant) for variant in run.variants]
        return DrawnFigure(
            figure=recipe.figure, x_title="seconds of the run phase", y_title=_DELAY_TITLE, curves=curves
        )
    if recipe.quantity not in QUANTITIES:
        raise ClaimsError(f"{recipe.figure}: no quantity {recipe.quantity!r}; there are {', '.join(QUANTITIES)}")
    quantity = QUANTITIES[recipe.quantity]
    points: dict[str, list[tuple[float | str, float | None]]] = defaultdict(list)
    for variant in run.variants:
        points[_curve_of(variant, recipe)].append((_number(_value(variant, recipe.axis)), quantity.of(variant)))
    return DrawnFigure(
        figure=recipe.figure,
        x_title=recipe.title or str(recipe.axis).rpartition(".")[2],
        y_title=quantity.title,
        curves=[Curve(name=name, x=[x for x, _ in found], y=[y for _, y in found]) for name, found in points.items()],
    )


def _over_time(variant: MeasuredVariant) -> Curve:
    """The mean delay of the publications due in each interval of the run phase, in milliseconds."""
    width = max(1, ceil(variant.run_seconds / MOST_POINTS))
    delays: dict[int, list[float]] = defaultdict(list)
    for row in variant.notifications:
        if row.second is not None and row.delay_ms is not None and 0 <= row.second < variant.run_seconds:
            delays[int(row.second) // width].append(row.delay_ms)
    return Curve(
        name=variant.name,
        x=[float(number * width) for number in sorted(delays)],
        y=[fmean(delays[number]) for number in sorted(delays)],
    )


def _curve_of(variant: MeasuredVariant, recipe: FigureRecipe) -> str:
    if recipe.curves is not None:
        return str(_value(variant, recipe.curves))
    if not isinstance(recipe.axis, int):
        return ""
    parts = variant.name.split("+")
    return " ".join(part for position, part in enumerate(parts) if position != recipe.axis % len(parts))


def _value(variant: MeasuredVariant, axis: str | int) -> Any:
    """The value that a variant has on an axis. Raises `ClaimsError` where it has none."""
    if axis == VARIANT:
        return variant.name
    parts = variant.name.split("+")
    if isinstance(axis, int):
        if not -len(parts) <= axis < len(parts):
            raise ClaimsError(f"the variant {variant.name} has no part {axis} in its name")
        return parts[axis]
    for path, value in variant.settings.items():
        if axis == path:
            return value
        if axis.startswith(f"{path}."):
            return _field(value, axis.removeprefix(f"{path}.").split("."))
    raise ClaimsError(f"the variant {variant.name} has no setting {axis}")


def _field(value: Any, path: Sequence[str]) -> Any:
    """The field of a nested setting; empty text where it is not given."""
    if not path:
        return value
    return _field(value.get(path[0], ""), path[1:]) if isinstance(value, Mapping) else ""


def _number(value: Any) -> float | str:
    """A number where the value is one, also as a percentage; its text otherwise."""
    try:
        return float(str(value).removesuffix("%"))
    except ValueError:
        return str(value)


def _mean_delay(variant: MeasuredVariant) -> float | None:
    delays = [row.delay_ms for row in variant.notifications if row.delay_ms is not None]
    return fmean(delays) if delays else None


def _sent(*kinds: Kind) -> Callable[[MeasuredVariant], float | None]:
    """Messages of some kinds that brokers sent each other; of all kinds where none is named."""
    words = {kind.word for kind in kinds}

    def count(variant: MeasuredVariant) -> float | None:
        return float(sum(row.sent for row in variant.messages if not words or row.kind in words))

    return count


def _messages_per_publication(variant: MeasuredVariant) -> float | None:
    sent = sum(row.sent for row in variant.messages if row.kind == Kind.PUBLISH.word)
    return sent / variant.published if variant.published else None


def _bytes_per_broker(variant: MeasuredVariant) -> float | None:
    moved = sum(row.sent_bytes + row.received_bytes for row in variant.messages if row.kind == Kind.PUBLISH.word)
    return moved / len(variant.overlay.brokers)


def _greatest_load(variant: MeasuredVariant) -> float | None:
    """Messages of publications at the busiest broker over the mean of all brokers."""
    handled = [row.received + row.sent for row in variant.messages if row.kind == Kind.PUBLISH.word]
    total = sum(handled)
    return max(handled) * len(variant.overlay.brokers) / total if total else None


def _busiest_load(variant: MeasuredVariant) -> float | None:
    """Mean load in the run phase of the broker that has most."""
    loads: dict[str, list[float]] = defaultdict(list)
    for row in variant.loads:
        loads[row.broker].append(row.processor)
    return max((fmean(found) for found in loads.values()), default=None)


_DELAY_TITLE = "mean delay, ms"

QUANTITIES: Mapping[str, Quantity] = {
    "mean delay": Quantity(_DELAY_TITLE, _mean_delay),
    "delivery ratio": Quantity("delivered share of due notifications", lambda variant: variant.delivery_ratio),
    "messages per publication": Quantity("messages between brokers per publication", _messages_per_publication),
    "route length": Quantity("mean links of routes that ended", lambda variant: variant.mean_route),
    "messages": Quantity("messages between brokers", _sent()),
    "advertising messages": Quantity("messages of advertising", _sent(Kind.ADVERTISE, Kind.UNADVERTISE)),
    "subscribing messages": Quantity("messages of subscribing", _sent(Kind.SUBSCRIBE, Kind.UNSUBSCRIBE)),
    "publishing messages": Quantity("messages of publishing", _sent(Kind.PUBLISH)),
    "bytes per broker": Quantity("bytes of publications per broker", _bytes_per_broker),
    "greatest load": Quantity("busiest broker over the mean", _greatest_load),
    "load of the busiest broker": Quantity("share of time for which the busiest broker works", _busiest_load),
}
"""Quantities by the names that recipes use. The quantity of a curve over time is the mean delay."""


@cache
def load_figures(file: Path = FILE) -> Mapping[str, Sequence[FigureRecipe]]:
    """The recipes of figures by scenario, relative to `scenarios/`. Raises `ClaimsError`."""
    return read_as(file, dict[str, list[FigureRecipe]])
