"""Readings of a link direction and of a broker's work, from rows whose numbers are checked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.auditing.hops.asked import AskedVariant, Costs
from analysis.auditing.hops.links import link_reading
from analysis.auditing.hops.readings import LinkReading
from analysis.auditing.hops.services import service_reading
from analysis.auditing.hops.table import Direction, HopTable, paired
from analysis.reading.hop_events import HopPlace, HopWriter
from analysis.reading.message_keys import message_key
from record.log import Event, TraceRecord
from record.time_units import MILLISECOND
from topology.link_properties import LinkProperties

A_TO_B = Direction(0, "A", "B")
Message = tuple[str, float, float]
"""Identifier, and milliseconds of writing and arrival."""


def table(messages: list[Message], *, bytes: int = 0) -> HopTable:
    writer = HopWriter(1, ("A", "B"))
    sent = writer.number_of(HopPlace(0, Event.SENT, "A", "B", "publish"))
    received = writer.number_of(HopPlace(0, Event.RECEIVED, "B", "A", "publish"))
    for id, written, arrived in messages:
        fields = {"variant": "base", "kind": "publish", "id": id, "bytes": bytes}
        writer.add(sent, TraceRecord(round(written * MILLISECOND), "A", event=Event.SENT, peer="B", **fields))
        at = round(arrived * MILLISECOND)
        writer.add(received, TraceRecord(at + 7, "B", event=Event.RECEIVED, peer="A", arrived=at, **fields))
    return HopTable(writer.blocks())


def reading(messages: list[Message], properties: LinkProperties, bytes: int = 0, **asked: object) -> LinkReading:
    ((direction, sent, received),) = table(messages, bytes=bytes).directions()
    assert direction == A_TO_B
    variant = AskedVariant(links={("A", "B"): properties}, **asked)  # type: ignore[arg-type]
    return link_reading(direction, len(sent), paired(sent, received), variant)


def test_frames_that_found_the_link_idle_show_its_delay() -> None:
    messages = [("p1", 0, 5), ("p2", 10, 15), ("p3", 12, 17), ("p4", 20, 26)]
    found = reading(messages, LinkProperties(delay=0.005))
    assert (found.sent, found.paired, found.idle, found.late) == (4, 4, 3, 0), "p3 left before p2 had arrived"
    assert (found.delay.least, found.delay.median) == (5 * MILLISECOND, 5 * MILLISECOND)


def test_the_rate_is_taken_off() -> None:
    # 1 message of 0 bytes with an identifier of 2: 2 + 13 + 16 + 66 bytes are 97, at 97 kbit/s they take 8 ms.
    found = reading([("p1", 0, 13), ("p2", 20, 33)], LinkProperties(delay=0.005, rate=97_000.0))
    assert found.cleared.median == pytest.approx(5 * MILLISECOND)
    # 2 bytes of the frame and 7 of the message may be missing.
    assert found.delay.median == pytest.approx((5 + 8 * 9 / 97) * MILLISECOND)


def test_frames_that_wait_for_the_rate_arrive_one_after_the_other() -> None:
    # Four frames, 8 ms each by the rate, written within 3 ms, at 10 ms from one to the next: 1.25 times as long.
    messages = [("p1", 0, 13), ("p2", 1, 23), ("p3", 2, 33), ("p4", 3, 43)]
    found = reading(messages, LinkProperties(delay=0.005, rate=97_000.0))
    assert found.queued == 2, "p2 waits for less than its own length"
    assert found.queued_stretch == pytest.approx(1.25)


def test_late_frames_were_sent_again() -> None:
    messages = [("p1", 0, 5), ("p2", 10, 225), ("p3", 100, 226), ("p4", 300, 305)]
    found = reading(messages, LinkProperties(delay=0.005, loss=0.1))
    assert (found.idle, found.late) == (3, 1), "p3 waits for p2, and counts for nothing"
    assert found.late_expected == pytest.approx(0.3)
    assert found.delay.high == 5 * MILLISECOND


def test_messages_during_faults_are_left_out() -> None:
    messages = [("p1", 0, 5), ("p2", 10, 90), ("p3", 100, 105)]
    struck = {"B->A": [(20 * MILLISECOND, 50 * MILLISECOND)]}
    found = reading(messages, LinkProperties(delay=0.005), struck=struck)
    assert (found.paired, found.delay.count, found.delay.high) == (2, 2, 5 * MILLISECOND)


def test_what_is_in_one_log_alone_is_left_out_and_repeats_are_paired_in_order() -> None:
    whole = table([("p1", 0, 5), ("p1", 10, 15), ("p2", 20, 25)])
    ((_, sent, received),) = whole.directions()
    without = received[received[:, 1] != message_key("publish", "p2")]
    hops = paired(sent, without)
    assert (hops.arrived - hops.written).tolist() == [5 * MILLISECOND] * 2
    assert len(paired(sent, received[1:])) == 1, "p1 was sent twice and arrived once"


def test_a_broker_serves_one_message_after_another() -> None:
    # Both arrive at 10 ms and take 4 ms each; the third finds the broker idle.
    writer = HopWriter(1, ("A", "B"))
    place = writer.number_of(HopPlace(0, Event.RECEIVED, "B", "A", "publish"))
    for id, arrived, turn in (("p0", 0, 4), ("p1", 10, 14), ("p2", 10, 18), ("p3", 30, 34)):
        writer.add(
            place,
            TraceRecord(
                turn * MILLISECOND, "B", "base", Event.RECEIVED, "publish", id, peer="A", arrived=arrived * MILLISECOND
            ),
        )
    ((variant, broker, turns),) = HopTable(writer.blocks()).brokers()
    costs = Costs(work={"publish": MILLISECOND})
    found = service_reading(variant, broker, turns, AskedVariant(links={}, service_mean=3e6, costs=costs))
    assert (found.busy.count, found.busy.median) == (1, 3 * MILLISECOND)
    assert (found.idle.count, found.idle.median) == (2, 3 * MILLISECOND)


def test_messages_of_clients_and_those_without_id_do_not_end_the_reading() -> None:
    writer = HopWriter(3, ("A", "B"))
    place = writer.number_of(HopPlace(0, Event.RECEIVED, "B", None, "publish"))
    writer.add(place, TraceRecord(5, "B", "base", Event.RECEIVED, "publish", "p1", client="P"))
    writer.add(place, TraceRecord(6, "B", "base", Event.RECEIVED, "publish", client="P"))
    ((_, _, turns),) = HopTable(writer.blocks()).brokers()
    assert (len(turns), np.unique(turns.time).tolist()) == (1, [5])
