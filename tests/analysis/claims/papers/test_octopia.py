"""OctopiA's measures on small runs whose results can be computed by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.claims import ClaimsError, Recipe
from analysis.claims.figures import FigureRecipe, draw
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.shipped import MEASURES
from analysis.claims.verdict import Measurement
from analysis.tables.deliveries import Notification
from analysis.tables.summary import Matching
from analysis.tables.traffic import BrokerMessages
from record.log import Event, TraceRecord
from topology.link_properties import Link
from topology.model import Broker, Overlay

SCOT = Overlay(
    "scot",
    tuple(
        Broker(f"{region}{cluster}", {"region": region, "cluster": cluster}) for region in "abc" for cluster in (0, 1)
    ),
    (
        *(Link(f"{a}{cluster}", f"{b}{cluster}") for a, b in ("ab", "bc") for cluster in (0, 1)),
        *(Link(f"{region}0", f"{region}1") for region in "abc"),
    ),
)
"""A path of three regions times two clusters."""
RIVALS = ("SPR", "IDR", "TID-S", "TID-D")
MILLISECOND = 1_000_000


def notification(publication: str, delay: float, **fields: Any) -> Notification:
    given: dict[str, Any] = {"client": "S1", "publisher": publication.split(":", maxsplit=1)[0], "broker": "c0"}
    given |= {"path": None, "intended_ns": 0, "notified_ns": round(delay * MILLISECOND), **fields}
    return Notification(
        variant="", publication=publication, repeat=0, published_ns=0, delay_ms=delay, hops=1, queueing_ms=0.0,
        second=0, overtaken=False, **given,
    )  # fmt: skip


def variant(
    name: str, notifications: Iterable[Notification] = (), messages: Iterable[BrokerMessages] = ()
) -> MeasuredVariant:
    matching = Matching(
        operations=0, publication_messages=0, share=None, per_publication=None, most_brokers=1, at_several_brokers=0
    )
    return MeasuredVariant(
        name=name, settings={}, overlay=SCOT, matching=matching, run_seconds=10.0,
        notifications=tuple(notifications), messages=tuple(messages),
    )  # fmt: skip


def received(variant_: str, kind: str, count: int) -> BrokerMessages:
    return BrokerMessages(
        variant=variant_, broker="a0", kind=kind, from_clients=0, received=count, sent=0, delivered=0, received_bytes=0,
        sent_bytes=0,
    )  # fmt: skip


def measured(
    name: str, variants: Sequence[MeasuredVariant], directory: Path = Path(), arguments: tuple[float, ...] = ()
) -> Measurement:
    recipe = Recipe(scenario="x.yaml", measure=name, arguments=arguments)
    return MEASURES[name](MeasuredRun(directory, tuple(variants)), recipe)


def write_logs(directory: Path, *records: TraceRecord) -> Path:
    (directory / "logs").mkdir()
    for broker in SCOT.brokers:
        own = [msgspec.json.encode(record) + b"\n" for record in records if record.node == broker.id]
        (directory / "logs" / f"{broker.id}.jsonl").write_bytes(b"".join(own))
    return directory


def record(variant_: str, time: int, node: str, event: Event, kind: str, id: str, **fields: Any) -> TraceRecord:
    return TraceRecord(time=time, node=node, variant=variant_, event=event, kind=kind, id=id, **fields)


# Properties


def test_paths_within_and_between_clusters() -> None:
    """diam(G_af) is 2: three links are one too many within a cluster, and the most between clusters."""
    good = [
        notification("P:1", 1, path=["a0", "b0", "c0"]),
        notification("P:2", 1, path=["a0", "a1", "b1", "c1"]),
        notification("P:3", 1, path=None),
    ]
    assert measured("path lengths", [variant("SPR", good)]) == Measurement(values=(0.0,), checked=2)
    long = notification("P:4", 1, path=["a0", "a1", "b1", "b0"])
    found = measured("path lengths", [variant("SPR", [*good, long]), variant("IDR", [long, long])])
    assert (found.values, found.checked) == ((1.0,), 3)
    assert "P:4 reached S1 by a0, a1, b1, b0" in found.example


def test_arrivals_twice_and_in_clusters_that_want_nothing(tmp_path: Path) -> None:
    """P:1 is wanted in cluster 1 only. It may come to b1 once, but not to b1 twice and not to b0."""

    def came(node: str, publication: str, peer: str | None, variant_: str = "SPR") -> TraceRecord:
        return record(variant_, 0, node, Event.RECEIVED, "publish", publication, peer=peer)

    wanted = variant("SPR", [notification("P:1", 1, broker="c1"), notification("P:2", 1, broker="b0")])
    fine = [came("a0", "P:1", None), came("a1", "P:1", "a0"), came("b0", "P:2", "a0"), came("c0", "P:9", "b0", "TID-S")]
    (tmp_path / "fine").mkdir()
    run = write_logs(tmp_path / "fine", *fine)
    assert measured("arrivals in clusters", [wanted], run) == Measurement(values=(0.0,), checked=2)
    (tmp_path / "bad").mkdir()
    run = write_logs(tmp_path / "bad", *fine, came("a1", "P:1", "b1"), came("c0", "P:1", "b0"))
    found = measured("arrivals in clusters", [wanted], run)
    assert (found.values, found.checked) == ((2.0,), 3)
    assert found.example == "a1 received P:1 2 times"


def test_properties_need_their_variant() -> None:
    with pytest.raises(ClaimsError, match="no variant SPR"):
        measured("path lengths", [variant("base")])


# Advertisements and subscriptions


def spreading(tmp_path: Path) -> tuple[Path, list[MeasuredVariant]]:
    """OctopiA: one advertisement of a0, at a1 after 20; a subscription of a0, at b0 after 10 and at c0 after 30.

    PADRES: the same advertisement at all six brokers, the last after 50, and at b1 twice; the subscription at b0.
    """

    def op(name: str, time: int, kind: str, id: str) -> TraceRecord:
        return record(name, time, "a0", Event.RECEIVED, kind, id, client="C")

    def from_neighbour(name: str, time: int, node: str, kind: str, id: str) -> TraceRecord:
        return record(name, time, node, Event.RECEIVED, kind, id, peer="x")

    octopia, padres = "OctopiA+7", "PADRES+7"
    everywhere = {"a1": 120, "b0": 130, "b1": 140, "c0": 150, "c1": 150}
    run = write_logs(
        tmp_path,
        op(octopia, 100, "advertise", "a1"),
        from_neighbour(octopia, 120, "a1", "advertise", "a0.1.1"),
        op(octopia, 200, "subscribe", "s1"),
        from_neighbour(octopia, 210, "b0", "subscribe", "a0.1.2"),
        from_neighbour(octopia, 230, "c0", "subscribe", "a0.1.2"),
        op(padres, 100, "advertise", "a1"),
        *(from_neighbour(padres, time, node, "advertise", "a0.1.1") for node, time in everywhere.items()),
        from_neighbour(padres, 400, "b1", "advertise", "a0.1.1"),
        op(padres, 200, "subscribe", "s1"),
        from_neighbour(padres, 240, "b0", "subscribe", "a0.1.2"),
    )
    messages = {
        octopia: [
            received(octopia, "advertise", 1),
            received(octopia, "subscribe", 2),
            received(octopia, "publish", 9),
        ],
        padres: [received(padres, "advertise", 6), received(padres, "subscribe", 1), received(padres, "publish", 10)],
    }
    return run, [variant(name, messages=rows) for name, rows in messages.items()]


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        ("advertisement delay", 50 / 20 - 1),
        ("stored advertisements", 2 / 6 - 1),
        ("advertisement messages", 6.0),
        ("subscription delay", 30 / 40 - 1),
        ("stored subscriptions", 2 / 3 - 1),
        ("subscription messages", 2 / 1 - 1),
        ("publication messages", 9 / 10 - 1),
    ],
)
def test_operations_spread(tmp_path: Path, measure: str, value: float) -> None:
    run, variants = spreading(tmp_path)
    assert measured(measure, variants, run).values == (pytest.approx(value),)


@pytest.mark.parametrize(
    ("quantity", "octopia", "padres"),
    [
        ("advertisement delay", 20e-6, 50e-6),
        ("stored advertisements", 2 / 6, 6 / 6),
        ("subscription delay", 30e-6, 40e-6),
        ("stored subscriptions", 3 / 6, 2 / 6),
    ],
)
def test_figures_draw_the_quantities_that_measures_compare(
    tmp_path: Path, quantity: str, octopia: float, padres: float
) -> None:
    directory, variants = spreading(tmp_path)
    drawn = draw(MeasuredRun(directory, tuple(variants)), FigureRecipe(figure="x", quantity=quantity, axis=1))
    assert {curve.name: curve.y for curve in drawn.curves} == {
        "OctopiA": [pytest.approx(octopia)], "PADRES": [pytest.approx(padres)],
    }  # fmt: skip


def test_sizes_count_alike(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    ratios = {"10": (20.0, 10.0), "1000": (30.0, 40.0)}
    variants = [
        variant(f"{system}+{size}", [notification("P:1", delay)])
        for size, delays in ratios.items()
        for system, delay in zip(("OctopiA", "PADRES"), delays, strict=True)
    ]
    assert measured("publication delay", variants).values == (pytest.approx((2.0 + 0.75) / 2 - 1),)
    with pytest.raises(ClaimsError, match=r"needs variants OctopiA\+N and PADRES\+N"):
        measured("publication delay", variants[:3])
    silent = [variant("OctopiA+1"), variant("PADRES+1")]
    assert measured("publication delay", silent).values == (None,)


# Routers' own work


def routing(name: str, node: str, publication: str, took: int, matched: int | None = None) -> list[TraceRecord]:
    whole = record(name, 0, node, Event.RECEIVED, "publish", publication, duration=took, peer="x")
    if matched is None:
        return [whole]
    return [record(name, 0, node, Event.MATCHED, "publish", publication, duration=matched), whole]


def test_path_selection_is_routing_without_matching(tmp_path: Path) -> None:
    """SPR 10 and 20, IDR 30; TID-S 10 on the way, TID-D 45 beside a match of 1000."""
    run = write_logs(
        tmp_path,
        *routing("SPR", "a0", "P:1", 110, 100),
        *routing("SPR", "b0", "P:1", 25, 5),
        *routing("IDR", "a0", "P:1", 130, 100),
        *routing("TID-S", "a0", "P:1", 10),
        *routing("TID-D", "a0", "P:1", 1045, 1000),
        record("SPR", 0, "a0", Event.RECEIVED, "subscribe", "s", duration=9999, peer="x"),
    )
    values = measured("path selection", [variant(name) for name in RIVALS], run).values
    assert values == (pytest.approx(45 / 30 - 1), pytest.approx(45 / 10 - 1), pytest.approx(30 / 15 - 1))
    drawn = draw(
        MeasuredRun(run, tuple(map(variant, (*RIVALS, "idle")))), FigureRecipe(figure="x", quantity="path selection")
    )
    assert drawn.curves[0].y == pytest.approx([0.015, 0.030, 0.010, 0.045, None])


def test_matching_delay_is_of_single_comparisons(tmp_path: Path) -> None:
    run = write_logs(
        tmp_path,
        *routing("OctopiA+1", "a0", "P:1", 50, 12),
        *routing("OctopiA+1", "b0", "P:1", 50, 18),
        *routing("PADRES+1", "a0", "P:1", 50, 10),
        *routing("PADRES+1", "b0", "P:1", 50),
    )
    assert measured("matching delay", [variant("OctopiA+1"), variant("PADRES+1")], run).values == (pytest.approx(0.5),)


def test_the_slowest_do_not_count(tmp_path: Path) -> None:
    slow = [record_ for number in range(98) for record_ in routing("SPR", "a0", f"P:{number}", 10)]
    run = write_logs(
        tmp_path,
        *slow,
        *routing("SPR", "a0", "P:98", 10**9),
        *routing("SPR", "a0", "P:99", 10**9),
        *(record_ for name in RIVALS[1:] for record_ in routing(name, "a0", "P:1", 20)),
    )
    assert measured("path selection", [variant(name) for name in RIVALS], run).values[2] == pytest.approx(1.0)


# The burst


def bursting(name: str, drained: int, delay: float) -> MeasuredVariant:
    """Before second 1 all takes 1 ms; then Q bursts, and until second `drained` others' notifications take 900 ms."""
    others = [
        notification(
            f"P:{n}", 900.0 if 100 <= n < drained * 100 else 1.0, notified_ns=n * 10 * MILLISECOND, publisher="P"
        )
        for n in range(1, 600)
    ]
    burst = [
        notification(
            f"Q:{n}", delay, intended_ns=1000 * MILLISECOND, notified_ns=1005 * MILLISECOND, publisher="Q", client=c
        )
        for n in range(700)
        for c in ("S1", "S2")
    ]
    return variant(name, [*others, *burst], [received(name, "publish", round(1000 + delay))])


def bursts() -> list[MeasuredVariant]:
    return [
        bursting("SPR", 4, 100.0),
        bursting("IDR", 3, 90.0),
        bursting("TID-S", 5, 300.0),
        bursting("TID-D", 5, 360.0),
    ]


def test_seconds_until_stable_at_the_papers_scale() -> None:
    """700 publications for 70,000: times count a hundredfold, and 50 notifications share a point.

    The last late notification of SPR is in the point that ends 3 s after the burst began; of IDR 2 s, of both TIDs 4.
    """
    values = measured("stabilisation", bursts(), arguments=(70_000,)).values
    assert values == (pytest.approx(100.0), pytest.approx(400.0 - 250.0), 0.0)


def test_delays_messages_and_timely_share_of_a_run_with_a_burst() -> None:
    """The burst has 1,400 notifications; of the 599 others, those between second 1 and the drain are late."""
    late = {"SPR": 300, "IDR": 200, "TID-S": 400, "TID-D": 400}
    delays = {"SPR": 100.0, "IDR": 90.0, "TID-S": 300.0, "TID-D": 360.0}
    means = {name: (900 * late[name] + (599 - late[name]) + 1400 * delays[name]) / 1999 for name in RIVALS}
    found = bursts()
    rivals = (means["SPR"] + means["IDR"]) / (means["TID-S"] + means["TID-D"]) - 1
    assert measured("burst delay", found, arguments=(1400,)).values == (pytest.approx(rivals),)
    dynamic = means["TID-D"] / means["TID-S"] - 1
    assert measured("burst delay of dynamic routing", found, arguments=(1400,)).values == (pytest.approx(dynamic),)
    assert measured("burst messages", found, arguments=(1400,)).values == (pytest.approx(1090 / 1100 - 1),)


@pytest.mark.parametrize(
    ("published", "idr", "spr"),
    [
        (1_400, 300 + 1400, 200 + 1400),  # within 500 ms and the 1 ms that all took before
        (7_777, 300 + 1400, 200),  # within 90.01 + 1 ms
        (7_900, 300, 200),  # within 88.6 + 1 ms
    ],
)
def test_a_second_at_the_papers_scale_beyond_what_is_normal(published: float, idr: int, spr: int) -> None:
    values = measured("timely share", bursts(), arguments=(published,)).values
    assert values == (pytest.approx(idr / 1900), pytest.approx(spr / 1900)), "99 came before the burst"


def test_delays_that_are_long_even_without_a_burst_do_not_count_as_late() -> None:
    """Three publications stand for 1500, so a second is 2 ms beyond the mean of 5 before: half take longer then."""
    before = [notification(f"P:{delay}", delay, publisher="P") for delay in (1, 9)]
    burst = [
        notification(f"Q:{number}", delay, publisher="Q", intended_ns=20 * MILLISECOND, notified_ns=99 * MILLISECOND)
        for number, delay in enumerate((6, 50, 50))
    ]
    found = [variant(name, [*before, *burst]) for name in RIVALS]
    assert measured("timely share", found, arguments=(1500,)).values == (pytest.approx(1 / 3 / (1 / 2)),) * 2


def test_without_notifications_before_the_burst_there_is_no_value() -> None:
    silent = [variant(name, [notification("Q:1", 5, publisher="Q")]) for name in RIVALS]
    assert measured("stabilisation", silent, arguments=(1,)).values == (None, None, None)
    with pytest.raises(ClaimsError, match="no variant TID-D"):
        measured("stabilisation", silent[:3], arguments=(1,))
    with pytest.raises(ClaimsError, match="no client was notified"):
        measured("burst delay", [variant(name) for name in RIVALS], arguments=(1,))


def test_queues_that_a_burst_leaves_behind(tmp_path: Path) -> None:
    def sent(name: str, publication: str, queue: int) -> TraceRecord:
        return record(name, 0, "a0", Event.SENT, "publish", publication, queue=queue, peer="b0")

    run = write_logs(
        tmp_path, sent("SPR", "Q:1", 8), sent("SPR", "Q:2", 12), sent("SPR", "P:1", 999), sent("IDR", "Q:1", 4),
        sent("TID-S", "Q:1", 999),
    )  # fmt: skip
    assert measured("burst queue", bursts(), run, arguments=(1400,)).values == (pytest.approx(-0.6),)


def test_the_penalty_of_dynamic_routing_at_rest() -> None:
    delays = dict(zip(RIVALS, (9.0, 10.0, 20.0, 40.0), strict=True))
    idle = [variant(name, [notification("P:1", delay)]) for name, delay in delays.items()]
    assert measured("idle penalty", idle).values == (pytest.approx(-0.1), pytest.approx(-0.5))
    assert measured("idle penalty", [variant(name) for name in RIVALS]).values == (None, None)
