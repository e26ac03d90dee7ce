"""Settling of operations, by delays, modelled work and declared intervals."""

from __future__ import annotations

import pytest

from analysis.judging.histories.settling import ALLOWANCE, BACKLOG, DETOURS, VARIATION, WORK_SECONDS, settling_of
from record.manifest import VariantRecord
from record.service_time import SendingOrder, ServiceTime
from record.time_units import SECOND
from topology.link_properties import Link, LinkProperties
from topology.model import Broker, Overlay


def line(*properties: LinkProperties) -> Overlay:
    brokers = tuple(Broker(f"B{number}") for number in range(len(properties) + 1))
    links = tuple(Link(a.id, b.id, asked, asked) for a, b, asked in zip(brokers, brokers[1:], properties, strict=False))
    return Overlay("line", brokers, links)


def test_delays_and_jitter_of_the_longest_of_the_fastest_paths_count() -> None:
    overlay = line(LinkProperties(delay=0.5, jitter=0.01), LinkProperties(delay=0.25))
    settling = settling_of(VariantRecord(name="base"), overlay)
    assert settling.spread == round(DETOURS * (0.5 + 3 * 0.01 + 0.25) * SECOND)
    assert settling.within == settling.spread + ALLOWANCE


def test_a_shortcut_makes_it_shorter() -> None:
    slow = LinkProperties(delay=1.0)
    overlay = line(slow, slow)
    quick = Link("B0", "B2", LinkProperties(delay=0.1), LinkProperties(delay=0.1))
    shorter = Overlay("triangle", overlay.brokers, (*overlay.links, quick))
    assert settling_of(VariantRecord(name="base"), overlay).spread == DETOURS * 2 * SECOND
    assert settling_of(VariantRecord(name="base"), shorter).spread == round(DETOURS * 1.0 * SECOND)


@pytest.mark.parametrize(
    ("record", "asked", "seconds"),
    [
        (VariantRecord(name="base", settles_within=5.0), LinkProperties(), 5.0),
        (VariantRecord(name="base", service_time=0.01), LinkProperties(), DETOURS * BACKLOG * 0.01),
        (VariantRecord(name="base"), LinkProperties(send_time=ServiceTime(mean=0.02)), DETOURS * BACKLOG * 0.02),
        (VariantRecord(name="base", window=3), LinkProperties(delay=0.1), DETOURS * (0.1 + BACKLOG // 3 * 0.2)),
        (VariantRecord(name="base", window=BACKLOG + 1), LinkProperties(delay=0.1), DETOURS * 0.1),
        (
            VariantRecord(name="base", sending=SendingOrder.IN_TURN),
            LinkProperties(send_time=ServiceTime(mean=0.02)),
            DETOURS * BACKLOG * 0.02,
        ),
    ],
    ids=["declared", "service", "sending", "small window", "usual window", "sending in turn over a single link"],
)
def test_intervals_and_modelled_work_count(record: VariantRecord, asked: LinkProperties, seconds: float) -> None:
    assert settling_of(record, line(asked)).spread == round(seconds * SECOND)


def test_a_message_waits_for_the_turns_of_all_other_links() -> None:
    asked = LinkProperties(send_time=ServiceTime(mean=0.02))
    in_turn = settling_of(VariantRecord(name="base", sending=SendingOrder.IN_TURN), line(asked, asked))
    beside = settling_of(VariantRecord(name="base"), line(asked, asked))
    # The broker in the middle has two links, and the one at the end a single one.
    assert (in_turn.spread, beside.spread) == tuple(
        round(DETOURS * BACKLOG * seconds * SECOND) for seconds in (0.06, 0.04)
    )
    assert in_turn.pace - beside.pace == round(VARIATION * 0.02 * SECOND)


def test_frames_that_a_link_drops_are_waited_for() -> None:
    lossy = settling_of(VariantRecord(name="base"), line(LinkProperties(delay=0.1, loss=0.01)))
    whole = settling_of(VariantRecord(name="base"), line(LinkProperties(delay=0.1)))
    # One of ten thousand frames is dropped twice in a row: a wait of a round trip and 200 ms, and one of twice that.
    assert lossy.spread - whole.spread == round(DETOURS * 3 * (0.2 + 0.2) * SECOND)


def test_a_single_broker_needs_the_allowance_alone() -> None:
    assert settling_of(VariantRecord(name="base"), line()).within == ALLOWANCE


def test_publications_do_not_wait_for_declared_intervals() -> None:
    settling = settling_of(VariantRecord(name="base", settles_within=5.0), line(LinkProperties(delay=0.5)))
    assert settling.crossing == DETOURS * SECOND // 2 + ALLOWANCE
    assert settling.within == settling.crossing + 5 * SECOND


@pytest.mark.parametrize(
    ("record", "asked", "each"),
    [
        (VariantRecord(name="base"), LinkProperties(), WORK_SECONDS),
        (VariantRecord(name="base", service_time=0.01), LinkProperties(), WORK_SECONDS + VARIATION * 0.01),
        (
            VariantRecord(name="base"),
            LinkProperties(send_time=ServiceTime(mean=0.02)),
            WORK_SECONDS + VARIATION * 0.02,
        ),
    ],
    ids=["real", "service", "sending"],
)
def test_operations_that_are_made_together_wait_for_each_other(
    record: VariantRecord, asked: LinkProperties, each: float
) -> None:
    settling = settling_of(record, line(asked))
    assert settling.of_many(100) == settling.within + round(100 * each * SECOND)


def test_without_modelled_work_messages_need_no_more_than_half_a_second_of_the_allowance() -> None:
    calm = settling_of(VariantRecord(name="base"), line(LinkProperties(delay=0.5)))
    assert calm.within - calm.calm == calm.spread + SECOND // 2
    assert settling_of(VariantRecord(name="base", service_time=0.01), line(LinkProperties())).calm == 0
