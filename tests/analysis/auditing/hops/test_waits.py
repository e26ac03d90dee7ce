"""A loaded host makes no link wrong, and hides no link that is: made-up messages and waits for a processor."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from analysis.auditing.evidence import Evidence
from analysis.auditing.hops.asked import AskedVariant
from analysis.auditing.hops.links import link_reading
from analysis.auditing.hops.readings import HopTally, LinkReading
from analysis.auditing.hops.services import service_reading
from analysis.auditing.hops.table import HopTable, paired
from analysis.auditing.hops.waits import waits_of
from analysis.auditing.link_audit import link_audit
from analysis.budget.numbered_nodes import NumberedNodes
from analysis.reading.event_table import NOBODY
from analysis.reading.hop_events import HopPlace, HopWriter
from analysis.reading.log_tally import LogTally
from analysis.run_files.processor_times import NodeTimes, ProcessorTimes
from record.fidelity import FidelityVerdict
from record.log import Event, TraceRecord
from record.manifest import VariantRecord
from record.time_units import MILLISECOND, SECOND
from topology.link_properties import Link, LinkProperties
from topology.model import Broker, Overlay
from topology.sites import Site

COUNT = 200
EVERY = 50 * MILLISECOND
ASKED = 0.020
OVERLAY = Overlay(name="pair", brokers=(Broker("A"), Broker("B")), links=(Link("A", "B"),))


def waits(at: list[int], of: int) -> ProcessorTimes:
    """Waits that ended at these times, each seen by a look 4 ms later."""
    end = np.array(at, dtype=np.int64)
    return ProcessorTimes.of(end - of, end + 4 * MILLISECOND, np.full(len(end), of, dtype=np.int64))


def reading(delay: float, waited: list[int], processors: NodeTimes, jitter: float = 0.0) -> LinkReading:
    """A direction of this delay, asked for 20 ms, whose messages were held up besides."""
    random = np.random.default_rng(5)
    writer = HopWriter(1, ("A", "B"))
    sent = writer.number_of(HopPlace(0, Event.SENT, "A", "B", "publish"))
    received = writer.number_of(HopPlace(0, Event.RECEIVED, "B", "A", "publish"))
    for number in range(COUNT):
        written = SECOND + number * EVERY
        drawn = round(random.uniform(-1, 1) * jitter * SECOND)
        arrived = written + round(delay * SECOND) + drawn + waited[number]
        fields = {"variant": "base", "kind": "publish", "id": f"p{number}"}
        writer.add(sent, TraceRecord(written, "A", event=Event.SENT, peer="B", **fields))
        writer.add(received, TraceRecord(arrived, "B", event=Event.RECEIVED, peer="A", arrived=arrived, **fields))
    ((direction, rows, others),) = HopTable(writer.blocks()).directions()
    asked = AskedVariant(links={("A", "B"): LinkProperties(delay=ASKED, jitter=jitter)}, processors=processors)
    return link_reading(direction, len(rows), paired(rows, others), asked)


def wrong(found: LinkReading) -> set[str]:
    hops = HopTally()
    hops.links.add(found)
    evidence = Evidence(
        number=0, variant=VariantRecord(name="base"), scenario={}, overlay=OVERLAY,
        logs=LogTally(), hops=hops,
    )  # fmt: skip
    return {check.name.split()[0] for check in link_audit(evidence) if check.verdict is FidelityVerdict.INVALID}


def arrivals(delay: float, waited: list[int]) -> list[int]:
    return [SECOND + number * EVERY + round(delay * SECOND) + waited[number] for number in range(COUNT)]


ALL = [6 * MILLISECOND] * COUNT
MOST = [6 * MILLISECOND if number % 4 else 0 for number in range(COUNT)]


@pytest.mark.parametrize("waited", [ALL, MOST], ids=["all", "most"])
@pytest.mark.parametrize("node", ["A", "B", "relay"])
def test_a_host_that_holds_up_messages_makes_no_link_slow(waited: list[int], node: str) -> None:
    held = [time for time, wait in zip(arrivals(ASKED, waited), waited, strict=True) if wait]
    if node == "A":
        held = [SECOND + number * EVERY + wait for number, wait in enumerate(waited) if wait]
    assert wrong(reading(ASKED, waited, {node: waits(held, 6 * MILLISECOND)})) == set()
    assert wrong(reading(ASKED, ALL, {})) == {"delay"}, "without samples the link would be blamed"


@pytest.mark.parametrize("waited", [ALL, MOST], ids=["all", "most"])
@pytest.mark.parametrize("delay", [0.8 * ASKED - 0.006, 1.3 * ASKED], ids=["short", "long"])
def test_a_wrong_link_is_named_while_the_host_is_loaded(waited: list[int], delay: float) -> None:
    held = [time for time, wait in zip(arrivals(delay, waited), waited, strict=True) if wait]
    processors = {"B": waits(held, 6 * MILLISECOND)}
    assert wrong(reading(delay, waited, processors)) == {"delay"}


def test_waits_elsewhere_excuse_nothing() -> None:
    held = arrivals(ASKED, ALL)
    assert wrong(reading(ASKED, ALL, {"C": waits(held, 6 * MILLISECOND)})) == {"delay"}
    between = [time - 25 * MILLISECOND + EVERY for time in held]
    assert wrong(reading(ASKED, ALL, {"B": waits(between, 2 * MILLISECOND)})) == {"delay"}


def test_waits_are_no_jitter_and_hide_none() -> None:
    waited = [0 if number % 3 else 30 * MILLISECOND for number in range(COUNT)]
    held = [time for time, wait in zip(arrivals(ASKED, waited), waited, strict=True) if wait]
    honest = reading(ASKED, waited, {"B": waits(held, 30 * MILLISECOND)}, jitter=0.008)
    assert honest.disturbed >= 50
    assert wrong(honest) == set()
    missing = reading(ASKED, waited, {"B": waits(held, 30 * MILLISECOND)})
    asked = LinkProperties(delay=ASKED, jitter=0.008)
    assert "jitter" in wrong(msgspec.structs.replace(missing, asked=asked))


def test_messages_sent_beside_another_are_so_only_where_the_sender_did_not_wait() -> None:
    writer = HopWriter(1, ("A", "B"))
    sent = writer.number_of(HopPlace(0, Event.SENT, "A", "B", "publish"))
    received = writer.number_of(HopPlace(0, Event.RECEIVED, "B", "A", "publish"))
    for number in range(20):
        left = SECOND + number * 2 * MILLISECOND
        fields = {"variant": "base", "kind": "publish", "id": f"p{number}"}
        writer.add(sent, TraceRecord(left, "A", event=Event.SENT, peer="B", written=left + 3 * MILLISECOND, **fields))
        writer.add(received, TraceRecord(left + SECOND, "B", event=Event.RECEIVED, peer="A", **fields))
    ((direction, rows, others),) = HopTable(writer.blocks()).directions()
    asked = {("A", "B"): LinkProperties(delay=0.001)}
    hops = paired(rows, others)
    found = link_reading(direction, len(rows), hops, AskedVariant(links=asked))
    held = {"A": waits([SECOND + 40 * MILLISECOND], 40 * MILLISECOND)}
    excused = link_reading(direction, len(rows), hops, AskedVariant(links=asked, processors=held))
    assert (found.overlapping, excused.overlapping) == (19, 0)


def test_the_time_to_the_turn_is_told_apart() -> None:
    # p1 and p2 arrive at 10 ms. p1 waits 2 ms for a processor and is served for 4; p2 is served for 4 after that.
    writer = HopWriter(1, ("A", "B"))
    place = writer.number_of(HopPlace(0, Event.RECEIVED, "B", "A", "publish"))
    for id, arrived, turn in (("p1", 10, 16), ("p2", 10, 21)):
        fields = {"variant": "base", "kind": "publish", "id": id, "peer": "A", "arrived": arrived * MILLISECOND}
        writer.add(place, TraceRecord(turn * MILLISECOND, "B", event=Event.RECEIVED, **fields))
    ((variant, broker, turns),) = HopTable(writer.blocks()).brokers()
    begin, end = np.array([10 * MILLISECOND]), np.array([12 * MILLISECOND])
    processors = {"B": ProcessorTimes.of(begin, end, np.array([2 * MILLISECOND]))}
    asked = AskedVariant(links={}, service_mean=4e6, processors=processors)
    found = service_reading(variant, broker, turns, asked).turns
    assert (found.messages, found.whole / MILLISECOND) == (2, 17)
    assert (found.waiting / MILLISECOND, found.earlier / MILLISECOND, found.service / MILLISECOND) == (4, 4, 8)


SITE = Site("far", "B", ("S", "W"), LinkProperties(delay=ASKED), LinkProperties(delay=ASKED))


@pytest.mark.parametrize(
    ("node", "told"), [("subscribers@h2", True), ("relay@h2", True), ("subscribers@h1", False), ("relay@h1", False)]
)
def test_a_site_has_the_driver_and_the_relay_of_its_brokers_host(node: str, told: bool) -> None:
    arrived = np.array([SECOND + 30 * MILLISECOND])
    held = {node: waits(arrived.tolist(), 6 * MILLISECOND)}
    asked = AskedVariant(links={}, sites=(SITE,), processors=held, hosts={"A": "h1", "B": "h2"})
    found = waits_of("B", "far", arrived - 30 * MILLISECOND, arrived, asked)
    assert (bool(found.disturbed[0]), bool(found.at_most[0])) == (told, told)


def test_clients_keep_their_driver_at_a_broker_on_another_host() -> None:
    asked = AskedVariant(links={}, sites=(SITE, replace(SITE, broker="A")), hosts={"A": "h1", "B": "h2"})
    nodes = NumberedNodes(("A", "B", "subscribers@h1", "subscribers@h2"), asked)
    found = nodes.notified(np.array([0, 0, 0, 1]), np.array([0, 1, NOBODY, 0]))
    assert found.tolist() == [3, 3, 2, 3]


@pytest.mark.parametrize(
    ("programs", "node", "told"),
    [
        (("S", "W"), "programs", True),
        (("S", "W"), "subscribers", False),
        (("W",), "programs", True),
        (("W",), "subscribers", True),
        ((), "programs", False),
        ((), "subscribers", True),
    ],
)
def test_who_acts_for_clients_of_a_site_may_hold_up_what_comes_for_them(
    programs: tuple[str, ...], node: str, told: bool
) -> None:
    written, arrived = np.array([SECOND]), np.array([SECOND + 30 * MILLISECOND])
    held = {node: waits(arrived.tolist(), 6 * MILLISECOND)}
    asked = AskedVariant(links={}, sites=(SITE,), programs=frozenset(programs), processors=held)
    found = waits_of("B", "far", written, arrived, asked)
    assert (bool(found.disturbed[0]), bool(found.at_most[0])) == (told, told)
    (notified,) = NumberedNodes(("B", "programs", "subscribers"), asked).notified(np.array([0]), np.array([0]))
    assert notified == (1 if len(programs) == 2 else 2)
    (beside,) = NumberedNodes(("B", "programs", "subscribers"), asked).notified(np.array([0]), np.array([NOBODY]))
    assert beside == 2
