"""Time that nothing explains, of notifications beside a slow reader: of clients of its broker that read whatever comes.

A slow reader costs others nothing, so that time is the same while its session is full and otherwise. A broker that
waits for the slow reader handles nothing meanwhile, though neither work nor its host occupies it. So all that comes
through it is later by about the time that the slow reader takes for a notification.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from analysis.auditing.hops.asked import untouched
from analysis.auditing.hops.table import Numbers
from analysis.budget.joining import JoinedWays
from analysis.budget.parts import Part
from analysis.budget.tally import BesideSlowReaders
from analysis.budget.variant import BudgetedVariant
from analysis.judging.journeys.notified_ways import ArrivalColumn, NoticeColumn
from analysis.reading.event_table import NOBODY, Truths


def beside_slow(
    number: int, variant: BudgetedVariant, nodes: Sequence[str], ways: JoinedWays, parts: Numbers
) -> Iterator[BesideSlowReaders]:
    """Sums of the notifications of one variant, whose `ways` are known, by their parts."""
    notices = ways.notices
    arrivals = ways.arrivals[notices[:, NoticeColumn.ARRIVAL]]
    begin, end = arrivals[:, ArrivalColumn.TIME], notices[:, NoticeColumn.NOTIFIED]
    slow = np.array([site.reads_slowly for site in variant.asked.sites] + [False])
    sites = notices[:, NoticeColumn.SITE]
    others = ~slow[np.where(sites == NOBODY, len(slow) - 1, sites)]
    chosen: dict[str, Truths] = {"": others.copy()}
    for broker, full in sorted(variant.full_sessions.items()):
        if broker not in nodes:
            continue
        beside = others & (arrivals[:, ArrivalColumn.BROKER] == nodes.index(broker))
        beside[beside] = ~untouched(begin[beside], end[beside], zip(full.starts, full.ends, strict=True))
        chosen[broker] = beside
        chosen[""] &= ~beside
    for broker, of_broker in chosen.items():
        if of_broker.any():
            unexplained = parts[of_broker, Part.UNEXPLAINED]
            yield BesideSlowReaders(number, broker, len(unexplained), int(unexplained.sum()))
