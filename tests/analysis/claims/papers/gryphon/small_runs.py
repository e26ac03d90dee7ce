"""Small runs whose measures can be computed by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from analysis.claims import Measurement, Recipe
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.shipped import MEASURES
from analysis.tables.broker_work import BrokerLoad
from analysis.tables.deliveries import Expectation, Notification, Right
from analysis.tables.results import write_table
from analysis.tables.summary import Matching
from analysis.tables.timeline import Fault
from record.faults import FaultKind
from record.log import Event, PredicateRecord, TraceRecord
from record.time_units import SECOND
from topology.link_properties import Link
from topology.model import Broker, Overlay

MATCHING = Matching(
    operations=0, publication_messages=0, share=None, per_publication=None, most_brokers=1, at_several_brokers=0
)


def variant(name: str, brokers: Iterable[str] = ("ib1",), **fields: Any) -> MeasuredVariant:
    """A variant with brokers in a line."""
    names = tuple(brokers)
    overlay = Overlay(name, tuple(map(Broker, names)), tuple(Link(a, b) for a, b in pairwise(names)))
    given: dict[str, Any] = {"settings": {}, "notifications": (), "messages": (), "run_seconds": 10.0, **fields}
    return MeasuredVariant(name=name, overlay=overlay, matching=MATCHING, **given)


def loads(of: Mapping[str, Iterable[float]]) -> tuple[BrokerLoad, ...]:
    """Load of each broker, second by second."""
    return tuple(
        BrokerLoad(variant="", broker=broker, second=second, processor=share, memory_bytes=None)
        for broker, shares in of.items()
        for second, share in enumerate(shares)
    )


def notification(publication: str, client: str, at: float, *, delay_ms: float = 1.0) -> Notification:
    """A notification at a time in seconds. The publisher's name precedes the colon of the publication's."""
    return Notification(
        variant="", publication=publication, client=client, repeat=0, publisher=publication.partition(":")[0],
        broker="sb", intended_ns=0, published_ns=0, notified_ns=round(at * SECOND), delay_ms=delay_ms, hops=1,
        queueing_ms=None, path=None, second=0, overtaken=False,
    )  # fmt: skip


def expected(
    publication: str,
    client: str,
    at: float,
    notifications: int = 1,
    *,
    right: Right = Right.MUST,
    defect: str | None = None,
) -> Expectation:
    """A client's right to a publication that was made at a time in seconds."""
    return Expectation(
        variant="v", publication=publication, client=client, right=right, notifications=notifications, defect=defect,
        cause=None, publisher=publication.partition(":")[0], published_ns=round(at * SECOND),
    )  # fmt: skip


def kill(broker: str, begin: int, seconds: float) -> Fault:
    given: dict[str, Any] = dict.fromkeys(Fault.__struct_fields__)
    given |= {"variant": "v", "kind": FaultKind.KILL.value, "what": [broker], "second": begin, "duration_s": seconds}
    given |= dict.fromkeys(("noticed", "publications", "due", "excused", "lost", "dropped"), 0)
    given |= dict.fromkeys(("late_shared", "excused_shared", "lost_shared", "dropped_shared"), 0)
    given |= {"drop_reasons": [], "drop_counts": []}
    given |= {"began_ns": begin * SECOND, "healed_ns": round((begin + seconds) * SECOND)}
    return Fault(**given)


def subscription(client: str, at: float, topic: int = 1, *, variant: str = "v") -> TraceRecord:
    wanted = [PredicateRecord(attribute="topic", operator="=", number=topic)]
    return TraceRecord(
        time=round(at * SECOND), node="driver", variant=variant, event=Event.SUBSCRIBE, client=client, id="s1",
        predicates=wanted,
    )  # fmt: skip


def run_of(
    directory: Path,
    variants: Iterable[MeasuredVariant],
    subscriptions: Iterable[TraceRecord] = (),
    tables: Mapping[type[msgspec.Struct], Iterable[msgspec.Struct]] | None = None,
) -> MeasuredRun:
    """A run with these logs of clients and these tables."""
    (directory / "logs").mkdir()
    lines = b"".join(msgspec.json.encode(record) + b"\n" for record in subscriptions)
    (directory / "logs" / "driver.jsonl").write_bytes(lines)
    (directory / "results").mkdir()
    for row, rows in (tables or {}).items():
        write_table(rows, directory / "results", row)
    return MeasuredRun(directory, tuple(variants))


def measured(run: MeasuredRun, measure: str, *arguments: float) -> Measurement:
    return MEASURES[measure](run, Recipe(scenario="x.yaml", measure=measure, arguments=arguments))
