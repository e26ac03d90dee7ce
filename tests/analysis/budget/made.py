"""Budgets of made-up logs, and of logs on disk, without the rest of the analysis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.auditing.hops.asked import AskedVariant
from analysis.auditing.hops.table import HopTable
from analysis.budget.passages import PassageStage
from analysis.budget.replay.stage import ReplayStage, ReplayTally
from analysis.budget.stage import BudgetStage
from analysis.budget.tally import BudgetTally, Grouping, NodeSums, Sums
from analysis.budget.variant import BudgetedVariant
from analysis.engines.arrays import rows_in
from analysis.judging.journeys.journey import Journeys
from analysis.judging.journeys.notified_ways import ways_of
from analysis.reading.event_table import EventTable
from analysis.reading.logged_variants import LoggedVariants
from analysis.reading.share_reader import ShareReader
from analysis.run_files.logs import RecordBlock
from analysis.run_files.processor_times import NodeTimes, ProcessorTimes
from record.log import Event, TraceRecord
from record.time_units import MILLISECOND, SECOND
from topology.link_properties import LinkProperties

PUBLISHERS, SUBSCRIBERS = "publishers", "subscribers"
COUNT = 100
EVERY = 50 * MILLISECOND
DELAY = 10 * MILLISECOND
HANDLING = MILLISECOND // 10
"""Time from one turn of a broker to the next, where messages wait for it."""


def read(
    records: Sequence[TraceRecord], variants: Sequence[str], brokers: Sequence[str], buckets: int = 2
) -> ShareReader:
    """The records of all logs, read as the analysis reads them."""
    numbers = {name: number for number, name in enumerate(variants)}
    never = [1 << 62] * len(numbers)
    logged = LoggedVariants(numbers, [SECOND] * len(numbers), never, never, frozenset(brokers))
    reader = ShareReader(logged, buckets, buckets)
    reader.read(RecordBlock(0, list(records)), "log")
    return reader


def budget_of(
    reader: ShareReader,
    variants: Sequence[BudgetedVariant],
    brokers: Sequence[str],
    buckets: int = 2,
    drivers: Sequence[str] = (PUBLISHERS, SUBSCRIBERS),
) -> BudgetTally:
    """The budget of the records that were read."""
    return budget_and_replay(reader, variants, brokers, buckets, drivers)[0]


def replay_of(reader: ShareReader, variants: Sequence[BudgetedVariant], brokers: Sequence[str]) -> ReplayTally:
    """The replay of the records that were read."""
    return budget_and_replay(reader, variants, brokers, 2)[1]


def budget_and_replay(
    reader: ShareReader,
    variants: Sequence[BudgetedVariant],
    brokers: Sequence[str],
    buckets: int,
    drivers: Sequence[str] = (PUBLISHERS, SUBSCRIBERS),
) -> tuple[BudgetTally, ReplayTally]:
    nodes = (*brokers, *drivers)
    of_node = {name: number for number, name in enumerate(nodes)}
    passages, hops = PassageStage(variants, nodes, buckets)(HopTable(reader.hops.blocks()))
    ways, replayed, blocks = [passages], [hops], reader.events.blocks()
    for bucket in range(buckets):
        table = EventTable.of(blocks.filter(pc.field("bucket") == bucket))
        ways.append(ways_of(table, Journeys(table, [100] * len(variants)), of_node, bucket))
    parts = pa.concat_tables(ways)
    tally, replay = BudgetTally(), ReplayTally()
    for bucket in range(buckets):
        found = BudgetStage(variants, nodes)(parts.filter(pc.field("bucket") == bucket))
        tally.merge(found.select(tally.schema().names))
        replayed.append(rows_in(found.column("replayed")))
    rows = pa.concat_tables(replayed)
    for variant in set(rows.column("variant").to_pylist()):
        replay.merge(ReplayStage(variants, nodes)(rows.filter(pc.field("variant") == variant)))
    return tally, replay


def total(tally: BudgetTally, variant: int = 0) -> Sums:
    (found,) = [sums for sums in tally.sums if sums.variant == variant and sums.grouping is Grouping.ALL]
    return found


def by_node(tally: BudgetTally) -> dict[str, NodeSums]:
    return {sums.node: sums for sums in tally.nodes}


@dataclass
class Delays:
    """Nanoseconds, of each of `COUNT` publications, at each place where it can be held up."""

    publishing: Sequence[int] = field(default_factory=lambda: [0] * COUNT)
    to_broker: Sequence[int] = field(default_factory=lambda: [0] * COUNT)
    sending: Sequence[int] = field(default_factory=lambda: [0] * COUNT)
    """Between writing and the link."""
    arriving: Sequence[int] = field(default_factory=lambda: [0] * COUNT)
    """Between the link and the receiver's event loop."""
    holding: Sequence[int] = field(default_factory=lambda: [0] * COUNT)
    """In the last broker's router."""
    notifying: Sequence[int] = field(default_factory=lambda: [0] * COUNT)


def line(delays: Delays) -> list[TraceRecord]:
    """The logs of publications from a client of A, over a link of 10 ms, to a client of B."""
    records = []
    left = arrived = 0
    for number in range(COUNT):
        due = SECOND + number * EVERY
        published = due + delays.publishing[number]
        left = max(left + HANDLING, published + delays.to_broker[number])
        arrived = max(arrived + HANDLING, left + DELAY + delays.sending[number] + delays.arriving[number])
        delivered = arrived + delays.holding[number]
        notified = delivered + delays.notifying[number]
        of_all = {"variant": "base", "kind": "publish", "id": f"P:{number}"}
        records += [
            TraceRecord(
                published, PUBLISHERS, event=Event.PUBLISH, client="P", peer="A", intended=due, numbers={}, **of_all
            ),
            TraceRecord(left, "A", event=Event.RECEIVED, client="P", hops=0, **of_all),
            TraceRecord(left, "A", event=Event.SENT, peer="B", hops=0, duration=0, **of_all),
            TraceRecord(arrived, "B", event=Event.RECEIVED, peer="A", hops=1, arrived=arrived, **of_all),
            TraceRecord(delivered, "B", event=Event.MATCHED, **of_all),
            *(TraceRecord(delivered, "B", event=Event.DELIVERED, client=name, hops=1, **of_all) for name in ("T", "S")),
            TraceRecord(notified, SUBSCRIBERS, event=Event.NOTIFIED, peer="B", client="S", hops=1, **of_all),
        ]
    return records


def asked(processors: NodeTimes, **fields: object) -> BudgetedVariant:
    """The variant that `line` is of."""
    properties = LinkProperties(delay=DELAY / SECOND)
    links = {("A", "B"): properties, ("B", "A"): properties}
    of_audit = AskedVariant(links=links, processors=processors, **fields)  # type: ignore[arg-type]
    return BudgetedVariant(asked=of_audit, run_start=SECOND)


def waits(spans: Iterable[tuple[int, int]], stopped: tuple[int, int] = (0, 0)) -> ProcessorTimes:
    """Waits with their ends and lengths, each seen by a look up to 4 ms later, of a node that runs a little in every 50
    ms in which it is not `stopped`."""
    ends, lengths = np.array(list(spans), dtype=np.int64).reshape(-1, 2).T
    looks = np.arange(0, SECOND + (COUNT + 10) * EVERY, 5 * MILLISECOND)
    looks = looks[(looks < stopped[0]) | (looks > stopped[1])]
    nothing = np.zeros_like
    return ProcessorTimes.of(
        np.concatenate((ends - lengths, looks)),
        np.concatenate((ends + 4 * MILLISECOND, looks + 5 * MILLISECOND)),
        np.concatenate((lengths, nothing(looks))),
        np.concatenate((nothing(lengths), nothing(looks) + MILLISECOND // 20)),
    )
