"""The parts of every passage of a publication over a link, by bucket of receiving brokers.

A passage is the time from the output queue of one broker (Q) to the turn at the next (R). The message left the queue
(L), was written to the link (W), came out of it (A, which real brokers log when their event loop has it), and had its
turn. Its time is cut at these instants, and at two more: when the link as asked was through with it, and at the
receiver's turn before.

1. Q to L is waiting for the link; what the kernel counts since the link was free is contention.
2. L to W is the link's send time.
3. W to the end of what the link as asked is likely to have taken is the link.
4. From there to the receiver's turn before is waiting for the broker's earlier work, less what the kernel counts;
   unexplained where the broker did not work.
5. From there to R are modelled service, work and platform, as they are at rest. What remains is contention as far as
   receiver, sender or relay waited for a processor meanwhile, and else unexplained. During faults it is waiting, and
   so is what quotas of sender and receiver took, here and in 1 and 2.

In 1 and 4 there is an explanation without the host, so waits count where they are likely to have been; in 5 there is
none, so they count up to the time that is to be explained. No time is counted twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from analysis.auditing.hops.asked import Times, untouched
from analysis.auditing.hops.table import HopTable, Numbers
from analysis.budget.at_rest import NodesAtRest
from analysis.budget.links import Range, ranges_of
from analysis.budget.numbered_nodes import NumberedNodes
from analysis.budget.parts import PASSAGE, Part, PassageColumn
from analysis.budget.records import (
    Direction,
    Records,
    costs_of,
    earlier_turns,
    facts_of,
    keys_over_links,
    matched,
    sent_and_received,
)
from analysis.budget.replay.hops import Passed, without_passage
from analysis.budget.replay.rows import REPLAY, HopColumn
from analysis.budget.variant import BudgetedVariant
from analysis.budget.waits import Waits, at_most, likely
from analysis.engines.arrays import gathered_lists, keyed_lists
from analysis.judging.journeys.notified_ways import WAYS
from analysis.reading.event_table import NOBODY, Truths
from analysis.reading.message_keys import bucket_of_key
from analysis.reading.publication_events import UNKNOWN
from broker_service.messages import Kind
from record.time_units import MILLISECOND

_PUBLISH = Kind.PUBLISH.word
_NO_KEYS = np.empty(0, dtype=np.int64)
_ROWS_AT_ONCE = 32 << 10
"""Rows of receivers that are read together, which takes up to 300 bytes for each."""
_CUT_AT_ONCE = 8 << 10
"""Passages that are cut together, which takes some 500 bytes for each."""
_CLOSE = MILLISECOND
"""Real nanoseconds before writing in which a wait made a drawn send time longer."""


@dataclass(frozen=True)
class PassageStage:
    """Stage that reads the passages of messages from broker to broker in one bucket of the log.

    The rows of one publication go to the same bucket as the ways of its notifications.
    """

    variants: Sequence[BudgetedVariant]
    nodes: Sequence[str]
    buckets: int

    def __call__(self, table: HopTable) -> tuple[pa.Table, pa.Table]:
        """Rows of `WAYS`, and rows of `REPLAY` for all messages of the variants that are replayed."""
        kinds = list(dict.fromkeys(place.kind for place in table.places))
        facts = facts_of(table.places, self.nodes, kinds)
        variants = [_Variant.of(variant, self.nodes, kinds) for variant in self.variants]
        passages: list[Numbers] = []
        hops: defaultdict[int, list[Numbers]] = defaultdict(list)
        for number, rows in table.pieces(_ROWS_AT_ONCE):
            variant = self.variants[number]
            if variant.asked.whole_log:
                own, of_replay = _rows_of(variants[number], *sent_and_received(rows, facts))
                for piece in own:
                    piece[:, PassageColumn.VARIANT] = number
                passages += own
                if variant.replayed:
                    hops[number] += of_replay
        keys = np.concatenate([_NO_KEYS, *(rows[:, PassageColumn.MESSAGE] for rows in passages)])
        ways = gathered_lists(WAYS, "passages", bucket_of_key(keys, self.buckets), passages)
        return ways, keyed_lists(REPLAY, [*hops], hops=[np.concatenate(hops.pop(number)) for number in [*hops]])


@dataclass(frozen=True, slots=True)
class _Variant:
    """One variant, its waits, and the names that numbers stand for."""

    budgeted: BudgetedVariant
    numbered: NumberedNodes
    rest: NodesAtRest
    waits: Waits
    nodes: Sequence[str]
    kinds: Sequence[str]

    @classmethod
    def of(cls, variant: BudgetedVariant, nodes: Sequence[str], kinds: Sequence[str]) -> _Variant:
        numbered = NumberedNodes(nodes, variant.asked)
        waits = Waits(variant.asked.processors, numbered.names, variant.asked.time_dilation)
        return cls(variant, numbered, NodesAtRest(variant, nodes), waits, nodes, kinds)


def _rows_of(of: _Variant, sent: Records, received: Records) -> tuple[list[Numbers], list[Numbers]]:
    """The passages of publications to some brokers in one variant, and the hops of all messages for its replay, both in
    pieces."""
    variant, nodes, kinds = of.budgeted, of.nodes, of.kinds
    before, cost = earlier_turns(received), costs_of(received, variant, of.rest, kinds)
    publications = received.is_kind(_PUBLISH, kinds)
    from_clients = publications & (received.peer == NOBODY)
    clients = np.zeros((int(from_clients.sum()), PASSAGE), dtype=np.int64)
    clients[:, PassageColumn.MESSAGE] = received.message[from_clients]
    clients[:, PassageColumn.BROKER] = received.node[from_clients]
    clients[:, PassageColumn.TIME] = received.time[from_clients]
    clients[:, PassageColumn.BEGIN] = before[from_clients]
    clients[:, PassageColumn.SENDER] = NOBODY
    clients[:, PassageColumn.COST] = cost[from_clients]
    clients[:, PassageColumn.CAME] = received.link_time[from_clients]
    directions = [*sent.directions(nodes)]
    ranges, known = ranges_of(sent, directions, variant)
    wanted = np.ones(len(received), dtype=np.bool_) if variant.replayed else publications
    choice = known if variant.replayed else sent.is_kind(_PUBLISH, kinds) & known
    over_links = np.flatnonzero(wanted & (received.peer != NOBODY))
    chosen = np.flatnonzero(choice)
    departures, arrivals = matched(
        keys_over_links(sent.message[chosen], sent.node[chosen], sent.peer[chosen], len(nodes)),
        keys_over_links(received.message[over_links], received.peer[over_links], received.node[over_links], len(nodes)),
    )
    departed, arrived = chosen[departures], over_links[arrivals]
    spans = _Spans(departed, sent.time[departed], received.time[arrived])
    struck, quicker = (
        spans.struck(directions, times) for times in (variant.asked.struck_on_link, variant.asked.struck_direction)
    )
    free, rows, hops = sent.free_before(variant.sending), [], []
    for begin in range(0, len(departed), _CUT_AT_ONCE):
        together = slice(begin, begin + _CUT_AT_ONCE)
        here, there = departed[together], arrived[together]
        left, came = sent.take(here), received.take(there)
        cut = _Cut(
            variant,
            of.rest,
            of.waits,
            of.numbered.relays(left.node, came.node),
            left,
            free[here],
            ranges.take(here).quicker(quicker[together]),
            came,
            before[there],
            cost[there],
            struck[together],
        )
        passed, of_replay = cut.rows()
        rows.append(passed[publications[there]] if variant.replayed else passed)
        hops.append(of_replay)
    others = np.full(len(received), variant.replayed)
    others[arrived] = False
    hops.append(without_passage(received.take(others), cost[others]))
    return [*rows, clients], hops


@dataclass(frozen=True, slots=True)
class _Spans:
    """The times of messages on their ways over links, in the order of directions."""

    places: Numbers
    """The places of their sending, among all."""
    begin: Numbers
    end: Numbers

    def struck(self, directions: Sequence[Direction], times_of: Callable[[str, str], Times]) -> Truths:
        """True for each during which a fault was on its direction, whose times `times_of` gives."""
        struck = np.zeros(len(self.places), dtype=np.bool_)
        firsts = np.searchsorted(self.places, [direction.begin for direction in directions]).tolist()
        for direction, first, end in zip(directions, firsts, [*firsts, len(self.places)][1:], strict=True):
            if first < end and (times := times_of(direction.source, direction.target)):
                struck[first:end] = ~untouched(self.begin[first:end], self.end[first:end], times)
        return struck


@dataclass(frozen=True, slots=True)
class _Cut:
    """Passages over links, each cut into its parts."""

    variant: BudgetedVariant
    rest: NodesAtRest
    waits: Waits
    relays: Sequence[Numbers]
    """The relays on the way, in its order."""
    sent: Records
    free: Numbers
    """The time at which the message ahead had been written; `UNKNOWN` for none."""
    ranges: Range
    received: Records
    before: Numbers
    """The receiver's turn before."""
    cost: Numbers
    struck: Truths

    def rows(self) -> tuple[Numbers, Numbers]:
        """The rows, without the variant's number, and the hops for a replay."""
        sent, received, waits = self.sent, self.received, self.waits
        rows = np.zeros((len(sent), PASSAGE), dtype=np.int64, order="F")
        parts = rows[:, PassageColumn.PARTS :]
        begin, written, turn = sent.entered, sent.link_time, received.time
        # 1 and 2: with the sender
        queued = waits.of(likely, sent.node, np.maximum(begin, self.free), sent.time)
        late, unexplained = self._sending()
        sending = written - sent.time - late - unexplained
        stopped = waits.stopped(sent.node, begin, sent.time)
        unexplained += np.where(self.struck, 0, np.minimum(stopped, sent.time - begin - queued))
        parts[:, Part.WAITING_FOR_LINKS] = written - begin - queued - late - unexplained
        by_sender = queued + late
        # 3 and 4: over the link, and behind the receiver's earlier work
        parts[:, Part.LINKS] = self._over_link()
        due = written + parts[:, Part.LINKS]
        begun = np.clip(self.before, due, np.maximum(due, turn))
        earlier = waits.of(likely, received.node, due, begun)
        idle = waits.not_working(self.variant.service, received.node, due, begun, earlier)
        idle[self.struck] = 0
        parts[:, Part.WAITING_AT_BROKERS] = begun - due - earlier - idle
        carried_late = self._by_relays(idle, partial(waits.of, at_most), begun)
        idle = idle - sum(carried_late)
        # 5: service, work and platform as at rest, and what is beyond
        own = turn - begun
        parts[:, Part.WORK] = self.cost
        parts[:, Part.PLATFORM] = self.rest.link(received.node).beyond(begun - due)
        served = own - self.cost - parts[:, Part.PLATFORM] - waits.stopped(received.node, begun, turn)
        service = self.variant.served(served)
        beyond = own - self.cost - parts[:, Part.PLATFORM] - service
        faulty = np.where(self.struck, np.maximum(beyond, 0), self._held_back(beyond, begun))
        held_back = np.minimum(self._held_back_sending(), np.maximum(parts[:, Part.WAITING_FOR_LINKS], 0))
        parts[:, Part.WAITING_FOR_LINKS] -= held_back
        parts[:, Part.WAITING_AT_BROKERS] += service + faulty + held_back
        beyond -= faulty
        excess = np.maximum(beyond, 0)
        by_receiver = np.minimum(excess, waits.of(at_most, received.node, begun, turn))
        left = excess - by_receiver
        after_writing = np.minimum(left, waits.of(at_most, sent.node, written, np.minimum(written + left, turn)))
        left -= after_writing
        read_late = self._by_relays(left, partial(waits.of, at_most), turn)
        by_relays = [sum(late) for late in zip(carried_late, read_late, strict=True)]
        parts[:, Part.CONTENTION] = by_sender + earlier + by_receiver + after_writing + sum(by_relays)
        parts[:, Part.UNEXPLAINED] = unexplained + idle + beyond - by_receiver - after_writing - sum(read_late)
        rest = left - sum(read_late) + idle
        rest -= np.minimum(rest, waits.stopped(received.node, due, turn))
        rest_of_sender = np.minimum(rest, waits.stopped(sent.node, written, np.minimum(written + rest, turn)))
        rest_of_relays = self._by_relays(rest - rest_of_sender, waits.stopped, turn)
        for column, numbers in (
            (PassageColumn.MESSAGE, received.message),
            (PassageColumn.BROKER, received.node),
            (PassageColumn.TIME, turn),
            (PassageColumn.BEGIN, begin),
            (PassageColumn.SENDER, sent.node),
            (PassageColumn.BY_SENDER, by_sender + after_writing),
            *zip((PassageColumn.BY_RELAY, PassageColumn.BY_FAR_RELAY), by_relays, strict=False),
            (PassageColumn.REST_OF_SENDER, unexplained + rest_of_sender),
            *zip((PassageColumn.REST_OF_RELAY, PassageColumn.REST_OF_FAR_RELAY), rest_of_relays, strict=False),
        ):
            rows[:, column] = numbers
        if not self.variant.replayed:
            return rows, np.empty((0, len(HopColumn)), dtype=np.int64)
        beyond_own = parts[:, Part.PLATFORM] + beyond - by_receiver - after_writing - sum(read_late)
        beyond_own -= np.minimum(np.maximum(beyond_own, 0), waits.stopped(received.node, begun, turn))
        passed = Passed(
            variant=self.variant,
            rest=self.rest,
            waits=waits,
            sent=sent,
            free=self.free,
            sending=sending,
            ranges=self.ranges,
            over_link=parts[:, Part.LINKS],
            due=due,
            received=received,
            begun=begun,
            fixed=self.cost + service,
            beyond=beyond_own,
            faulty=faulty,
            struck=self.struck,
        )
        return rows, passed.hops()

    def _over_link(self) -> Numbers:
        """The time of each on its link, as is likely beside the latency and the work that are ahead of a real broker's
        logged arrival. Waiting of the receiver or a relay is no jitter."""
        written, arrived = self.sent.link_time, self.received.link_time
        quickest, mean, _ = self.rest.before_arrival(self.received.node).bounds
        took = arrived - written
        if not self.variant.simulated and self.variant.modelled:
            took -= mean + np.maximum(self.cost - (self.received.time - arrived), 0)
        late = self.ranges.late(took)
        some = np.flatnonzero(late)
        begin = written[some] + took[some] - late[some]
        nodes = (self.received.node, *self.relays)
        waited = sum(self.waits.of(at_most, node[some], begin, arrived[some]) for node in nodes)
        took[some] -= np.minimum(late[some], waited)
        return self.ranges.explained(took, mean - quickest)

    def _by_relays(
        self, left: Numbers, look: Callable[[Numbers, Numbers, Numbers], Numbers], until: Numbers
    ) -> list[Numbers]:
        """The share of each relay in time that is left since writing, as far as it waited or was stopped."""
        shares = []
        for relay in self.relays:
            shares.append(np.minimum(left, look(relay, self.sent.link_time, until)))
            left = left - shares[-1]
        return shares

    def _held_back(self, beyond: Numbers, begun: Numbers) -> Numbers:
        """The time that quotas of receiver and sender took of what nothing else at rest explains."""
        sent, received = self.sent, self.received
        excess = np.maximum(beyond, 0)
        at_receiver = np.minimum(excess, self.waits.held_back(at_most, received.node, begun, received.time))
        until = np.minimum(sent.link_time + excess - at_receiver, received.time)
        at_sender = self.waits.held_back(at_most, sent.node, sent.link_time, until)
        return np.asarray(at_receiver + np.minimum(excess - at_receiver, at_sender))

    def _held_back_sending(self) -> Numbers:
        """The time that the sender's quota took until the message was written."""
        begin = np.maximum(self.sent.entered, self.free)
        return self.waits.held_back(likely, self.sent.node, begin, self.sent.link_time)

    def _sending(self) -> tuple[Numbers, Numbers]:
        """Contention and the unexplained in the time from leaving the queue to writing.

        A constant send time shows what is beyond it. A drawn one does not: of it, only what the kernel counts next to
        writing is told apart.
        """
        sent = self.sent
        took = sent.link_time - sent.time
        constant = self.ranges.send_time
        close = round(_CLOSE / self.variant.asked.time_dilation)
        drawn = constant == UNKNOWN
        due = np.where(drawn, np.maximum(sent.link_time - close, sent.time), sent.time + np.minimum(constant, took))
        waited = self.waits.of(at_most, sent.node, due, sent.link_time)
        stopped = self.waits.stopped(sent.node, sent.time, sent.link_time)
        beyond = took - constant - waited
        beyond -= np.minimum(np.maximum(beyond, 0), self.waits.held_back(at_most, sent.node, due, sent.link_time))
        rest = np.where(drawn, np.minimum(stopped, took - waited), beyond)
        return waited, np.where((took > 0) & ~self.struck, rest, 0)
