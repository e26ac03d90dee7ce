"""Memory of the stages that read links: what a table takes is let go, and pieces bound what is computed at a time."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from analysis.auditing.hops.asked import AskedVariant
from analysis.auditing.hops.table import HopTable
from analysis.budget.passages import PassageStage
from analysis.budget.replay.overlay import replayed
from analysis.budget.replay.rows import HopColumn
from analysis.budget.variant import BudgetedVariant
from analysis.engines.arrays import integers, lists, row_of
from analysis.engines.frames import Grouping
from analysis.engines.in_process import InProcess, ProcessFrame
from analysis.reading.event_table import NOBODY
from analysis.reading.hop_events import HopPlace, HopWriter
from record.callbacks import do_nothing
from record.log import Event, TraceRecord
from record.time_units import MILLISECOND
from topology.link_properties import LinkProperties

BLOCK = pa.schema([pa.field("bucket", pa.int32(), nullable=False), ("numbers", pa.list_(pa.int64()))])
READ = pa.schema([("task", pa.int32()), ("blocks", pa.list_(pa.struct(list(BLOCK))))])
BROKERS = ("A", "B", "C", "D", "E")


class OneAtATime:
    """A stage that fails when the numbers of an earlier result are still in memory."""

    def __init__(self) -> None:
        self._earlier: list[weakref.ref[NDArray[np.int64]]] = []

    def __call__(self, _: pa.Table) -> pa.Table:
        assert not [1 for earlier in self._earlier if earlier() is not None]
        numbers = np.arange(1000)
        self._earlier.append(weakref.ref(numbers))
        blocks = pa.table([integers([0], pa.int32()), lists(integers(numbers, pa.int64()), [1000])], schema=BLOCK)
        return pa.table([integers([0], pa.int32()), row_of(blocks)], schema=READ)


def used_at_once(frame: ProcessFrame) -> None:
    grouped = frame.field("blocks").grouped(Grouping("bucket", 1), OneAtATime(), READ)
    assert len([*grouped.collected(["task"], do_nothing)]) == 1


def kept_first(frame: ProcessFrame) -> None:
    kept = frame.kept()
    assert len([*kept.collected(["task"], do_nothing)]) == 3
    used_at_once(kept)


@pytest.mark.parametrize("use", [used_at_once, kept_first])
def test_a_result_is_let_go_before_the_next_is_computed(use: Callable[[ProcessFrame], None]) -> None:
    use(InProcess().mapped(pa.table({"task": integers([0, 1, 2], pa.int32())}), OneAtATime(), READ))


def test_brokers_are_dealt_out_to_buckets_evenly() -> None:
    writer = HopWriter(4, BROKERS)
    for variant in (0, 1):
        for broker in BROKERS:
            place = writer.number_of(HopPlace(variant, Event.RECEIVED, broker, None, "publish"))
            writer.add(place, TraceRecord(5, broker, "base", Event.RECEIVED, "publish", "p1", client="P"))
    blocks = writer.blocks()
    receivers = dict(zip(blocks.column("bucket").to_pylist(), blocks.column("places").to_pylist(), strict=True))
    assert sorted(map(len, receivers.values())) == [2, 2, 3, 3]


def many_hops(messages: int, brokers: tuple[str, ...]) -> HopTable:
    """Messages from A to each of these brokers."""
    writer = HopWriter(1, BROKERS)
    for broker in brokers:
        sent = writer.number_of(HopPlace(0, Event.SENT, "A", broker, "publish"))
        received = writer.number_of(HopPlace(0, Event.RECEIVED, broker, "A", "publish"))
        for number in range(messages):
            left, id = number * MILLISECOND, f"{broker}:{number}"
            came = left + 5 * MILLISECOND
            writer.add(sent, TraceRecord(left, "A", "base", Event.SENT, "publish", id, peer=broker, duration=0))
            arrived = TraceRecord(came, broker, "base", Event.RECEIVED, "publish", id, peer="A", arrived=came)
            writer.add(received, arrived)
    return HopTable(writer.blocks())


def test_receivers_are_read_a_few_at_a_time_and_each_whole() -> None:
    pieces = [rows for _, rows in many_hops(10, ("B", "C", "D", "E")).pieces(30)]
    assert [len(rows) for rows in pieces] == [40, 40]
    whole = many_hops(10, ("B", "C", "D", "E"))
    for rows in pieces:
        receivers = Counter(whole.places[place].receiver for place in rows[:, 0].tolist())
        assert [*receivers.values()] == [20, 20]


def peak_of(work: Callable[[], object]) -> int:
    gc.collect()
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_what_a_passage_takes_while_it_is_cut_does_not_grow_with_their_number() -> None:
    """A passage is a row of 144 bytes, twice while rows are gathered, made of two records of 72 bytes."""
    links = {("A", "B"): LinkProperties(delay=0.005), ("B", "A"): LinkProperties(delay=0.005)}
    stage = PassageStage([BudgetedVariant(asked=AskedVariant(links=links))], BROKERS, 3)
    small, large = (many_hops(number, ("B",)) for number in (20_000, 40_000))
    growth = peak_of(lambda: stage(large)) - peak_of(lambda: stage(small))
    assert growth / 20_000 < 700


def test_a_replayed_message_takes_some_numbers_and_no_objects() -> None:
    number = 20_000
    hops = np.repeat(np.arange(number)[:, np.newaxis] * MILLISECOND, len(HopColumn), axis=1)
    hops[:, HopColumn.BROKER], hops[:, HopColumn.SENDER] = 0, NOBODY
    variant = BudgetedVariant(asked=AskedVariant(links={}))
    assert peak_of(lambda: replayed(hops, variant, ["A"])) / number < 500
