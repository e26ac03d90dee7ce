"""The papers' figures, drawn from runs that can be checked by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.claims import ClaimsError, load_claims
from analysis.claims.figures import (
    MOST_POINTS,
    QUANTITIES,
    TIME,
    VARIANT,
    Curve,
    FigureRecipe,
    draw,
    load_figures,
)
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.tables.broker_work import BrokerLoad
from analysis.tables.deliveries import Notification
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
    drawn = draw(made, FigureRecipe(figure="x", quantity="messages", axis=0, title="matching ratio, %"))
    assert drawn.x_title == "matching ratio, %"
    assert [(curve.name, curve.x) for curve in drawn.curves] == [("CBF", [2.0, 10.0]), ("MST", [2.0])]


def test_variants_by_their_names() -> None:
    drawn = draw(run(variant("SPR", {}), variant("IDR", {})), FigureRecipe(figure="x", quantity="messages"))
    assert drawn.curves == [Curve(name="", x=["SPR", "IDR"], y=[9.0, 9.0])]


@pytest.mark.parametrize(
    ("quantity", "value"),
    [
        ("messages", 9.0),
        ("publishing messages", 6.0),
        ("subscribing messages", 3.0),
        ("advertising messages", 0.0),
        ("messages per publication", 1.5),
        ("bytes per broker", 50.0),
        ("greatest load", 1.6),
        ("delivery ratio", None),
        ("mean delay", None),
        ("load of the busiest broker", None),
    ],
)
def test_quantities(quantity: str, value: float | None) -> None:
    assert QUANTITIES[quantity].of(variant("x", {})) == (None if value is None else pytest.approx(value))


def test_the_busiest_broker_has_the_greatest_mean_load() -> None:
    shares = {"A": (0.9, 0.1), "B": (0.6, 0.6)}
    loads = tuple(
        BrokerLoad(variant="x", broker=broker, second=second, processor=share, memory_bytes=None)
        for broker, found in shares.items()
        for second, share in enumerate(found)
    )
    assert QUANTITIES["load of the busiest broker"].of(replace(variant("x", {}), loads=loads)) == pytest.approx(0.6)


def notification(second: int, delay_ms: float) -> Notification:
    values: dict[str, Any] = dict.fromkeys(Notification.__struct_fields__)
    return Notification(**{**values, "second": second, "delay_ms": delay_ms, "repeat": 0})


def test_delay_over_time_is_the_mean_of_each_interval() -> None:
    notified = tuple(notification(second, delay) for second, delay in ((0, 10.0), (0, 30.0), (9, 5.0), (-1, 99.0)))
    short = replace(variant("fixed", {}), notifications=notified)
    recipe = FigureRecipe(figure="x", quantity="mean delay", axis=TIME)
    assert draw(run(short), recipe).curves == [Curve(name="fixed", x=[0.0, 9.0], y=[20.0, 5.0])]
    long = replace(short, run_seconds=10.0 * MOST_POINTS)
    assert draw(run(long), recipe).curves == [Curve(name="fixed", x=[0.0], y=[15.0])]


def test_mistakes_are_named() -> None:
    for recipe, message in (
        (FigureRecipe(figure="Figure 1", quantity="speed"), "Figure 1: no quantity 'speed'"),
        (FigureRecipe(figure="x", quantity="messages", axis="routing.horizon"), "SPR has no setting routing.horizon"),
        (FigureRecipe(figure="x", quantity="messages", axis=3), "SPR has no part 3"),
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
        assert all(recipe.quantity in QUANTITIES for recipe in recipes)
        assert all(recipe.axis != VARIANT or recipe.curves is None for recipe in recipes)
