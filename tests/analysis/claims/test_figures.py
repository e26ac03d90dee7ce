"""The papers' figures, drawn from runs that can be checked by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from analysis.claims import ClaimsError, figures, load_claims
from analysis.claims.figures import VARIANT, DrawnFigure, FigureRecipe, draw, load_figures
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.quantities import MOST_POINTS, Curve, Quantity
from analysis.claims.shipped import CURVES, QUANTITIES
from analysis.tables.broker_work import BrokerLoad
from analysis.tables.deliveries import DeliveryOverTime, Notification
from analysis.tables.summary import Matching
from analysis.tables.traffic import BrokerMessages
from topology.link_properties import Link
from topology.model import Broker, Overlay

MATCHING = Matching(**dict.fromkeys(Matching.__struct_fields__, 0))
OVERLAY = Overlay("two", (Broker("B1", {}), Broker("B2", {})), (Link("B1", "B2"),))


def messages(broker: str, kind: str, received: int, sent: int) -> BrokerMessages:
    return BrokerMessages(
        variant="", broker=broker, kind=kind, from_clients=0, received=received, sent=sent, delivered=0,
        received_bytes=10 * received, sent_bytes=10 * sent,
    )  # fmt: skip


def variant(name: str, settings: dict[str, Any], ratio: float | None = None) -> MeasuredVariant:
    return MeasuredVariant(
        name=name, settings=settings, overlay=OVERLAY, run_seconds=10.0, notifications=(), published=4,
        matching=MATCHING, delivery_ratio=ratio,
        messages=(messages("B1", "publish", 2, 6), messages("B2", "publish", 2, 0), messages("B1", "subscribe", 0, 3)),
    )  # fmt: skip


def run(*variants: MeasuredVariant) -> MeasuredRun:
    return MeasuredRun(Path("run"), variants)


HORIZONS = run(
    *(
        variant(f"routing-{number}", {"routing": {"protocol": "x", "horizon": horizon, "threshold": threshold}}, ratio)
        for number, (horizon, threshold, ratio) in enumerate([(0, 0.5, 0.1), (1, 0.5, 0.9), (1, 0.2, 0.6)])
    )
)


def test_a_setting_is_the_axis_and_another_one_tells_curves_apart() -> None:
    recipe = FigureRecipe(
        figure="Figure 3", quantity="delivery ratio", axis="routing.horizon", curves="routing.threshold"
    )
    drawn = draw(HORIZONS, recipe)
    assert (drawn.figure, drawn.x_title) == ("Figure 3", "horizon")
    assert drawn.curves == [Curve(name="0.5", x=[0.0, 1.0], y=[0.1, 0.9]), Curve(name="0.2", x=[1.0], y=[0.6])]


def test_a_part_of_the_variants_names_is_the_axis() -> None:
    made = run(variant("2%+CBF", {}), variant("2%+MST", {}), variant("10%+CBF", {}))
    drawn = draw(made, FigureRecipe(figure="x", quantity="publishing messages", axis=0, title="matching ratio, %"))
    assert drawn.x_title == "matching ratio, %"
    assert [(curve.name, curve.x) for curve in drawn.curves] == [("CBF", [2.0, 10.0]), ("MST", [2.0])]


def test_variants_by_their_names() -> None:
    drawn = draw(run(variant("SPR", {}), variant("IDR", {})), FigureRecipe(figure="x", quantity="publishing messages"))
    assert drawn.curves == [Curve(name="", x=["SPR", "IDR"], y=[6.0, 6.0])]


@pytest.mark.parametrize(
    ("quantity", "value"),
    [
        ("publishing messages", 6.0),
        ("subscribing messages", 3.0),
        ("advertising messages", 0.0),
        ("messages per publication", 1.5),
        ("messages of a published run", 1.5 * 9957 + 3),
        ("deterministic hops", None),
        ("detection delay", None),
        ("delivery ratio", None),
        ("mean delay", None),
        ("load of the busiest broker", None),
    ],
)
def test_quantities(quantity: str, value: float | None) -> None:
    assert QUANTITIES[quantity].of(run(), variant("x", {})) == (None if value is None else pytest.approx(value))


def test_numbers_of_numpy_can_be_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    quantity = Quantity("a number of NumPy's", lambda _run, _variant: np.float64(0.5))
    monkeypatch.setattr(figures, "QUANTITIES", {"of NumPy": quantity})
    drawn = draw(run(variant("x", {})), FigureRecipe(figure="x", quantity="of NumPy"))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(drawn), type=DrawnFigure) == drawn


def test_the_busiest_broker_has_the_greatest_mean_load() -> None:
    shares = {"A": (0.9, 0.1), "B": (0.6, 0.6)}
    loads = tuple(
        BrokerLoad(variant="x", broker=broker, second=second, processor=share, memory_bytes=None)
        for broker, found in shares.items()
        for second, share in enumerate(found)
    )
    assert QUANTITIES["load of the busiest broker"].of(run(), replace(variant("x", {}), loads=loads)) == pytest.approx(
        0.6
    )


def notification(second: int, delay_ms: float) -> Notification:
    values: dict[str, Any] = dict.fromkeys(Notification.__struct_fields__)
    return Notification(**{**values, "second": second, "delay_ms": delay_ms, "repeat": 0})


def test_delay_over_time_is_the_mean_of_each_interval() -> None:
    notified = tuple(notification(second, delay) for second, delay in ((0, 10.0), (0, 30.0), (9, 5.0), (-1, 99.0)))
    short = replace(variant("fixed", {}), notifications=notified)
    recipe = FigureRecipe(figure="x", quantity="mean delay over time")
    assert draw(run(short), recipe).curves == [Curve(name="fixed", x=[0.0, 9.0], y=[20.0, 5.0])]
    long = replace(short, run_seconds=10.0 * MOST_POINTS)
    assert draw(run(long), recipe).curves == [Curve(name="fixed", x=[0.0], y=[15.0])]
    largest = FigureRecipe(figure="x", quantity="largest delay over time")
    assert draw(run(long), largest).curves == [Curve(name="fixed", x=[0.0], y=[30.0])]


def test_delivery_over_time_is_that_of_each_second() -> None:
    ratios = tuple(
        DeliveryOverTime(**{**dict.fromkeys(DeliveryOverTime.__struct_fields__), "second": second, "ratio": ratio})
        for second, ratio in ((-1, 0.1), (0, 0.5), (1, 0.7))
    )
    made = run(replace(variant("one+phi-1", {}), delivery_over_time=ratios), variant("other+phi-1", {}))
    recipe = FigureRecipe(figure="x", quantity="delivery over time", only="one")
    assert draw(made, recipe).curves == [Curve(name="one+phi-1", x=[0.0, 1.0], y=[0.5, 0.7])]


def test_variants_without_a_part_are_left_out() -> None:
    made = run(variant("uniform+2%+CBF", {}), variant("zipf+2%+CBF", {}))
    (curve,) = draw(made, FigureRecipe(figure="x", quantity="publishing messages", axis=1, only="zipf")).curves
    assert (curve.name, curve.x) == ("CBF", [2.0])


def test_delays_by_distance_are_those_between_clients_so_far_apart() -> None:
    rows = tuple(
        msgspec.structs.replace(notification(9, delay), path=list(path))
        for delay, path in ((4.0, ["B1", "B2"]), (8.0, ["B1", "B2"]))
    )
    recipe = FigureRecipe(figure="x", quantity="mean delay by distance", arguments=(1, 3))
    drawn = draw(run(replace(variant("fixed", {}), notifications=rows)), recipe)
    assert drawn.curves == [Curve(name="fixed", x=[1, 3], y=[6.0, None])]


def test_mistakes_are_named() -> None:
    for recipe, message in (
        (FigureRecipe(figure="Figure 1", quantity="speed"), "Figure 1: no quantity 'speed'"),
        (FigureRecipe(figure="x", quantity="mean delay", axis="routing.horizon"), "SPR has no setting routing.horizon"),
        (FigureRecipe(figure="x", quantity="mean delay", axis=3), "SPR has no part 3"),
        (FigureRecipe(figure="x", quantity="mean delay", only="IDR"), "no variant has a part IDR"),
    ):
        with pytest.raises(ClaimsError, match=message):
            draw(run(variant("SPR", {})), recipe)


def test_the_shipped_figures_are_of_scenarios_that_claims_name_and_can_be_drawn() -> None:
    files = {
        file for claim in load_claims().claims if claim.measured_by is not None for file in claim.measured_by.scenarios
    }
    for file, recipes in load_figures().items():
        assert file in files
        assert len({recipe.figure for recipe in recipes}) == len(recipes)
        assert all(recipe.quantity in {**QUANTITIES, **CURVES} for recipe in recipes)
        assert all(len(curve.x) == len(curve.y) for recipe in recipes for curve in recipe.published)
        assert all(recipe.axis != VARIANT or recipe.curves is None for recipe in recipes)
