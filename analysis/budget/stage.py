"""The stage that puts passages and ways together, by bucket of publications: the parts of every delay, summed.

The parts of a notification's way are those of its passages over links, and three more intervals:

1. from the intended time to the turn at the publisher's broker: the driver, the session, the access link of the
   publisher's site and the broker's earlier work;
2. at each broker, from the turn to the output queue of the next link: the router's work, and what it holds back;
3. from the turn at the last broker to the client: the router's work, the session, the access link of the client's site
   and the driver.

What ways have in common is computed once, for each arrival at a broker, and added up along the ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from analysis.auditing.hops.asked import untouched
from analysis.auditing.hops.table import Numbers
from analysis.budget.access import AccessLinks, struck_access
from analysis.budget.at_rest import NodesAtRest
from analysis.budget.beside_slow import beside_slow
from analysis.budget.ends import Notifications, Publishings, Stays, from_publisher, inside_of_brokers, to_client
from analysis.budget.joining import JoinedWays, joined
from analysis.budget.numbered_nodes import NumberedNodes
from analysis.budget.parts import Part, PassageColumn
from analysis.budget.replay.rows import REPLAY
from analysis.budget.shares import Cut, NodeShare, NodeTotals
from analysis.budget.tally import BudgetTally, Grouping, Stolen, Unknown, add_nodes, add_sums, summands
from analysis.budget.variant import BudgetedVariant
from analysis.budget.waits import Waits
from analysis.engines.arrays import keyed_lists, row_of
from analysis.judging.delay_stage import DELAYS, delays_of_variants
from analysis.judging.journeys.notified_ways import ArrivalColumn, NoticeColumn, PublishingColumn
from analysis.judging.journeys.paths import NO_ARRIVAL
from analysis.reading.event_table import Truths
from analysis.tables.histogram import CLASSES_PER_DECADE, SMALLEST_MS
from record.time_units import MILLISECOND, SECOND

BUDGETED = pa.schema(
    [
        *BudgetTally().schema(),
        ("without_access", pa.list_(pa.struct(list(DELAYS)))),
        ("replayed", pa.list_(pa.struct(list(REPLAY)))),
    ]
)
"""The results for a bucket: a tally, delays without access links of variants whose clients are on sites, and parts of
the replays of variants."""
CLIENTS = "clients"
"""The node that stands for a driver which is not known."""
_SHARES = (
    (PassageColumn.BY_SENDER, PassageColumn.REST_OF_SENDER),
    (PassageColumn.BY_RELAY, PassageColumn.REST_OF_RELAY),
    (PassageColumn.BY_FAR_RELAY, PassageColumn.REST_OF_FAR_RELAY),
)
"""The contention and the unexplained of nodes on a passage but its receiver, in the order of the way."""


@dataclass(frozen=True)
class BudgetStage:
    """Puts the passages and ways of one bucket together, and sums the parts of their delays."""

    variants: Sequence[BudgetedVariant]
    nodes: Sequence[str]
    """Brokers and drivers, by number."""

    def __call__(self, parts: pa.Table) -> pa.Table:
        tally = BudgetTally()
        ways = joined(parts)
        replayed: dict[int, _Replayed] = {}
        without_access: dict[int, Numbers] = {}
        for number, variant in enumerate(self.variants):
            added = self._add(number, variant, ways.of_variant(number), tally)
            if added is None:
                continue
            if variant.asked.sites:
                without_access[number] = added.without_access
            if added.replayed is not None:
                replayed[number] = added.replayed
        rows = keyed_lists(
            REPLAY,
            [*replayed],
            publishings=[found.publishings for found in replayed.values()],
            ends=[found.ended for found in replayed.values()],
        )
        columns = [*tally.table().columns, row_of(delays_of_variants(without_access)), row_of(rows)]
        return pa.table(columns, schema=BUDGETED)

    def _add(self, number: int, variant: BudgetedVariant, ways: JoinedWays, tally: BudgetTally) -> _Added | None:
        """Adds the parts of one variant's delays; None where no way is known."""
        levels = _levels(ways.arrivals[:, ArrivalColumn.BEFORE])
        known = _known(ways, levels)
        if unknown := int(np.count_nonzero(~known)):
            tally.unknown.add(Unknown(number, unknown))
        if not known.any():
            return None
        numbered = NumberedNodes(self.nodes, variant.asked)
        names = (*numbered.names, CLIENTS)
        totals = NodeTotals(len(names))
        notices = ways.notices[known]
        found, replayed = _Budget(variant, ways, levels, notices, numbered, totals).parts()
        add_nodes(tally, number, names, totals.sums)
        intended = ways.made(notices, PublishingColumn.INTENDED)
        delay = np.maximum(found.sum(axis=1) / MILLISECOND, SMALLEST_MS)
        rows = summands(found)
        add_sums(tally, number, Grouping.ALL, np.zeros_like(intended), rows)
        add_sums(tally, number, Grouping.DELAY, np.floor(np.log10(delay) * CLASSES_PER_DECADE).astype(np.int64), rows)
        if (stolen := variant.asked.stolen) is not None:
            most = stolen.waited_at_most(intended, np.maximum(intended, notices[:, NoticeColumn.NOTIFIED]))
            may_be = np.maximum(found[:, [Part.CONTENTION, Part.UNEXPLAINED]], 0).sum(axis=1)
            tally.stolen.add(Stolen(number, int(np.minimum(most, may_be).sum())))
        if variant.full_sessions and variant.contention_known:
            for sums in beside_slow(number, variant, numbered.names, replace(ways, notices=notices), found):
                tally.beside_slow.add(sums)
        if variant.run_start is not None:
            second = (intended - variant.run_start) // SECOND
            add_sums(tally, number, Grouping.SECOND, np.where(second == -1, 0, second), rows)
        return _Added(found.sum(axis=1) - found[:, Part.ACCESS], replayed)


@dataclass(frozen=True, slots=True)
class _Added:
    """The figures of one variant's notifications that are no sums."""

    without_access: Numbers
    """The delay of each without the parts that access links took."""
    replayed: _Replayed | None
    """Not there for a variant that is not replayed."""


@dataclass(frozen=True, slots=True)
class _Replayed:
    """The beginnings and ends of one variant's ways, for its replay."""

    publishings: Numbers
    """Rows of `PublishingColumn`."""
    ended: Numbers
    """Rows of `EndColumn`."""


@dataclass(frozen=True, slots=True)
class _Budget:
    """The parts of the delays of one variant's notifications, whose ways are known."""

    variant: BudgetedVariant
    ways: JoinedWays
    levels: Sequence[Numbers]
    notices: Numbers
    nodes: NumberedNodes
    totals: NodeTotals
    """Filled by `parts`."""

    def parts(self) -> tuple[Numbers, _Replayed | None]:
        """The parts of each notification, one row each; and what a replay takes, of variants that are replayed."""
        arrivals, before = self.ways.arrivals, self.ways.arrivals[:, ArrivalColumn.BEFORE]
        asked = self.variant.asked
        waits = Waits(asked.processors, self.nodes.names, asked.time_dilation)
        rest = NodesAtRest(self.variant, self.nodes.names)
        ended = self.notices[:, NoticeColumn.ARRIVAL]
        weights = np.bincount(ended, minlength=len(arrivals))
        for level in reversed(self.levels[1:]):
            np.add.at(weights, before[level], weights[level])
        first = self.levels[0][self.ways.known[self.levels[0]]]
        made, come = self._from_publishers(first, rest, waits)
        self.totals.add(made, weights[first])
        levels = [first, *(level[weights[level] > 0] for level in self.levels[1:])]
        onward = np.concatenate([levels[0][:0], *levels[1:]])
        passages = self.ways.passages.T.take(self.ways.passage[onward], axis=1).T
        passed = self._passed(passages)
        stays = self._stays(before[onward], passages[:, PassageColumn.BEGIN])
        struck = self._struck(stays.broker, stays.turn, stays.end)
        stayed = inside_of_brokers(stays, struck, self.variant, rest, waits)
        for cut in (passed, stayed):
            self.totals.add(cut, weights[onward])
        parts = np.concatenate((made.parts, passed.parts + stayed.parts))
        sums, places = _summed(np.ascontiguousarray(parts), levels, before)
        notified, remaining = to_client(self._notifications(), rest, waits)
        self.totals.add(notified, np.ones(len(ended), dtype=np.int64))
        parts = sums.take(places[ended], axis=0) + notified.parts
        if not self.variant.replayed:
            return parts, None
        intended = self.ways.made(self.notices, PublishingColumn.INTENDED)
        return parts, _Replayed(
            np.column_stack((*self._turns(first), come)),
            np.column_stack((*self._turns(ended), remaining, intended)),
        )

    def _turns(self, arrivals: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Brokers, messages and times of turns."""
        rows = self.ways.arrivals[arrivals]
        messages = self.ways.made(rows, PublishingColumn.MESSAGE)
        return rows[:, ArrivalColumn.BROKER], messages, rows[:, ArrivalColumn.TIME]

    def _stays(self, arrivals: Numbers, end: Numbers) -> Stays:
        rows = self.ways.arrivals[arrivals]
        return Stays(rows[:, ArrivalColumn.BROKER], rows[:, ArrivalColumn.TIME], rows[:, ArrivalColumn.ROUTING], end)

    def _notifications(self) -> Notifications:
        last = self._stays(self.notices[:, NoticeColumn.ARRIVAL], self.notices[:, NoticeColumn.NOTIFIED])
        struck = self._struck(last.broker, last.turn, last.end)
        access = AccessLinks.to_clients(self.variant.asked.sites)
        sites = self.notices[:, NoticeColumn.SITE]
        drivers = self.nodes.notified(last.broker, sites)
        access_struck = struck_access(self.variant.asked, sites, last.turn, last.end)
        return Notifications(last, self.notices[:, NoticeColumn.LEFT], drivers, struck, sites, access, access_struck)

    def _from_publishers(self, first: Numbers, rest: NodesAtRest, waits: Waits) -> tuple[Cut, Numbers]:
        """The ways to the publishers' brokers."""
        arrivals, passage = self.ways.arrivals[first], self.ways.passage[first]
        made = self.ways.publishings[arrivals[:, ArrivalColumn.PUBLISHING]]
        broker, turn = arrivals[:, ArrivalColumn.BROKER], arrivals[:, ArrivalColumn.TIME]
        published = made[:, PublishingColumn.PUBLISHED]
        took = self.ways.passages[passage, PassageColumn.CAME] - published
        if not self.variant.simulated:  # a real broker logs an arrival when its event loop has the message
            took -= rest.submit(broker).bounds[1]
        sites = made[:, PublishingColumn.SITE]
        access_struck = struck_access(self.variant.asked, sites, published, turn)
        access = AccessLinks.to_brokers(self.variant.asked.sites).explained(sites, took, access_struck)
        return from_publisher(
            Publishings(
                made[:, PublishingColumn.PUBLISHER],
                made[:, PublishingColumn.INTENDED],
                published,
                access,
                broker,
                turn,
                self.ways.passages[passage, PassageColumn.BEGIN],
                self.ways.passages[passage, PassageColumn.COST],
                self._struck(broker, published, turn),
            ),
            self.variant,
            rest,
            waits,
        )

    def _struck(self, brokers: Numbers, begin: Numbers, end: Numbers) -> Truths:
        struck = np.zeros(len(brokers), dtype=np.bool_)
        for number, node in enumerate(self.nodes.names):
            times = self.variant.asked.struck.get(node)
            if times:
                own = brokers == number
                struck[own] = ~untouched(begin[own], end[own], times)
        return struck

    def _passed(self, passages: Numbers) -> Cut:
        """Passages over links, which were cut where the receivers' messages were at hand."""
        parts = passages[:, PassageColumn.PARTS :]
        sender, receiver = passages[:, PassageColumn.SENDER], passages[:, PassageColumn.BROKER]
        nodes = [sender, *self.nodes.relays(sender, receiver)]
        shares = [
            NodeShare(node, passages[:, contention], passages[:, unexplained])
            for node, (contention, unexplained) in zip(nodes, _SHARES, strict=False)
        ]
        by_receiver = parts[:, Part.CONTENTION] - sum(share.contention for share in shares)
        rest = parts[:, Part.UNEXPLAINED] - sum(share.unexplained for share in shares)
        return Cut(parts, [*shares, NodeShare(receiver, by_receiver, rest)])


def _known(ways: JoinedWays, levels: Sequence[Numbers]) -> Truths:
    """True for the notifications whose whole way is known."""
    known = ways.known.copy()
    for level in levels[1:]:
        known[level] &= known[ways.arrivals[level, ArrivalColumn.BEFORE]]
    ended = ways.notices[:, NoticeColumn.ARRIVAL]
    found = ended != NO_ARRIVAL
    found[found] = known[ended[found]]
    return np.asarray(found)


def _summed(rows: Numbers, levels: Sequence[Numbers], before: Numbers) -> tuple[Numbers, Numbers]:
    """The sums of rows along the ways, each added to that of the arrival before it; and the place of each arrival in
    them. Rows are those of the arrivals in levels, one level after another."""
    places = np.zeros(len(before), dtype=np.int64)
    places[np.concatenate(levels)] = np.arange(len(rows))
    end = len(levels[0])
    for level in levels[1:]:
        begin, end = end, end + len(level)
        rows[begin:end] += rows.take(places[before[level]], axis=0)
    return rows, places


def _levels(before: Numbers) -> list[Numbers]:
    """The arrivals by the number of those before them on the way."""
    depth = np.zeros(len(before), dtype=np.int16)
    deeper, ahead = np.arange(len(before)), before
    while len(deeper := deeper[ahead != NO_ARRIVAL]):
        depth[deeper] += 1
        ahead = before[ahead[ahead != NO_ARRIVAL]]
    return np.split(np.argsort(depth, kind="stable"), np.cumsum(np.bincount(depth))[:-1])
