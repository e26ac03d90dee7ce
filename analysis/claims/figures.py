"""Figures of the papers, drawn again from runs made here.

`papers/figures.yaml` lists, by scenario, the figures whose data its runs hold. A recipe names a *quantity* and the axis
along which it is drawn, so that every variant of the scenario becomes a point of a curve; or it names *curves*, which
have an axis of their own. Numbers that the paper itself prints are listed with it and drawn beside ours. Nothing is
judged here: figures show what the verdicts on claims are made from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from analysis.claims.files import read_as
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError
from analysis.claims.quantities import Curve
from analysis.claims.shipped import CURVES, QUANTITIES

FILE = Path(__file__).parent / "papers" / "figures.yaml"
VARIANT = "variant"
"""The axis of a single curve over all variants, each at its name."""


class PublishedCurve(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Numbers of a figure that the paper prints. No number is read off a drawing."""

    source: str
    """The place in the paper, such as `Table 3` or `text on figure 9`."""
    x: list[float | str]
    y: list[float]
    curve: str = ""
    """Name of our curve beside which it is drawn."""


class FigureRecipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One figure of a paper, or one panel of it, and its data in a run."""

    figure: str
    """Name of the figure in the paper, such as `Figure 5(a)`."""
    quantity: str
    """A name of `QUANTITIES` or of `CURVES`."""
    axis: str | int = VARIANT
    """`variant`, the dotted path of a varied setting such as `routing.horizon`, or the position of a part of the
    variants' names, which are joined by `+`. Curves have their own."""
    curves: str | int | None = None
    """Path or position, as in `axis`, of the setting that tells curves apart; the rest of the variants' names by
    default."""
    title: str = ""
    """Title of the axis; its last component by default."""
    only: str = ""
    """A part of the names of the variants that are drawn, or of curves by variant; all by default."""
    arguments: tuple[float, ...] = ()
    """Numbers that the curves need, such as distances."""
    published: tuple[PublishedCurve, ...] = ()


class DrawnFigure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure in the run of one seed."""

    figure: str
    x_title: str
    y_title: str
    curves: list[Curve]


def draw(run: MeasuredRun, recipe: FigureRecipe) -> DrawnFigure:
    """The curves of a figure. Raises `ClaimsError` for a quantity, a part or a setting that does not exist."""
    if not any(_is_drawn(variant.name, recipe) for variant in run.variants):
        raise ClaimsError(f"{recipe.figure}: no variant has a part {recipe.only} in its name")
    if (curves := CURVES.get(recipe.quantity)) is not None:
        return DrawnFigure(
            figure=recipe.figure,
            x_title=recipe.title or curves.x_title,
            y_title=curves.y_title,
            curves=[curve for curve in curves.of(run, recipe.arguments) if _is_drawn(curve.name, recipe)],
        )
    if recipe.quantity not in QUANTITIES:
        raise ClaimsError(f"{recipe.figure}: no quantity {recipe.quantity!r}; there are {_names()}")
    quantity = QUANTITIES[recipe.quantity]
    points: dict[str, list[tuple[float | str, float | None]]] = defaultdict(list)
    for variant in run.variants:
        if not _is_drawn(variant.name, recipe):
            continue
        at = _number(_value(variant, recipe.axis))
        value = quantity.of(run, variant)
        # In Python's own numbers, because those of NumPy, which quantities use, cannot be stored.
        points[_curve_of(variant, recipe)].append((at, None if value is None else float(value)))
    return DrawnFigure(
        figure=recipe.figure,
        x_title=recipe.title or str(recipe.axis).rpartition(".")[2],
        y_title=quantity.title,
        curves=[Curve(name=name, x=[x for x, _ in found], y=[y for _, y in found]) for name, found in points.items()],
    )


def _is_drawn(name: str, recipe: FigureRecipe) -> bool:
    return not recipe.only or recipe.only in name.split("+")


def _names() -> str:
    return ", ".join((*QUANTITIES, *CURVES))


def _curve_of(variant: MeasuredVariant, recipe: FigureRecipe) -> str:
    if recipe.curves is not None:
        return str(_value(variant, recipe.curves))
    if not isinstance(recipe.axis, int):
        return ""
    parts = variant.name.split("+")
    rest = (part for position, part in enumerate(parts) if position != recipe.axis % len(parts))
    return " ".join(part for part in rest if part != recipe.only)


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


@cache
def load_figures(file: Path = FILE) -> Mapping[str, Sequence[FigureRecipe]]:
    """The recipes of figures by scenario, relative to `scenarios/`. Raises `ClaimsError`."""
    return read_as(file, dict[str, list[FigureRecipe]])
