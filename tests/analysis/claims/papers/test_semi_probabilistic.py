"""Measures of semi-probabilistic routing on small runs whose results can be computed by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import pytest

from analysis.claims import ClaimsError, Recipe
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.papers.semi_probabilistic import EVENTS
from analysis.claims.shipped import MEASURES
from analysis.tables.summary import Matching
from analysis.tables.traffic import BrokerMessages
from record.log import Event, TraceRecord
from topology.link_properties import Link
from topology.model import Broker, Overlay

PAIR = Overlay("pair", (Broker("A"), Broker("B")), (Link("A", "B"),))
TRIPLE = Overlay("triple", (Broker("A"), Broker("B"), Broker("C")), (Link("A", "B"), Link("B", "C")))
MATCHING = Matching(
    operations=0, publication_messages=0, share=None, per_publication=None, most_brokers=1, at_several_brokers=0
)


def variant(
    horizon: int,
    threshold: float,
    delivery: float | None = None,
    messages: float = 0,
    setup: int = 0,
    overlay: Overlay = PAIR,
) -> MeasuredVariant:
    """A variant with ten events, and so many messages for each of them."""
    name = f"{horizon} {threshold} {overlay.name}"
    return MeasuredVariant(
        name=name,
        settings={"routing": {"horizon": horizon, "threshold": threshold}},
        overlay=overlay,
        matching=MATCHING,
        run_seconds=1.0,
        notifications=(),
        messages=tuple(sent(name, kind, count) for kind, count in (("publish", 10 * messages), ("subscribe", setup))),
        published=10,
        delivery_ratio=delivery,
    )


def sent(name: str, kind: str, count: float) -> BrokerMessages:
    return BrokerMessages(
        variant=name, broker="A", kind=kind, from_clients=0, received=0, sent=round(count), delivered=0,
        received_bytes=0, sent_bytes=0,
    )  # fmt: skip


def measured(name: str, variants: Sequence[MeasuredVariant], directory: Path = Path()) -> tuple[float | None, ...]:
    recipe = Recipe(scenario="x.yaml", measure=name)
    return MEASURES[name](MeasuredRun(directory, tuple(variants)), recipe).values


def test_delivery_by_horizon_compares_each_with_the_one_before() -> None:
    ratios = zip((0.2, 0.5, 0.6, 0.54), (40, 50, 30, 30), strict=True)
    variants = [variant(number, 0.25, ratio, sent, setup=20) for number, (ratio, sent) in enumerate(ratios)]
    found = measured("delivery by horizon", variants)
    saved = (30 * EVENTS + 20) / (50 * EVENTS + 20)
    assert found == pytest.approx((2.5, 0.1, 0.9, 40 * EVENTS + 20, saved))


def test_a_run_without_due_notifications_gives_no_number() -> None:
    variants = [variant(horizon, 0.25) for horizon in range(4)]
    assert measured("delivery by horizon", variants)[:3] == (None, None, None)
    assert measured("delivery at degree 9", variants) == (None, None)


def test_delivery_at_one_half_and_at_degree_9_are_those_of_their_horizons() -> None:
    halves = [variant(horizon, 0.5, horizon / 10, 7) for horizon in range(4)]
    assert measured("delivery at one half", halves) == pytest.approx((0, 0.1, 0.2, 0.3, 7 * EVENTS))
    assert measured("delivery at degree 9", [variant(1, 0.25, 0.9), variant(0, 0.25, 0.8)]) == (0.8, 0.9)


def test_thresholds_are_compared_by_delivery_and_messages() -> None:
    points = [(0, 0.5, 0.99, 800), (1, 0.1, 0.8, 30), (1, 0.2, 1.0, 200), (2, 0.2, 0.98, 100)]
    found = measured("delivery by threshold", [variant(*point) for point in points])
    assert found == pytest.approx((0.8, 1.0, 0.99, 0.98, 4.0, 0.5, 0.125))


def test_a_variant_that_is_missing_is_named() -> None:
    with pytest.raises(ClaimsError, match=r"no variant with a horizon of 1 and a threshold of 0.25"):
        measured("delivery at degree 9", [variant(0, 0.25)])


def test_routes_end_where_the_event_has_been(tmp_path: Path) -> None:
    points = [*((horizon, 0.25) for horizon in range(4)), (0, 1.0)]
    lengths = {0: 8, 1: 6, 2: 3, 3: 2, "flooding": 1}
    variants = [variant(*point, overlay=overlay) for overlay in (PAIR, TRIPLE) for point in points]
    records = []
    for known in variants:
        routing = known.settings["routing"]
        length = lengths["flooding" if routing["threshold"] == 1 else routing["horizon"]]
        deterministic = routing["horizon"] if known.overlay is TRIPLE else 1
        records += arrivals(known.name, length, deterministic)
    write_logs(tmp_path, records)
    shorter, flooding, rise, fall = measured("routes", variants, tmp_path)
    assert shorter == pytest.approx(1 - 3 / 6)
    assert flooding == pytest.approx(1 - 1 / 2)
    assert rise == pytest.approx((2 - 1) / 4)
    assert fall == 0


def arrivals(name: str, length: int, deterministic: int) -> Iterable[TraceRecord]:
    """Four copies of an event at broker B. All but the first end there, and the first came by deterministic hops."""
    for number in range(4):
        yield TraceRecord(
            time=number, node="B", variant=name, event=Event.RECEIVED, kind="publish", id="e", peer="A",
            hops=length if number else 99, label="deterministic" if number < deterministic else "random",
        )  # fmt: skip


def write_logs(directory: Path, records: Iterable[TraceRecord]) -> None:
    (directory / "logs").mkdir()
    for broker in TRIPLE.brokers:
        lines = [msgspec.json.encode(record) for record in records if record.node == broker.id]
        (directory / "logs" / f"{broker.id}.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
