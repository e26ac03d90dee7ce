"""Delays that are planted into logs appear in the right part and at the right node, and parts add up to delays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_fields

import numpy as np
import pytest
from msgspec.structs import replace

from analysis.budget.tally import BudgetTally
from analysis.reading.intervals import FOREVER
from analysis.run_files.processor_times import NodeTimes, ProcessorTimes
from record.log import Event
from record.processors import RELAY
from record.time_units import MILLISECOND, SECOND
from tests.analysis.budget.made import (
    COUNT,
    DELAY,
    EVERY,
    PUBLISHERS,
    SUBSCRIBERS,
    Delays,
    asked,
    budget_of,
    by_node,
    line,
    read,
    total,
    waits,
)

BROKERS = ("A", "B")
HELD_UP = [round(wait) for wait in np.random.default_rng(3).exponential(3 * MILLISECOND, COUNT)]
"""Nanoseconds for which each publication is held up at one place."""


def planted(delays: Delays, processors: NodeTimes) -> BudgetTally:
    records = line(delays)
    tally = budget_of(read(records, ["base"], BROKERS), [asked(processors)], BROKERS)
    notified = sum(record.time for record in records if record.event is Event.NOTIFIED)
    intended = sum(record.intended or 0 for record in records if record.event is Event.PUBLISH)
    assert total(tally).delay == notified - intended, "the parts are the whole delay"
    return tally


def ends(offset: int, held_up: Sequence[int]) -> list[tuple[int, int]]:
    """End and length of the waits of publications that were due at a node `offset` after their intended time."""
    return [(SECOND + number * EVERY + offset + wait, wait) for number, wait in enumerate(held_up)]


@pytest.mark.parametrize(
    ("place", "node", "offset"),
    [
        ("publishing", PUBLISHERS, 0),
        ("to_broker", "A", 0),
        ("sending", "A", 0),
        ("sending", RELAY, 5 * MILLISECOND),
        ("arriving", "B", DELAY),
        ("notifying", "B", DELAY),
        ("notifying", SUBSCRIBERS, DELAY),
    ],
)
def test_waiting_for_a_processor_is_contention_at_the_node_that_waited(place: str, node: str, offset: int) -> None:
    tally = planted(Delays(**{place: HELD_UP}), {node: waits(ends(offset, HELD_UP))})
    sums, nodes = total(tally), by_node(tally)
    assert sums.links == COUNT * DELAY
    assert nodes[node].contention == pytest.approx(sum(HELD_UP), rel=0.1)
    assert sums.contention == sum(of_node.contention for of_node in nodes.values())
    assert abs(sums.unexplained) <= 0.1 * sum(HELD_UP)


@pytest.mark.parametrize(
    ("place", "node", "offset"),
    [
        ("publishing", "publishers@h1", 0),
        ("sending", "relay@h1", 5 * MILLISECOND),
        ("sending", "relay@h2", 5 * MILLISECOND),
        ("notifying", "subscribers@h2", DELAY),
    ],
)
def test_waiting_on_one_of_two_hosts_is_contention_there_and_nowhere_else(place: str, node: str, offset: int) -> None:
    """A is on h1 and B on h2, so that frames go through two relays, one after the other."""
    drivers = {PUBLISHERS: "publishers@h1", SUBSCRIBERS: "subscribers@h2"}
    records = line(Delays(**{place: HELD_UP}))
    for record in records:
        record.node = drivers.get(record.node, record.node)
    hosts = {"A": "h1", "relay@h1": "h1", "B": "h2", "relay@h2": "h2"}
    of_variant = asked({node: waits(ends(offset, HELD_UP))}, hosts=hosts)
    tally = budget_of(read(records, ["base"], BROKERS), [of_variant], BROKERS, drivers=[*drivers.values()])
    assert total(tally).contention == pytest.approx(sum(HELD_UP), rel=0.1)
    assert {name: sums.contention for name, sums in by_node(tally).items() if sums.contention} == {
        node: total(tally).contention
    }


def test_a_message_that_two_relays_hold_up_counts_for_each_what_it_waited() -> None:
    half = [wait // 2 for wait in HELD_UP]
    processors = {"relay@h1": waits(ends(5 * MILLISECOND, half)), "relay@h2": waits(ends(DELAY, half))}
    of_variant = asked(processors, hosts={"A": "h1", "relay@h1": "h1", "B": "h2", "relay@h2": "h2"})
    tally = budget_of(read(line(Delays(sending=HELD_UP)), ["base"], BROKERS), [of_variant], BROKERS)
    for relay in processors:
        assert by_node(tally)[relay].contention == pytest.approx(sum(half), rel=0.1)


def test_waits_of_both_ends_at_the_same_time_count_once() -> None:
    waited = waits(ends(DELAY, HELD_UP))
    both = planted(Delays(arriving=HELD_UP), {"A": waited, "B": waited})
    assert total(both).contention == pytest.approx(sum(HELD_UP), rel=0.1)
    assert by_node(both)["B"].contention == total(both).contention


def test_waits_that_held_nothing_up_are_no_contention() -> None:
    idle = {node: waits(ends(EVERY // 2, HELD_UP)) for node in ("A", "B", PUBLISHERS, SUBSCRIBERS, RELAY)}
    sums = total(planted(Delays(), idle))
    assert (sums.contention, sums.unexplained) == (0, 0)


BEGIN, END = SECOND + 20 * EVERY, SECOND + 40 * EVERY
"""The time for which a node is stopped."""


def stopped(offset: int) -> list[int]:
    """The time for which each publication is held up at a node to which it comes `offset` after it was due."""
    come = [SECOND + number * EVERY + offset for number in range(COUNT)]
    return [END - time if BEGIN <= time < END else 0 for time in come]


@pytest.mark.parametrize(
    ("place", "node", "offset"),
    [
        ("publishing", PUBLISHERS, 0),
        ("to_broker", "A", 0),
        ("sending", "A", 0),
        ("sending", RELAY, DELAY),
        ("arriving", "B", DELAY),
        ("notifying", SUBSCRIBERS, DELAY),
    ],
)
def test_a_silent_stop_is_unexplained_at_the_node_that_stopped(place: str, node: str, offset: int) -> None:
    """A process that is stopped waits for no processor. What came meanwhile is handled at once when it continues, one
    after another."""
    held_up = stopped(offset)
    processors = {name: waits([]) for name in ("A", "B", PUBLISHERS, SUBSCRIBERS, RELAY)}
    processors[node] = waits([], (BEGIN, END))
    tally = planted(Delays(**{place: held_up}), processors)
    sums, nodes = total(tally), by_node(tally)
    assert sums.contention == 0
    assert sums.unexplained == pytest.approx(sum(held_up), rel=0.1), "it is hidden in no other part"
    assert nodes[node].unexplained == pytest.approx(sum(held_up), rel=0.1)


def test_a_router_that_holds_notifications_back_is_waiting_as_far_as_the_log_says_so() -> None:
    holding = [2 * MILLISECOND if number % 2 else 0 for number in range(COUNT)]
    sums = total(planted(Delays(holding=holding, notifying=[MILLISECOND] * COUNT), {}))
    assert sums.waiting_at_brokers == sum(holding)
    assert sums.unexplained == COUNT * MILLISECOND, "from the broker to the client"


def test_a_link_that_is_slower_than_asked_is_unexplained() -> None:
    sums = total(planted(Delays(sending=[MILLISECOND] * COUNT), {"B": waits([])}))
    assert (sums.links, sums.contention, sums.unexplained) == (COUNT * DELAY, 0, COUNT * MILLISECOND)


def test_a_link_that_is_faster_than_asked_is_unexplained_and_negative() -> None:
    sums = total(planted(Delays(sending=[-MILLISECOND] * COUNT), {}))
    assert (sums.unexplained, sums.unexplained_absolute) == (-COUNT * MILLISECOND, COUNT * MILLISECOND)


def test_a_fault_that_makes_a_link_quicker_leaves_nothing_unexplained() -> None:
    """A fault on the broker behind the link does not make the link quicker."""
    quicker = line(Delays(sending=[-4 * MILLISECOND] * COUNT))
    struck = [(0, FOREVER)]
    sums = total(budget_of(read(quicker, ["base"], BROKERS), [asked({}, struck={"A->B": struck})], BROKERS))
    assert (sums.links, sums.unexplained) == (COUNT * (DELAY - 4 * MILLISECOND), 0)
    other = total(budget_of(read(quicker, ["base"], BROKERS), [asked({}, struck={"B": struck})], BROKERS))
    assert (other.links, other.unexplained) == (COUNT * DELAY, -4 * COUNT * MILLISECOND)


def test_absolute_values_do_not_cancel() -> None:
    odd = [MILLISECOND if number % 2 else -MILLISECOND for number in range(COUNT)]
    sums = total(planted(Delays(sending=odd), {}))
    assert (sums.unexplained, sums.unexplained_absolute) == (0, COUNT * MILLISECOND)


def test_a_drop_at_a_turn_is_no_arrival_of_its_own() -> None:
    """A broker that finds no way on for some of a publication's subscribers says so at the time of the turn."""
    records = [
        each
        for record in line(Delays())
        for each in (
            [replace(record, event=Event.DROPPED, peer=None, text="no route", count=1), record]
            if record.event is Event.RECEIVED and record.node == "B"
            else [record]
        )
    ]
    sums = total(budget_of(read(records, ["base"], BROKERS), [asked({})], BROKERS))
    assert (sums.links, sums.delay) == (COUNT * DELAY, COUNT * DELAY)


@pytest.mark.parametrize(
    ("place", "node", "offset"), [("to_broker", "A", 0), ("sending", "A", 0), ("arriving", "B", DELAY)]
)
def test_what_a_brokers_own_quota_took_is_waiting_at_brokers(place: str, node: str, offset: int) -> None:
    """The kernel counts it as waiting for a processor, too."""
    waited = waits(ends(offset, HELD_UP))
    sums = total(planted(Delays(**{place: HELD_UP}), {node: with_fields(waited, held_back=waited)}))
    assert sums.contention == 0
    assert sums.waiting_at_brokers == pytest.approx(sum(HELD_UP), rel=0.1)
    assert abs(sums.unexplained) <= 0.1 * sum(HELD_UP)


def test_waits_beyond_those_of_a_quota_are_contention() -> None:
    """The quota took the first half of publications' waits, and the host the other half."""
    spans = ends(DELAY, HELD_UP)
    both = with_fields(waits(spans), held_back=waits(spans[: COUNT // 2]))
    sums = total(planted(Delays(arriving=HELD_UP), {"B": both}))
    assert sums.waiting_at_brokers == pytest.approx(sum(HELD_UP[: COUNT // 2]), rel=0.1)
    assert sums.contention == pytest.approx(sum(HELD_UP[COUNT // 2 :]), rel=0.1)


@pytest.mark.parametrize(("offset", "share"), [(DELAY, 1), (EVERY // 2, 0)])
def test_steal_is_known_as_the_most_that_it_can_be_of_what_may_be_it(offset: int, share: int) -> None:
    """It is known of the host alone, so that only steal while a publication was under way may be of its delay."""
    stolen = waits(ends(offset, HELD_UP))
    variant = asked({"B": waits([])}, stolen=stolen)
    tally = budget_of(read(line(Delays(arriving=HELD_UP)), ["base"], BROKERS), [variant], BROKERS)
    assert tally.stolen.of(0).at_most == share * sum(HELD_UP)


def test_waiting_within_the_time_that_a_router_logged_is_contention_and_no_work() -> None:
    """A broker logs how long its router took by the clock, which goes on while the broker waits."""
    work = MILLISECOND // 5
    spans = np.array(ends(DELAY, HELD_UP))
    waited = ProcessorTimes.of(spans[:, 0] - spans[:, 1], spans[:, 0] + work, spans[:, 1], np.full(COUNT, work))
    took = [wait + work for wait in HELD_UP]
    durations = iter(took)
    records = [
        replace(record, duration=next(durations)) if record.event is Event.RECEIVED and record.node == "B" else record
        for record in line(Delays(notifying=took))
    ]
    sums = total(budget_of(read(records, ["base"], BROKERS), [asked({"B": waited})], BROKERS))
    assert sums.contention == pytest.approx(sum(HELD_UP), rel=0.1)
    assert sums.work == pytest.approx(COUNT * work, rel=0.1)
    assert sums.unexplained == 0


def test_all_that_a_relay_holds_up_at_a_time_is_its_contention() -> None:
    """The second message comes to its turn right behind the first, but waited for the relay and not for the broker."""
    held_up = [60 * MILLISECOND if number % 2 == 0 else 10 * MILLISECOND for number in range(COUNT)]
    processors = {"B": waits([]), RELAY: waits(ends(DELAY, held_up)[::2])}
    tally = planted(Delays(sending=held_up), processors)
    assert by_node(tally)[RELAY].contention == pytest.approx(sum(held_up), rel=0.05)
    assert abs(total(tally).unexplained) <= 0.05 * sum(held_up)


def test_publications_that_no_link_carries_have_no_passages() -> None:
    local = [record for record in line(Delays()) if record.node != "B" and record.event is not Event.SENT]
    assert not list(budget_of(read(local, ["base"], "AB"), [asked({})], "AB").sums)
