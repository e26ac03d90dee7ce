"""Join points in the drawing of the overlay, over time, and against their estimated detections."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element

from analysis.report.figures.composites import CARDINALITIES_SHOWN, cardinality_figure, compared_placements
from analysis.report.figures.join_points import COURSES_SHOWN, draw_join_points, join_points_over_time
from analysis.tables.placements import Placement

PLACES = {"B1": (50.0, 50.0), "B2": (150.0, 50.0), "B3": (150.0, 150.0)}


def row(broker: str, joined: float = 0.0, left: float | None = None, **fields: Any) -> Placement:
    values = {
        "variant": "base", "client": "S", "composite": "c1", "unit": "u", "epoch": 1, "broker": broker, "former": None,
        "path": ["B1", broker], "joined_ns": round(joined * 1e9), "left_ns": None, "joined_s": joined, "left_s": left,
        "reason": "least cost", "ending": None, "cost": 0.5, "estimated_per_s": 2.0, "detections": 30,
        "detected_per_s": 3.0,
    }  # fmt: skip
    return Placement(**{**values, **fields})


def drawn(*rows: Placement) -> Element:
    svg = Element("svg")
    draw_join_points(svg, rows, PLACES, 10.0)
    return svg


def titles(svg: Element, kind: str) -> list[str]:
    return [group.findtext("title") or "" for group in svg.findall("g") if group.get("class") == kind]


def test_every_join_point_has_a_mark_and_every_move_an_arrow() -> None:
    moved = [row("B1", 0, 10), row("B2", 9.5, 20, former="B1"), row("B3", 20, former="B2"), row("B2", 5, composite="d")]
    svg = drawn(*moved, row("B2", 30, former="B1"), row("B9", former="B1"))
    assert titles(svg, "move") == [
        "A join point moved from B1 to B2 2 times",
        "A join point moved from B2 to B3 once",
    ]
    first, second, third = titles(svg, "join")
    assert first == "B1 was a join point:\nS c1 from 0.0 s to 10.0 s, 30 detections"
    assert second.splitlines()[1:3] == [
        "S c1 from 9.5 s to 20.0 s, 30 detections",
        "S d from 5.0 s to the end, 30 detections",
    ]
    assert third.startswith("B3 ")


def test_a_broker_with_very_many_lists_some() -> None:
    (title,) = titles(drawn(*(row("B1", composite=f"c{number}") for number in range(100))), "join")
    assert len(title.splitlines()) == 10
    assert title.endswith("and 92 more")


def test_an_arrow_ends_at_the_broker_it_leads_to() -> None:
    (group,) = (found for found in drawn(row("B2", former="B1")).findall("g") if found.get("class") == "move")
    line = group.find("line")
    assert line is not None
    assert float(line.attrib["x1"]) == 60 and float(line.attrib["x2"]) == 140


def test_bars_are_where_and_as_long_as_join_points_were() -> None:
    (bars,) = join_points_over_time([row("B1", -2, 10), row("B2", 9, former="B1")], ["base"], 40).data
    assert (list(bars.base), list(bars.x), list(bars.text)) == ([-2, 9], [12, 31], ["B1", "B2"])
    assert set(bars.y) == {"S c1"}


def test_variants_have_bars_of_their_own() -> None:
    figure = join_points_over_time([row("B1"), row("B2", variant="other")], ["base", "other"], 40)
    assert [(bars.name, list(bars.y)) for bars in figure.data] == [
        ("base", ["S c1, base"]),
        ("other", ["S c1, other"]),
    ]


def test_of_many_composite_subscriptions_those_are_shown_that_moved_most() -> None:
    still = [row("B1", composite=f"a{number:02}") for number in range(COURSES_SHOWN)]
    (bars,) = join_points_over_time([*still, row("B1", composite="z"), row("B2", 9, composite="z")], ["base"], 40).data
    assert len(set(bars.y)) == COURSES_SHOWN
    assert "S z" in bars.y and "S a19" not in bars.y


def test_estimates_are_beside_what_was_made() -> None:
    rows = compared_placements(
        [row("B1"), row("B2", detections=50, detected_per_s=5.0), row("B3", detected_per_s=None)]
    )
    estimated, made = cardinality_figure(rows, ["base", "none"]).data
    assert list(estimated.x) == list(made.x) == ["S c1 at B2", "S c1 at B1"]
    assert (list(estimated.y), list(made.y)) == ([2.0, 2.0], [5.0, 3.0])
    assert len(compared_placements([row("B1")] * (CARDINALITIES_SHOWN + 1))) == CARDINALITIES_SHOWN
