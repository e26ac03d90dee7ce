"""Variants of made-up runs with semi-probabilistic routing, and logs for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from analysis.claims import Recipe
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.shipped import MEASURES
from analysis.tables.deliveries import DeliveryOverTime, Notification
from analysis.tables.summary import Matching
from analysis.tables.traffic import BrokerMessages, LabelledMessages, RouteLength
from record.log import Event, TraceRecord
from topology.link_properties import Link
from topology.model import Broker, Overlay

LINE = Overlay("line", (Broker("A"), Broker("B"), Broker("C")), (Link("A", "B"), Link("B", "C")))
MATCHING = Matching(
    operations=0, publication_messages=0, share=None, per_publication=None, most_brokers=1, at_several_brokers=0
)


def variant(
    name: str, delivery: float | None = None, copies: float = 0, setup: int = 0, **more: Any
) -> MeasuredVariant:
    """A variant with ten events, a number of copies for each of them, and subscription messages."""
    facts: dict[str, Any] = {
        "settings": {}, "overlay": LINE, "matching": MATCHING, "run_seconds": 4.5, "notifications": (),
        "messages": (sent(name, "publish", 10 * copies), sent(name, "subscribe", setup)), "published": 10,
        "delivery_ratio": delivery,
    }  # fmt: skip
    return MeasuredVariant(name=name, **facts | more)


def sent(name: str, kind: str, count: float) -> BrokerMessages:
    return BrokerMessages(
        variant=name, broker="A", kind=kind, from_clients=0, received=0, sent=round(count), delivered=0,
        received_bytes=0, sent_bytes=0,
    )  # fmt: skip


def over_time(ratios: Mapping[int, float]) -> tuple[DeliveryOverTime, ...]:
    return tuple(
        DeliveryOverTime(variant="", second=second, due=100, notified=round(100 * ratio), ratio=ratio)
        for second, ratio in ratios.items()
    )


def routed(length: int, deterministic: int) -> dict[str, Any]:
    """Routes of four copies: one over 9 links to a new broker, three that end after `length` links."""
    row = LabelledMessages(
        variant="", broker="B", kind="publish", label="deterministic", sent=0, sent_bytes=0, received=deterministic,
        received_bytes=0,
    )  # fmt: skip
    other = msgspec.structs.replace(row, label="random", received=4 - deterministic)
    lengths = [RouteLength(variant="", hops=9, first=1, repeated=0)]
    lengths.append(RouteLength(variant="", hops=length, first=0, repeated=3))
    return {"routes": tuple(lengths), "labels": (row, other)}


def notified(name: str, publication: str, *path: str) -> Notification:
    return Notification(
        variant=name, publication=publication, client="S", repeat=0, publisher="P", broker=path[-1], intended_ns=0,
        published_ns=0, notified_ns=0, delay_ms=0.0, hops=len(path) - 1, queueing_ms=0.0, path=list(path), second=0,
        overtaken=False,
    )  # fmt: skip


def declared(name: str, node: str, event: Event, kind: str, peer: str | None, id: str, time: int = 0) -> TraceRecord:
    return TraceRecord(time=time, node=node, variant=name, event=event, kind=kind, peer=peer, id=id)


def write_logs(directory: Path, records: Iterable[TraceRecord]) -> None:
    (directory / "logs").mkdir()
    written = list(records)
    for broker in LINE.brokers:
        lines = [msgspec.json.encode(record) for record in written if record.node == broker.id]
        (directory / "logs" / f"{broker.id}.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))


def measured(
    name: str, variants: Sequence[MeasuredVariant], directory: Path = Path(), arguments: tuple[float, ...] = ()
) -> tuple[float | None, ...]:
    recipe = Recipe(scenario="x.yaml", measure=name, arguments=arguments)
    return MEASURES[name](MeasuredRun(directory, tuple(variants)), recipe).values
