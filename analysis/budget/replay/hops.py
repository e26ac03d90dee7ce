"""The hops of a replay, made of the messages that came over links and of those that came otherwise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.auditing.hops.table import Numbers
from analysis.budget.at_rest import LatencyAtNodes, NodesAtRest
from analysis.budget.links import Range
from analysis.budget.records import Records
from analysis.budget.replay.rows import HopColumn, handling
from analysis.budget.variant import BudgetedVariant
from analysis.budget.waits import Waits, at_most, likely
from analysis.reading.event_table import NOBODY, Truths
from record.time_units import MILLISECOND

_PACE = 2 * MILLISECOND
"""Real nanoseconds between the frames of a busy link, in which what comes meanwhile waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """Messages that came over links."""

    variant: BudgetedVariant
    rest: NodesAtRest
    waits: Waits
    sent: Records
    free: Numbers
    """The time at which the message ahead had been written; `UNKNOWN` for none."""
    sending: Numbers
    """The link's send time."""
    ranges: Range
    over_link: Numbers
    """The time on the link."""
    due: Numbers
    """The time at which a message would have crossed the link as asked for."""
    received: Records
    begun: Numbers
    """The receiver's turn before, if that was later."""
    fixed: Numbers
    """The receiver's time for it: work, and modelled service."""
    beyond: Numbers
    """The time that it took besides, without contention."""
    faulty: Numbers
    """Waiting for a fault."""
    struck: Truths
    """True where there was one."""

    def hops(self) -> Numbers:
        """The rows of `HopColumn`."""
        sent, received, variant = self.sent, self.received, self.variant
        latency = self.rest.link(received.node)
        waited = self.begun - self.due
        ready, own = handling(waited, self._worked(waited, latency), self.fixed, latency, variant)
        kept, waited = self._in_queue()
        hops = np.zeros((len(sent), len(HopColumn)), dtype=np.int64)
        for column, numbers in (
            (HopColumn.BROKER, received.node),
            (HopColumn.MESSAGE, received.message),
            (HopColumn.TURN, received.time),
            (HopColumn.SENDER, sent.node),
            (HopColumn.ENTERED, sent.entered),
            (HopColumn.LEAVING, self._leaving(kept, waited)),
            (HopColumn.SENDING, self.sending),
            (HopColumn.SERIALISED, np.rint(self.ranges.serialised)),
            (HopColumn.TRAVELLING, self._travelling(waited)),
            (HopColumn.DUE, self.due),
            (HopColumn.READY, ready + self.faulty),
            (HopColumn.OWN, own),
            (HopColumn.ACKNOWLEDGED, self._acknowledged(kept)),
        ):
            hops[:, column] = numbers
        return hops

    def _worked(self, waited: Numbers, latency: LatencyAtNodes) -> Numbers:
        """The time beyond, which is work where the latency was over before: no more of it than the receiver ran."""
        beyond, (_, _, most) = self.beyond.copy(), latency.bounds
        over = np.flatnonzero(waited >= most)
        ran = self.waits.ran(self.received.node[over], self.begun[over], self.received.time[over])
        beyond[over] = np.minimum(beyond[over], ran)
        return beyond

    def _in_queue(self) -> tuple[Numbers, Numbers]:
        """The time in the queue while nothing was ahead, and the sender's waiting for a processor meanwhile."""
        sent = self.sent
        begin = np.maximum(sent.entered, self.free)
        return sent.time - begin, self.waits.of(at_most, sent.node, begin, sent.time)

    def _leaving(self, kept: Numbers, waited: Numbers) -> Numbers:
        """The time for which nothing but the pace of the link or a fault keeps each message in the queue.

        A link that waits for acknowledgements keeps them, too, but there they only wait for what is ahead. A time as
        long as a handling is the broker's own work, however long it waited besides.
        """
        pace = round(_PACE / self.variant.asked.time_dilation)
        waited = np.minimum(waited, np.maximum(kept - self.rest.handling(self.sent.node), 0))
        return np.where(self.struck, kept, np.minimum(kept - waited, pace))

    def _acknowledged(self, kept: Numbers) -> Numbers:
        """The time for which the acknowledgement of the one ahead keeps each message, where a link has one in flight:
        no more than the way there and back takes, as asked. As that explains it, waits count where they are likely."""
        if not self.variant.acknowledged_singly:
            return np.zeros_like(kept)
        sent = self.sent
        waited = self.waits.of(likely, sent.node, np.maximum(sent.entered, self.free), sent.time)
        there_and_back = np.rint(np.minimum(2 * self.ranges.longest, kept)).astype(np.int64)
        return np.where(self.free > sent.entered, np.clip(kept - waited, 0, np.maximum(there_and_back, 0)), 0)

    def _travelling(self, waited: Numbers) -> Numbers:
        """Delay and jitter. A message travels until its whole frame is through, but not with what came while it
        `waited` for the sender."""
        behind = np.rint(self.ranges.behind).astype(np.int64)
        return self.ranges.travelling(self.over_link) + np.where(waited > 0, 0, behind)


def without_passage(received: Records, cost: Numbers) -> Numbers:
    """The hops of messages of which it is not known when they should have come: they come when they came."""
    hops = np.zeros((len(received), len(HopColumn)), dtype=np.int64)
    hops[:, HopColumn.BROKER], hops[:, HopColumn.MESSAGE] = received.node, received.message
    hops[:, HopColumn.SENDER] = NOBODY
    hops[:, HopColumn.TURN], hops[:, HopColumn.DUE] = received.time, received.time - cost
    hops[:, HopColumn.OWN] = cost
    return hops
