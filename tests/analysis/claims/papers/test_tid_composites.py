"""The measures of composite subscriptions on small runs whose results can be computed by hand.

The overlay is the path of Fig. 4: B6 - B5 - B4 - B3 - B1, and B4 - B2. P1 publishes at B1, P2 at B2.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.claims import ClaimsError, Recipe
from analysis.claims.figures import FigureRecipe, draw
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.shipped import MEASURES
from analysis.claims.verdict import Measurement
from analysis.tables.detections import Detection, DetectionFigures
from analysis.tables.summary import Matching
from record.log import Event, TraceRecord
from record.time_units import SECOND
from topology.link_properties import Link
from topology.model import Broker, Overlay

LINKS = (("B6", "B5"), ("B5", "B4"), ("B4", "B3"), ("B3", "B1"), ("B4", "B2"))
OVERLAY = Overlay("path", tuple(Broker(f"B{n}") for n in range(1, 7)), tuple(Link(*link) for link in LINKS))
BEGAN = 30 * SECOND
RUN = 100.0
STEADY = 60
"""A second of the steady state, which begins at 50."""
TO_HOME = ["B4", "B5", "B6"]


def detection(delay: float, *publications: str, second: int = STEADY) -> Detection:
    return Detection(
        variant="", client="S30", composite="both", publications=list(publications), repeat=0, broker="B6",
        first_published_ns=0, last_published_ns=0, notified_ns=0, delay_ms=delay, spread_ms=0.0, second=second,
    )  # fmt: skip


def variant(
    composites: str, detections: Iterable[Detection] = (), publications: str = "dynamic", **settings: Any
) -> MeasuredVariant:
    return MeasuredVariant(
        name="+".join((composites, publications, *map(str, settings.values()))),
        settings={"routing.composites": composites, "routing.publications": publications, **settings},
        overlay=OVERLAY,
        matching=Matching(
            operations=0, publication_messages=0, share=0, per_publication=None, most_brokers=1, at_several_brokers=0
        ),
        run_seconds=RUN,
        notifications=(),
        messages=(),
        detections=tuple(detections),
        run_began_ns=BEGAN,
    )


class Logs:
    """Logs of brokers, written record by record."""

    def __init__(self) -> None:
        self.lines: dict[str, list[bytes]] = {broker.id: [] for broker in OVERLAY.brokers}

    def add(self, variant: MeasuredVariant, broker: str, event: Event, second: float = STEADY, **fields: Any) -> None:
        time = BEGAN + round(second * SECOND)
        record = TraceRecord(time=time, node=broker, variant=variant.name, event=event, **fields)
        self.lines[broker].append(msgspec.json.encode(record) + b"\n")

    def publication(self, variant: MeasuredVariant, id: str, path: Sequence[str], second: float = STEADY) -> None:
        """A publication that travels along a path, and ends at its last broker."""
        for previous, broker, following in zip([None, *path], path, [*path[1:], None], strict=False):
            self.add(variant, broker, Event.RECEIVED, second, kind="publish", id=id, peer=previous)
            if following is not None:
                self.add(variant, broker, Event.SENT, second, kind="publish", id=id, peer=following)

    def detected(self, variant: MeasuredVariant, path: Sequence[str], second: float = STEADY) -> None:
        """A detection that is made at the first broker of a path, and delivered at the last."""
        self.add(variant, path[0], Event.DETECTED, second, kind="detection", id="both", client="S30")
        for broker, following in pairwise(path):
            self.add(variant, broker, Event.SENT, second, kind="detection", id="B6.1.1", peer=following)
            self.add(variant, following, Event.RECEIVED, second, kind="detection", id="B6.1.1", peer=broker)
        self.add(variant, path[-1], Event.DELIVERED, second, kind="detection", id="both", client="S30")

    def write(self, directory: Path) -> Path:
        (directory / "logs").mkdir(parents=True)
        for broker, lines in self.lines.items():
            (directory / "logs" / f"{broker}.jsonl").write_bytes(b"".join(lines))
        return directory


def measure(
    name: str, variants: Sequence[MeasuredVariant], directory: Path = Path(), arguments: tuple[float, ...] = ()
) -> Measurement:
    recipe = Recipe(scenario="x.yaml", measure=name, arguments=arguments)
    return MEASURES[name](MeasuredRun(directory, tuple(variants)), recipe)


PAIR = detection(10, "P1:1", "P2:1")
SIMPLE, TOPOLOGY, DCSR = (variant(name, [PAIR]) for name in ("simple", "topology", "dcsr"))


def fig_7() -> Logs:
    """Five publications of P1 and one of P2 with each routing, of which one pair is a detection; another publication of
    P1 before the steady state, and one of P3, which has no part in detections."""
    logs = Logs()
    ends: Mapping[str, tuple[list[str], list[str], list[str]]] = {
        "simple": (["B1", "B3", *TO_HOME], ["B2", *TO_HOME], ["B6"]),
        "topology": (["B1", "B3", "B4"], ["B2", "B4"], TO_HOME),
        "dcsr": (["B1"], ["B2", "B4", "B3", "B1"], ["B1", "B3", *TO_HOME]),
    }
    for routed in (SIMPLE, TOPOLOGY, DCSR):
        first, second, result = ends[str(routed.settings["routing.composites"])]
        for number in range(1, 6):
            logs.publication(routed, f"P1:{number}", first)
        logs.publication(routed, "P2:1", second)
        logs.detected(routed, result)
        logs.publication(routed, "P1:0", ["B1", "B3", *TO_HOME], second=49)
        logs.publication(routed, "P3:1", ["B1", "B3", *TO_HOME])
    return logs


def test_traffic_of_fig_7(tmp_path: Path) -> None:
    """B1 sends none of five publications with DCSR, but one detection."""
    directory = fig_7().write(tmp_path)
    variants = (SIMPLE, TOPOLOGY, DCSR)
    assert measure("traffic at the join point", variants, directory).values == (pytest.approx(1 / 5 - 1),)
    downstream = measure("traffic downstream", variants, directory).values
    assert downstream == pytest.approx((1 - 2 / 5, 1 - 2 / 6, 1 - 1 / 6, 1 - 1 / 6))
    topology = measure("traffic of topology-based routing", variants, directory).values
    assert topology == pytest.approx((1 - 1 / 6, 1 - 1 / 6))


def test_figure_7_is_drawn_of_the_variants_that_it_names(tmp_path: Path) -> None:
    fixed = variant("simple", publications="fixed")
    logs = fig_7()
    logs.publication(fixed, "P1:9", ["B1", "B3", "B4", "B5", "B6"])
    run = MeasuredRun(logs.write(tmp_path), (SIMPLE, TOPOLOGY, DCSR, fixed))
    recipe = FigureRecipe(figure="x", quantity="messages of a composite subscription", only="dynamic")
    drawn = {curve.name: curve for curve in draw(run, recipe).curves}
    assert list(drawn) == [SIMPLE.name, TOPOLOGY.name, DCSR.name]
    assert drawn[DCSR.name].x == ["B1", "B3", "B4", "B5", "B6"]
    assert (drawn[SIMPLE.name].y[0], drawn[DCSR.name].y[0]) == (5.0, 1.0)


def test_traffic_without_messages_has_no_value(tmp_path: Path) -> None:
    directory = Logs().write(tmp_path)
    assert measure("traffic at the join point", (SIMPLE, DCSR), directory).values == (None,)
    assert measure("traffic downstream", (SIMPLE, DCSR), directory).values == (None,) * 4


def test_places_of_fig_7(tmp_path: Path) -> None:
    variants = (SIMPLE, TOPOLOGY, DCSR)
    directory = fig_7().write(tmp_path / "right")
    assert measure("place of detection", variants, directory) == Measurement(values=(0.0,), checked=18)
    logs = fig_7()
    logs.publication(DCSR, "P1:6", ["B1", "B3"])
    logs.publication(SIMPLE, "P1:7", ["B1", "B3", "B4", "B2"])
    logs.publication(SIMPLE, "P1:7", ["B4", "B5", "B6"])
    found = measure("place of detection", variants, logs.write(tmp_path / "wrong"))
    assert (found.values, found.checked) == ((2.0,), 20)
    assert found.example == "simple+dynamic: P1:7 ended at B2, B6, not at B6"


def test_the_bars_of_fig_7_add_up(tmp_path: Path) -> None:
    variants = (SIMPLE, TOPOLOGY, DCSR)
    right = measure("balance of traffic", variants, fig_7().write(tmp_path / "right"))
    assert right.values == (0.0,)
    assert right.checked > 0


@pytest.mark.parametrize(
    ("broker", "fields", "name"),
    [
        ("B3", {"kind": "publish", "id": "P1:1", "peer": "B4"}, "P1:1"),
        ("B2", {"kind": "publish", "id": "P1:1", "peer": "B4"}, "P1:1"),
        ("B5", {"kind": "detection", "id": "B6.1.1", "peer": "B6"}, "detection"),
    ],
    ids=["sent twice", "sent without arrival", "detection doubled"],
)
def test_bars_that_do_not_add_up(tmp_path: Path, broker: str, fields: dict[str, Any], name: str) -> None:
    logs = fig_7()
    logs.add(TOPOLOGY, broker, Event.SENT, **fields)
    found = measure("balance of traffic", (SIMPLE, TOPOLOGY, DCSR), logs.write(tmp_path))
    assert found.values == (1.0,)
    assert found.example == f"topology+dynamic: {name} left {broker} more often than it may"


def test_delays_of_sets_that_both_have_in_steady_state() -> None:
    simple = variant("simple", [detection(100, "a", "b"), detection(1, "c", "d", second=49)])
    topology = variant(
        "topology", [detection(60, "a", "b"), detection(20, "e", "f"), detection(9, "c", "d", second=49)]
    )
    fixed = variant("dcsr", [detection(50, "a", "b")], "fixed")
    dcsr = variant("dcsr", [detection(30, "a", "b"), detection(99, "g", "h")])
    variants = [simple, variant("simple", (), "fixed"), topology, fixed, dcsr]
    assert measure("detection delay", variants).values == (pytest.approx(30 / 60 - 1),)
    assert measure("detection delay by publication routing", variants).values == (pytest.approx(30 / 50 - 1),)
    assert measure("order of detection delays", variants).values == pytest.approx((0.4, 0.5))


def test_without_detections_there_is_no_delay() -> None:
    variants = [variant("simple"), variant("topology"), variant("dcsr"), variant("dcsr", (), "fixed")]
    assert measure("detection delay", variants).values == (None,)
    assert measure("order of detection delays", variants).values == (None, None)


def test_a_run_without_the_variants_is_refused() -> None:
    with pytest.raises(ClaimsError, match="0 variants with topology routing; one is needed"):
        measure("detection delay", [SIMPLE, DCSR])


def figures(lost: int = 0, duplicate: int = 0, spurious: int = 0) -> DetectionFigures:
    return DetectionFigures(
        composites=1, expected=1, delivered=1, optional=0, forgone=0, excused={}, not_judged={}, lost=lost, dropped=0,
        duplicate=duplicate, spurious=spurious, spurious_causes={}, mean_ms=1.0, p50_ms=1.0, p95_ms=1.0,
        p99_ms=1.0, max_ms=1.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "margin"),
    [(figures(), 1.0), (figures(lost=1), -1.0), (figures(duplicate=1), -1.0), (figures(spurious=1), -1.0)],
)
def test_a_join_point_that_follows_the_rates(tmp_path: Path, found: DetectionFigures, margin: float) -> None:
    """Three of four publications end at B1 before; after the exchange all end at B2. Others are in neither interval."""
    logs = Logs()
    for number, path in enumerate((["B1"], ["B1"], ["B2", "B4", "B3", "B1"], ["B1", "B3", "B4"])):
        logs.publication(DCSR, f"P{1 + (path[0] == 'B2')}:{number}", path, second=30)
    logs.publication(DCSR, "P1:9", ["B1", "B3", "B4"], second=60)
    logs.publication(DCSR, "P1:10", ["B1", "B3", "B4", "B2"], second=80)
    moved = dataclasses.replace(DCSR, detection_figures=found)
    values = measure("following rates", [moved], logs.write(tmp_path), (20, 40, 70, 90)).values
    assert values == (pytest.approx(0.5), 1.0, margin)


@pytest.mark.parametrize(
    ("saved", "delays", "margins"),
    [((2, 3, 5), (10, 30, 60), (1 / 5, 20 / 60)), ((2, 1, 5), (10, 5, -5), (-1 / 5, -10 / 10))],
    ids=["grows", "shrinks"],
)
def test_savings_by_length(
    tmp_path: Path, saved: tuple[int, ...], delays: tuple[float, ...], margins: tuple[float, ...]
) -> None:
    """DCSR saves some messages over links, and some milliseconds, at each of three lengths."""
    logs, variants = Logs(), []
    for length, (messages, sooner) in enumerate(zip(saved, delays, strict=True)):
        simple = variant("simple", [detection(100, "P1:1", "P2:1")], length=length)
        dcsr = variant("dcsr", [detection(100 - sooner, "P1:1", "P2:1")], length=length)
        for number in range(messages):
            logs.publication(simple, f"P1:{number}", ["B1", "B3"])
        logs.publication(dcsr, "P1:0", ["B1"])
        logs.publication(dcsr, "P1:1", ["B1", "B3"], second=49)
        variants += [simple, dcsr]
    found = measure("saving by length", variants, logs.write(tmp_path)).values
    assert found == pytest.approx(margins)


def test_savings_need_detections_at_every_length(tmp_path: Path) -> None:
    variants = [variant("simple", [PAIR], length=1), variant("dcsr", [PAIR], length=1)]
    variants += [variant("simple", [PAIR], length=2), variant("dcsr", length=2)]
    assert measure("saving by length", variants, Logs().write(tmp_path)).values == (None, None)
