"""Hand-written histories: log records of one variant, one call each, and run directories made of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from record.limits import Limit
from record.log import Event, PlaceCost, PlacementRecord, PredicateRecord, TraceRecord
from record.manifest import FORMAT, RungChoice
from record.promises import Promises
from record.sample import PublicationSample
from record.time_units import SECOND
from topology.files import save
from topology.link_properties import Link
from topology.model import Broker, Overlay

RUN_START, RUN_END, DRAIN_END = 100.0, 160.0, 170.0
DRIVER = "driver"
RECOVERY = 4.0
_UNKNOWN = RungChoice()
"""Seconds, as the manifest has it; with the time to settle, an outage lingers for 6."""
OVERLAY = Overlay("three", (Broker("B1"), Broker("B2"), Broker("B3")), (Link("B1", "B2"), Link("B2", "B3")))


def predicate(attribute: str, operator: str, value: float | str) -> PredicateRecord:
    if isinstance(value, str):
        return PredicateRecord(attribute=attribute, operator=operator, string=value)
    return PredicateRecord(attribute=attribute, operator=operator, number=float(value))


PROMISES = Promises()
NO_HOMES: Mapping[str, str] = MappingProxyType({})
STOCK = predicate("class", "eq", "STOCK")
ADVERTISED = [STOCK, predicate("price", ">=", 0)]
EXPENSIVE = [STOCK, predicate("price", ">", 80)]


class History:
    """One variant. Times are in seconds of the run's clock; the phase `run` begins at 100."""

    def __init__(
        self,
        variant: str,
        *,
        interrupted: bool = False,
        promises: Promises = PROMISES,
        expected_delivery: float | None = None,
        homes: Mapping[str, str] = NO_HOMES,
        sample: PublicationSample | None = None,
        unsettled: Sequence[str] = (),
        run_end: float = RUN_END,
        limits: Sequence[Limit] = (),
    ) -> None:
        """The fields of the manifest that the verdict depends on."""
        self.run_end = run_end
        self.homes = homes
        self.sample = sample
        self.unsettled = unsettled
        self.variant = variant
        self.expected_delivery = expected_delivery
        self.limits = limits
        self.interrupted = interrupted
        self.promises = promises
        self.records: list[TraceRecord] = []

    def home(self, client: str) -> str:
        """The broker of a client."""
        return self.homes.get(client, "B1")

    def add(self, node: str, event: Event, at: float, **fields: Any) -> History:
        time = round(at * SECOND)
        self.records.append(TraceRecord(time=time, node=node, variant=self.variant, event=event, **fields))
        return self

    def operate(self, event: Event, client: str, id: str, at: float, answer: Event | None, **fields: Any) -> History:
        pattern = fields.pop("pattern", None)
        self.add(DRIVER, event, at, client=client, id=id, peer=self.home(client), text=pattern, **fields)
        if answer is not None:
            self.add(DRIVER, answer, at + 0.01, client=client, id=id, kind=event.value, text="no")
        return self

    def advertise(
        self,
        client: str = "P",
        at: float = 90,
        answer: Event | None = Event.CONFIRMED,
        predicates: list[PredicateRecord] = ADVERTISED,
        id: str = "a1",
    ) -> History:
        return self.operate(Event.ADVERTISE, client, id, at, answer, predicates=predicates)

    def unadvertise(self, at: float, answer: Event | None = Event.CONFIRMED) -> History:
        return self.operate(Event.UNADVERTISE, "P", "a1", at, answer)

    def fault(self, at: float, kind: str = "kill", peer: str = "B2") -> History:
        return self.add("emulator", Event.FAULT, at, peer=peer, text=kind)

    def heal(self, at: float, kind: str = "restart", peer: str = "B2") -> History:
        return self.add("emulator", Event.HEALED, at, peer=peer, text=kind)

    def session(self, down: float, up: float | None = None, node: str = DRIVER, broker: str = "B1") -> History:
        """The session of a driver with a broker breaks, and is there again, because the broker was slow."""
        self.fault(down - 0.002, "slow", broker).heal(down - 0.001, "full_speed", broker)
        return self.break_session(down, up, node, broker)

    def break_session(self, down: float, up: float | None = None, node: str = DRIVER, broker: str = "B1") -> History:
        """The session of a driver with a broker breaks by itself, and is there again."""
        self.add(node, Event.LINK_DOWN, down, peer=broker)
        return self if up is None else self.add(node, Event.LINK_UP, up, peer=broker)

    def subscribe(
        self,
        client: str = "S",
        at: float = 95,
        answer: Event | None = Event.CONFIRMED,
        predicates: list[PredicateRecord] = EXPENSIVE,
        id: str = "s1",
    ) -> History:
        return self.operate(Event.SUBSCRIBE, client, id, at, answer, predicates=predicates)

    def compose(
        self,
        pattern: str,
        within: float = 10,
        at: float = 95,
        answer: Event | None = Event.CONFIRMED,
        id: str = "c1",
    ) -> History:
        return self.operate(Event.COMPOSE, "S", id, at, answer, pattern=pattern, duration=round(within * SECOND))

    def detect(self, *ids: str, at: float, id: str = "c1", client: str = "S") -> History:
        """The client is notified of a set of publications."""
        return self.add(
            DRIVER, Event.NOTIFIED, at, client=client, id=id, kind="detection", peer="B3", publications=list(ids)
        )

    def make(self, *ids: str, at: float, broker: str = "B1", id: str = "c1") -> History:
        """A broker detects a set of publications."""
        return self.add(broker, Event.DETECTED, at, client="S", id=id, kind="detection", publications=list(ids))

    def join(self, *path: str, at: float, id: str = "c1", epoch: int = 1, former: str | None = None) -> History:
        """The last broker of the path becomes the join point of a unit, which may have moved from a former one.

        An `id` of a composite and of a part, such as "c1 /1.0.1", makes it that of a sub-unit.
        """
        return self._place(Event.JOINED, path, at, id, epoch, text="least total routing cost", peer=former)

    def leave(self, *path: str, at: float, id: str = "c1", epoch: int = 1) -> History:
        """The last broker of the path detects a unit no more."""
        return self._place(Event.LEFT, path, at, id, epoch, text="routed anew")

    def _place(
        self, event: Event, path: tuple[str, ...], at: float, id: str, epoch: int, **fields: str | None
    ) -> History:
        name, _, part = id.partition(" ")
        placement = PlacementRecord(
            unit=f"B1.1.{name}{part}", epoch=epoch, path=path, matches=0.5, parts=(1.0, 1.0),
            costs=(PlaceCost(path[-1], 2.0), PlaceCost("B9", 3.0)),
        )  # fmt: skip
        return self.add(path[-1], event, at, kind="compose", client="S", id=name, placement=placement, **fields)

    def drop_detections(self, publication: str, at: float, id: str = "c1") -> History:
        text = f"partial matches full: composite {id}"
        return self.add("B3", Event.DROPPED, at, client="S", id=publication, kind="detection", text=text, count=1)

    def unsubscribe(self, at: float, id: str = "s1", answer: Event | None = Event.CONFIRMED) -> History:
        return self.operate(Event.UNSUBSCRIBE, "S", id, at, answer)

    def publish(
        self, id: str = "P:1", at: float = 110, price: float = 100, *, client: str = "P", **numbers: float
    ) -> History:
        content = {"numbers": {"price": price, **numbers}, "strings": {"class": "STOCK"}}
        peer, intended = self.home(client), round(at * SECOND)
        return self.add(DRIVER, Event.PUBLISH, at, client=client, id=id, peer=peer, intended=intended, **content)

    def accept(self, id: str = "P:1", at: float = 110.01) -> History:
        return self.add(DRIVER, Event.CONFIRMED, at, client="P", id=id, kind="publish")

    def refuse(self, id: str = "P:1", at: float = 110.01) -> History:
        return self.add(DRIVER, Event.REFUSED, at, client="P", id=id, kind="publish", text="its log is full")

    def announce(self, at: float, client: str = "S", id: str = "s1") -> History:
        return self.add(DRIVER, Event.ANNOUNCED, at, client=client, id=id, kind="subscribe")

    def receive(
        self, id: str = "P:1", at: float = 110.02, broker: str = "B1", source: str | None = None, hops: int = 1
    ) -> History:
        return self.add(broker, Event.RECEIVED, at, id=id, kind="publish", hops=hops, peer=source)

    def carry(self, id: str, at: float, *way: str) -> History:
        """The brokers on a way receive a publication and send it on, 10 ms each."""
        for hops, broker in enumerate(way):
            self.receive(id, at + hops / 100, broker, way[hops - 1] if hops else None, hops)
            if hops + 1 < len(way):
                self.add(broker, Event.SENT, at + hops / 100 + 0.001, id=id, kind="publish", peer=way[hops + 1])
        return self

    def reject(self, id: str = "P:1", at: float = 110.01) -> History:
        self.add("B1", Event.REJECTED, at, client="P", id=id, kind="publish", hops=0, text="conforms to none")
        return self.add(DRIVER, Event.REJECTED, at, client="P", id=id, kind="publish", text="conforms to none")

    def notify(self, *ids: str, client: str = "S", at: float = 110.05) -> History:
        for number, id in enumerate(ids or ("P:1",)):
            self.add(DRIVER, Event.NOTIFIED, at + number / 1000, client=client, id=id, peer="B3")
        return self

    def get(self, id: str, at: float, position: int, client: str = "S", stream: str = "B1") -> History:
        """A notification with a position in a stream."""
        return self.add(DRIVER, Event.NOTIFIED, at, client=client, id=id, peer="B3", stream=stream, position=position)

    def lose_range(self, at: float, positions: int, node: str = DRIVER) -> History:
        """The client S is told of a lost range of B1's stream."""
        return self.add(node, Event.LOST_RANGE, at, client="S", peer="B3", stream="B1", position=2, count=positions)

    def manifest(self) -> dict[str, Any]:
        drained = self.run_end + DRAIN_END - RUN_END
        times = [("join", 80.0, RUN_START), ("run", RUN_START, self.run_end), ("drain", self.run_end, drained)]
        phases = [{"name": name, "start": round(a * SECOND), "end": round(b * SECOND)} for name, a, b in times]
        expected = {} if self.expected_delivery is None else {"expected_delivery": self.expected_delivery}
        sampled = {} if self.sample is None else {"sample": self.sample}
        limits = {"limits": self.limits} if self.limits else {}
        unsettled = {"unsettled": self.unsettled} if self.unsettled else {}
        return {
            **expected,
            **limits,
            **sampled,
            **unsettled,
            "name": self.variant,
            "phases": phases,
            "interrupted": self.interrupted,
            "promises": self.promises,
            "recovery": RECOVERY,
        }


def joined(variant: str, **options: Any) -> History:
    """A publisher with an advertisement and a subscriber of its expensive publications, both confirmed in time."""
    return History(variant, **options).advertise().subscribe()


def across(variant: str, **options: Any) -> History:
    """A history like `joined`, with B1 as the publisher's broker and B3 as the subscriber's, so that all ways lead
    through B2."""
    return joined(variant, **({"homes": {"S": "B3", "T": "B3"}} | options))


def write_run(
    directory: Path,
    histories: Iterable[History],
    fidelity: str | None = "VALID",
    overlay: Overlay = OVERLAY,
    links: RungChoice = _UNKNOWN,
) -> Path:
    """A run directory with one variant a history. Of its figures nothing is known, unless its links are `MODELLED`."""
    histories = list(histories)
    (directory / "logs").mkdir(parents=True)
    save(overlay, directory / "topology.json")
    manifest = {
        "format": FORMAT,
        "run_id": "test",
        "seed": 1,
        "links": links,
        "variants": [history.manifest() for history in histories],
    }
    (directory / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    if fidelity is not None:
        (directory / "fidelity.json").write_bytes(msgspec.json.encode({"verdict": fidelity, "variants": []}))
    lines = defaultdict(list)
    for history in histories:
        for record in history.records:
            lines[record.node].append(msgspec.json.encode(record) + b"\n")
    for node, written in lines.items():
        (directory / "logs" / f"{node}.jsonl").write_bytes(b"".join(written))
    return directory
