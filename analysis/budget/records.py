"""Records of messages at the ends of links, of many directions at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from analysis.auditing.hops.table import Numbers
from analysis.budget.at_rest import NodesAtRest
from analysis.budget.order import order_of
from analysis.budget.variant import BudgetedVariant
from analysis.reading.event_table import NOBODY, Truths
from analysis.reading.hop_events import HopColumn, HopPlace
from analysis.reading.publication_events import UNKNOWN
from record.log import Event
from record.service_time import SendingOrder

_MIXED = 0x5DEECE66D
"""An odd number, by which the numbers of directions differ in all bits of a key."""


class Direction(NamedTuple):
    """A direction of a link, and the slice of its records (`begin` to `end`) in a table sorted by direction."""

    source: str
    target: str
    begin: int
    end: int

    @property
    def places(self) -> slice:
        return slice(self.begin, self.end)


@dataclass(frozen=True, slots=True)
class Records:
    """Records by column. Nodes and kinds are numbers; times in nanoseconds."""

    node: Numbers
    peer: Numbers
    kind: Numbers
    message: Numbers
    time: Numbers
    link_time: Numbers
    """Time of writing or arrival; `time` where the record states none."""
    duration: Numbers
    """0 where it is not known."""
    bytes: Numbers

    @classmethod
    def of(cls, rows: Numbers, chosen: Numbers, facts: Numbers) -> Self:
        """The records of the chosen rows of `hop_events`, in the order chosen. `facts` are those of all places."""
        place, message, time, link_time, duration, size = (rows[chosen, column] for column in HopColumn)
        _, node, peer, kind = (column[place] for column in np.ascontiguousarray(facts.T))
        return cls(
            node,
            peer,
            kind,
            message,
            time,
            np.where(link_time == UNKNOWN, time, link_time),
            np.where(duration == UNKNOWN, 0, duration),
            size,
        )

    def __len__(self) -> int:
        return len(self.node)

    def take(self, chosen: Numbers | Truths) -> Self:
        """The chosen records, in the order chosen."""
        return type(self)(*(getattr(self, column.name)[chosen] for column in fields(self)))

    def is_kind(self, kind: str, kinds: Sequence[str]) -> Truths:
        if kind not in kinds:
            return np.zeros(len(self), dtype=np.bool_)
        return np.asarray(self.kind == kinds.index(kind))

    @property
    def entered(self) -> Numbers:
        """The time at which each sent message entered the output queue."""
        return self.time - self.duration

    def directions(self, nodes: Sequence[str]) -> Iterator[Direction]:
        """The directions of links on which messages were sent. The records must be sorted by direction."""
        if not len(self):
            return
        first = np.flatnonzero((np.diff(self.node, prepend=UNKNOWN) != 0) | (np.diff(self.peer, prepend=UNKNOWN) != 0))
        ends = np.append(first[1:], len(self))
        for source, target, begin, end in np.column_stack((self.node[first], self.peer[first], first, ends)).tolist():
            yield Direction(nodes[source], nodes[target], begin, end)

    def free_before(self, sending: SendingOrder) -> Numbers:
        """The time at which the message ahead had been written, of records in the order of directions and times;
        `UNKNOWN` where there was none. Messages that left together have the same one ahead.

        It is ahead on the same link, or at the same broker where links send in turn.
        """
        if sending is SendingOrder.IN_TURN:
            order = np.lexsort((self.time, self.node))
            free = np.empty_like(self.link_time)
            same = np.diff(self.node[order]) == 0
            free[order] = _last_of_former_group(same, self.time[order], self.link_time[order])
            return free
        same = (np.diff(self.node) == 0) & (np.diff(self.peer) == 0)
        return _last_of_former_group(same, self.time, self.link_time)


def sent_and_received(rows: Numbers, facts: Numbers) -> tuple[Records, Records]:
    """The records of what was sent, in the order of directions and times, and of what was received, in the order of
    receivers, turns and sources. `rows` are of `hop_events`, and `facts` those of all places."""
    sent, node, peer, _ = facts.T
    direction = node * (node.max(initial=0) + peer.max(initial=0) + 2) + peer
    place, time = rows[:, HopColumn.PLACE], rows[:, HopColumn.TIME]
    leaves = (sent == 1)[place]
    left, came = np.flatnonzero(leaves), np.flatnonzero(~leaves)
    left = left[_by_time(direction[place[left]], time[left])]
    came = came[np.argsort(peer[place[came]], kind="stable")]
    came = came[_by_time(node[place[came]], time[came])]
    return Records.of(rows, left, facts), Records.of(rows, came, facts)


def _by_time(groups: Numbers, times: Numbers) -> Numbers:
    """The places of records in the order of their groups, those of one group in the order of time."""
    if not len(groups):
        return groups
    least = int(times.min())
    span = int(times.max()) - least + 1
    if (int(groups.max()) + 1) * span >= 1 << 62:
        return np.lexsort((times, groups))
    return np.argsort(groups * span + (times - least), kind="stable")  # one key sorts in half of the time of two


def facts_of(places: Sequence[HopPlace], nodes: Sequence[str], kinds: Sequence[str]) -> Numbers:
    """A row for each place: 1 for a sender's, node, peer and kind, as numbers."""
    numbers: dict[str | None, int] = {name: number for number, name in enumerate(nodes)}
    of_kind = {kind: number for number, kind in enumerate(kinds)}
    facts = [
        (
            place.event is Event.SENT,
            numbers.get(place.node, NOBODY),
            numbers.get(place.peer, NOBODY),
            of_kind[place.kind],
        )
        for place in places
    ]
    return np.array(facts, dtype=np.int64).reshape(-1, 4)


def earlier_turns(received: Records) -> Numbers:
    """The time of each receiver's turn before, of records in the order of receivers and turns; `UNKNOWN` for none."""
    return _last_of_former_group(np.diff(received.node) == 0, received.time, received.time)


def costs_of(received: Records, variant: BudgetedVariant, rest: NodesAtRest, kinds: Sequence[str]) -> Numbers:
    """Work before the turn of each message, of records in the order of receivers, turns and sources.

    A simulated broker handles a frame as a whole, or a message at a time where these take a service time. A real one
    takes a frame in, and then its messages one by one; what the router takes comes after the turn.
    """
    work = rest.work(received.node, received.kind, kinds)
    if not len(work) or (variant.simulated and variant.service):
        return work
    frame = rest.frame(received.node)
    divided = (np.diff(received.node) != 0) | (np.diff(received.peer) != 0)
    if not variant.simulated:
        begins = np.concatenate(([True], divided | (np.diff(received.link_time) != 0)))
        return np.asarray(np.maximum(work + np.where(begins, frame, 0) - received.duration, 0))
    begins = np.concatenate(([True], divided | (np.diff(received.time) != 0)))
    return np.asarray(frame + np.add.reduceat(work, np.flatnonzero(begins))[np.cumsum(begins) - 1])


def keys_over_links(message: Numbers, source: Numbers, target: Numbers, nodes: int) -> Numbers:
    """A number for each message on each direction of a link."""
    return np.asarray(message ^ ((source * nodes + target) * _MIXED))


def matched(left: Numbers, came: Numbers) -> tuple[Numbers, Numbers]:
    """The places of messages that left and came once each or equally often, in the order of time, by their keys. They
    are in the order of those that left."""
    by_key = np.concatenate((order_of(left), order_of(came) + len(left)))
    keys = np.concatenate((left, came))[by_key]
    merged = np.argsort(keys, kind="stable")  # of two that are in order, which takes little time
    keys, order = keys[merged], by_key[merged]
    arrived = order >= len(left)
    group = np.cumsum(np.diff(keys, prepend=keys[:1]) != 0)
    of_group = np.bincount(group, minlength=1), np.bincount(group[arrived], minlength=len(group))
    often = of_group[1][group]
    places = np.flatnonzero(arrived & (of_group[0][group] == 2 * often))
    partner = np.full(len(left), NOBODY)
    partner[order[places - often[places]]] = order[places] - len(left)
    departed = np.flatnonzero(partner != NOBODY)
    return departed, partner[departed]


def _last_of_former_group(same: NDArray[np.bool_], time: Numbers, value: Numbers) -> Numbers:
    """The value of the last record of an earlier time, while `same` says that a record belongs to the one before."""
    if not len(time):
        return time
    begins = np.concatenate(([True], ~same | (np.diff(time) != 0)))
    first = np.maximum.accumulate(np.where(begins, np.arange(len(time)), 0))
    has_former = np.concatenate(([False], same))[first]
    return np.where(has_former, value[first - 1], UNKNOWN)
