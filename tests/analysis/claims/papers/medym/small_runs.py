"""Small runs over three servers on a line of routers, whose measures can be computed by hand.

The routers r0, r1 and r2 are 10 and 20 ms apart; A, B and C are at them, each over a LAN link of 1 ms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from analysis.claims import Recipe
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.shipped import MEASURES
from analysis.claims.verdict import Measurement
from analysis.run_files.folders import LocalFolder
from analysis.tables.deliveries import Notification
from analysis.tables.partitions import PartWriter, parts_folder, publish_parts
from analysis.tables.summary import Matching
from record.files import RESULTS
from record.log import Event, TraceRecord
from topology.link_properties import Link, LinkProperties
from topology.model import Broker, Overlay
from topology.underlays.underlay import RouterLink, Underlay, UnderlayRouter

SERVERS = ("A", "B", "C")
UNDERLAY = Underlay(
    routers=(UnderlayRouter(0, -1),) * 3,
    links=(RouterLink(0, 1, 0.010), RouterLink(1, 2, 0.020)),
    servers={"A": 0, "B": 1, "C": 2},
    lan_delay=0.001,
)
CONTENT = 200
"""Bytes of an event."""


class Copy(NamedTuple):
    """A message from a server to another."""

    sender: str
    receiver: str
    header: int = 0
    """Bytes."""


class Published(NamedTuple):
    """An event with its copies."""

    id: str
    publisher: str
    copies: tuple[Copy, ...] = ()
    notified: tuple[str, ...] = ()
    """Servers with a client that is notified."""
    hops: int = 1
    """Links that the notifications at other servers have travelled."""


def notification(id: str, broker: str, publisher: str, **fields: Any) -> Notification:
    given: dict[str, Any] = {"variant": "", "repeat": 0, "second": 0, "delay_ms": 1.0, "path": None, **fields}
    given.setdefault("hops", int(broker != publisher))
    return Notification(
        publication=id, published_ns=0, queueing_ms=0.0, overtaken=False,
        client=f"S{broker}", publisher=f"P{publisher}", broker=broker, intended_ns=0, notified_ns=1, **given,
    )  # fmt: skip


def variant(name: str, notifications: Iterable[Notification] = ()) -> MeasuredVariant:
    """A variant in which clients were notified as given."""
    matching = Matching(
        operations=0, publication_messages=0, share=None, per_publication=None, most_brokers=1, at_several_brokers=0
    )
    links = tuple(
        Link(a, b, LinkProperties(delay=UNDERLAY.latency(a, b)), LinkProperties(delay=UNDERLAY.latency(b, a)))
        for a, b in (("A", "B"), ("A", "C"), ("B", "C"))
    )
    return MeasuredVariant(
        name=name, settings={}, overlay=Overlay("mesh", tuple(map(Broker, SERVERS)), links), matching=matching,
        run_seconds=10.0, notifications=tuple(notifications), messages=(), underlay=UNDERLAY,
    )  # fmt: skip


def run_of(directory: Path, events: Mapping[str, Iterable[Published]]) -> MeasuredRun:
    """A run with these events in each variant, logs of them, and the table of their notifications."""
    (directory / "logs").mkdir(parents=True)
    records = [record for name, published in events.items() for event in published for record in _records(name, event)]
    for server in SERVERS:
        lines = b"".join(msgspec.json.encode(record) + b"\n" for record in records if record.node == server)
        (directory / "logs" / f"{server}.jsonl").write_bytes(lines)
    results = LocalFolder(directory / RESULTS)
    results.path.mkdir()
    with parts_folder(results) as parts:
        with PartWriter(parts, Notification, 0) as notifications:
            for name, published in events.items():
                for row in _notifications(name, published):
                    notifications.write(row)
        publish_parts(parts, Notification, results, events)
    return MeasuredRun(directory, tuple(map(variant, events)))


def measured(run: MeasuredRun, measure: str, *arguments: float) -> Measurement:
    return MEASURES[measure](run, Recipe(scenario="x.yaml", measure=measure, arguments=arguments))


def _notifications(name: str, published: Iterable[Published]) -> Iterable[Notification]:
    return (
        notification(event.id, broker, event.publisher, variant=name, hops=event.hops * (broker != event.publisher))
        for event in published
        for broker in event.notified
    )


def _records(name: str, event: Published) -> Iterable[TraceRecord]:
    client = f"P{event.publisher}"
    yield TraceRecord(
        time=0, node=event.publisher, variant=name, event=Event.RECEIVED, kind=Event.PUBLISH, id=event.id,
        client=client, bytes=CONTENT,
    )  # fmt: skip
    for copy in event.copies:
        size = CONTENT + copy.header
        yield TraceRecord(
            time=1, node=copy.sender, variant=name, event=Event.SENT, kind=Event.PUBLISH, id=event.id,
            peer=copy.receiver, bytes=size,
        )  # fmt: skip
        yield TraceRecord(
            time=2, node=copy.receiver, variant=name, event=Event.RECEIVED, kind=Event.PUBLISH, id=event.id,
            peer=copy.sender, bytes=size,
        )  # fmt: skip
