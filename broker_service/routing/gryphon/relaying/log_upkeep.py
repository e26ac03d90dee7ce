"""Upkeep of the log of a broker's own stream, after each publication and each acknowledgement.

1. Publications that are owed to no leaf any more are forgotten, and what is given up (`publisher_log`).
2. While the log is full, publishers wait.
3. While some leaf has not acknowledged all positions, the end of the stream is announced every `head_every` seconds,
   because no later publication shows what was lost last. While none of these leaves can be reached, nothing waits for
   that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from broker_service.routing.gryphon.options import GryphonOptions
from broker_service.routing.gryphon.overlay import NodeNumber
from broker_service.routing.gryphon.relaying.forwarding import Forwarding
from broker_service.routing.gryphon.streams.publications import Cached
from broker_service.routing.gryphon.streams.publisher_log import PublisherLog
from broker_service.routing.gryphon.streams.state import StreamState
from broker_service.routing.gryphon.timer_keys import AnnounceEnd
from broker_service.routing.gryphon.virtual_time import VirtualTime
from broker_service.routing.interface import (
    Action,
    CancelTimer,
    HoldPublishers,
    ReleasePublishers,
    RouterContext,
    SetTimer,
)


class LogUpkeep:
    """The rules by which the log of a broker's own stream is trimmed, publishers wait, and the stream's end is
    announced."""

    def __init__(self, log: PublisherLog, forwarding: Forwarding, most_bytes: int) -> None:
        """`most_bytes` are the bytes with which the log is full."""
        self._log = log
        self._forwarding = forwarding
        self._most_bytes = most_bytes
        self._announcing = False
        """True while the timer runs by which the end is announced."""
        self._holding = False
        """True while publishers wait."""

    def publication_added(self) -> list[Action]:
        """Follows the rules after a publication, with which nothing changes as long as a leaf is owed all of the log
        and the end is being announced."""
        log = self._log
        if self._announcing and log.is_owed and not self._holding and log.account < self._most_bytes:
            return []
        return self.tend()

    def acknowledged(self, leaves: Mapping[NodeNumber, int], idle: Mapping[NodeNumber, VirtualTime]) -> list[Action]:
        """Leaves have acknowledged positions of the stream, or have no use for any up to a time."""
        for leaf, position in leaves.items():
            self._log.acknowledge(leaf, position, self._forwarding.now())
        for leaf, time in idle.items():
            self._log.dismiss(leaf, time)
        return self.tend()

    def kept(self, start: int, end: int, most: int) -> list[tuple[int, Cached]]:
        """The first publications of a range that the log has, at most `most` of them."""
        leaf = self._forwarding.view.leaf
        return [
            (position, Cached(entry.message(), entry.digest, leaf))
            for position, entry in self._log.publications.within(start, end, most)
        ]

    def tend(self) -> list[Action]:
        """Follows the three rules after a change of the log."""
        log = self._log
        actions = log.trim(self._forwarding.now())
        state = self._forwarding.state(self._forwarding.view.leaf)
        state.lost = log.lost
        state.forget_below(log.publications.first)
        full = log.account >= self._most_bytes
        if full != self._holding:
            self._holding = full
            actions.append(HoldPublishers(f"{log.account} bytes are not acknowledged") if full else ReleasePublishers())
        lacks = log.lacks
        if lacks and not self._announcing:
            actions.append(self._announce_end_later(log.lacking()))
        elif not lacks and self._announcing:
            self._announcing = False
            actions.append(CancelTimer(AnnounceEnd()))
        return actions

    def announce_end(self) -> list[Action]:
        """The timer has run out: announces the end to the leaves that have not acknowledged it."""
        self._announcing = False
        log, now = self._log, self._forwarding.now()
        lacking = log.lacking()
        if not lacking:
            return []
        leaf = self._forwarding.view.leaf
        nodes = self._forwarding.state(leaf).downstream
        actions, unreachable = self._forwarding.announce_end(leaf, nodes, lacking)
        for each in unreachable:
            log.acknowledge(each, 0, now)
        self._announcing = True
        return [*actions, self._announce_end_later(lacking), *self.tend()]

    def _announce_end_later(self, lacking: Iterable[NodeNumber]) -> Action:
        self._announcing = True
        is_awaited = any(self._log.debts.is_reachable(leaf) for leaf in lacking)
        return SetTimer(AnnounceEnd(), self._forwarding.options.head_every, awaited=is_awaited)


def recovered_log(
    context: RouterContext[GryphonOptions], stream: StreamState, leaf: NodeNumber, most_bytes: int
) -> PublisherLog:
    """The log with all that former incarnations of a broker have stored; the state of its stream follows it."""
    options = context.options
    log = PublisherLog(
        context.incarnation,
        context.storage.values,
        stream.vectors,
        options.recognised,
        options.forget_after,
        most_bytes=most_bytes,
    )
    stream.end, stream.lost = log.publications.next, log.lost
    for start, end in log.publications.skipped:
        stream.silence(stream.downstream, start, end)
    stream.forget_below(log.publications.first)
    log.acknowledge(leaf, log.publications.next, 0.0)
    return log
