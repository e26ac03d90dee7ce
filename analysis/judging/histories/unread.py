"""Notifications that slow readers left unread, and the end that the brokers' policy lets them have (`record.unread`).

A session brings notifications in the order in which the broker put them into it (`delivered`). Those that its client
has not read yet are outstanding: in the session's queue, or on their way. A drop that the broker logs is the policy's
if

1. **drop newest**: it is the one that came last, and as many were outstanding besides as the bound lets wait;
2. **drop oldest**: as many that came later are outstanding as the bound lets wait;
3. **end the session**: as many were outstanding as the bound lets wait. All of these are the policy's cost, too, and
   so is the break of the session that follows.

A session that breaks for another reason, which is not the broker's, costs what was outstanding, too.

Instead of a number, the bound may be one of bytes. Of drops of the first two kinds, as many are the policy's as the
client was told of (`missed`), in their order; the others are lost, but for those after which it has read nothing that
came later, because the run may have ended before it was told. What it never read may have been read after the run,
unless it has read what came later.

An answer or an announcement comes in a session behind the notifications that were put into it before, so that a client
gets it when it has read these (`Unread.caught_up`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.reading.intervals import FOREVER, Intervals
from analysis.reading.log_events import Reading
from record.log import Event
from record.time_units import SECOND
from record.unread import SlowReaders, UnreadPolicy

_ORDER = (Event.NOTIFIED, Event.LINK_DOWN, Event.DELIVERED, Event.DROPPED, Event.MISSED)
"""Events of one time, in the order in which they happened."""
_LASTS = SECOND
"""Time for which a session counts as full after something came to it that left no room."""
Pair = tuple[str, str]
"""A client and a publication."""


@dataclass(frozen=True, slots=True)
class Unread:
    """The notifications of one variant's slow readers that these have not got."""

    clients: frozenset[str] = frozenset()
    """The slow readers."""
    costs: Mapping[Pair, str] = field(default_factory=dict)
    """Notifications that the policy cost, each with the evidence."""
    untold: frozenset[Pair] = frozenset()
    """Drops of which the client was not told, though the policy allowed them."""
    waiting: frozenset[Pair] = frozenset()
    """Notifications that nothing shows to be lost when the run ended."""
    ended: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """The times at which the policy ended sessions, by client."""
    full: Mapping[str, Intervals] = field(default_factory=dict)
    """Times in which a session of a broker held as much as the bound lets wait, and a while after, by broker."""
    read: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    """The times at which each notification that was read came to its session, and at which it was read, in order; by
    client. Those that nothing shows to be lost when the run ended are read at `FOREVER`."""

    def caught_up(self, client: str, until: int) -> int:
        """The time at which a client had read all that had come to its session by a time; -1 where nothing had, and of
        clients that are no slow readers."""
        read = self.read.get(client, ())
        number = bisect_right(read, until, key=lambda each: each[0])
        return read[number - 1][1] if number else -1


NOTHING_UNREAD = Unread()


def unread_of(
    clients: Iterable[str],
    bounds: SlowReaders,
    readings: Iterable[Reading],
    breaks: Iterable[Reading] = (),
) -> Unread:
    """The end of what one variant's slow readers did not read, by the readings; `breaks` are those of their sessions,
    by a cause that the brokers are not to blame for (`link_down`)."""
    by_client: dict[str, list[Reading]] = {}
    for reading in (*readings, *breaks):
        by_client.setdefault(reading.client, []).append(reading)
    found = [_Reader(client, bounds).after(by_client[client]) for client in sorted(by_client)]
    return Unread(
        clients=frozenset(clients),
        costs={(each.client, publication): text for each in found for publication, text in each.costs.items()},
        untold=frozenset((each.client, publication) for each in found for publication in each.untold),
        waiting=frozenset((each.client, publication) for each in found for publication in each.waiting),
        ended={each.client: each.ended for each in found if each.ended},
        full={
            broker: Intervals.of(times for each in found for times in each.full.get(broker, ()))
            for broker in {broker for each in found for broker in each.full}
        },
        read={each.client: [*each.read, *((came, FOREVER) for came in each.unread)] for each in found},
    )


class _Reader:
    """One slow reader, and what its broker has for it."""

    def __init__(self, client: str, bounds: SlowReaders) -> None:
        self.client = client
        self.costs: dict[str, str] = {}
        self.untold: list[str] = []
        self.ended: list[int] = []
        self.read: list[tuple[int, int]] = []
        """The times at which each came that was read, and at which it was read."""
        self.full: dict[str, list[tuple[int, int]]] = {}
        """Times by broker, in which its session held as much as the bound lets wait."""
        self._bounds = bounds
        self._outstanding: dict[str, Reading] = {}
        """Notifications by their publications, in the order in which they came."""
        self._bytes = 0
        self._told = 0
        self._read_until = 0
        """The time at which the latest of those that were read had come."""
        self._drops: list[tuple[Reading, str]] = []
        """Drops of single notifications that the policy allows, with the evidence."""
        self._drop = {
            UnreadPolicy.DROP_NEWEST: self._drop_newest,
            UnreadPolicy.DROP_OLDEST: self._drop_oldest,
            UnreadPolicy.END_SESSION: self._end_session,
        }[bounds.policy]

    @property
    def waiting(self) -> Iterator[str]:
        return iter(self._outstanding)

    @property
    def unread(self) -> Iterator[int]:
        """The times at which those came that are outstanding."""
        return (reading.time for reading in self._outstanding.values())

    def after(self, readings: list[Reading]) -> _Reader:
        """The reader after all that happened."""
        readings.sort(key=lambda reading: (reading.time, _ORDER.index(reading.event)))
        for reading in readings:
            match reading.event:
                case Event.DELIVERED:
                    self._outstanding[reading.publication] = reading
                    self._bytes += reading.amount
                    if self._full(len(self._outstanding), self._bytes, 0):
                        self._note_full(reading)
                case Event.NOTIFIED:
                    self._read(reading)
                case Event.DROPPED:
                    self._drop(reading)
                case Event.LINK_DOWN:
                    count = len(self._outstanding)
                    self._lose(
                        f"the session with {reading.broker} broke at {reading.seconds:.3f} s; {count:,} were not read"
                    )
                case _:
                    self._told += reading.amount
        self.costs.update((drop.publication, evidence) for drop, evidence in self._drops[: self._told])
        untold = (drop for drop, _ in self._drops[self._told :])
        self.untold = [drop.publication for drop in untold if drop.time >= self._read_until]
        return self

    def _note_full(self, reading: Reading) -> None:
        times = self.full.setdefault(reading.broker, [])
        begin = times.pop()[0] if times and times[-1][1] >= reading.time else reading.time
        times.append((begin, reading.time + _LASTS))

    def _read(self, reading: Reading) -> None:
        """A notification was read. Those that came before it and are outstanding are lost, because nothing overtakes in
        a session."""
        if (came := self._outstanding.get(reading.publication)) is not None:
            self._read_until = came.time
            self.read.append((came.time, reading.time))
            for before in list(_until(self._outstanding, reading.publication)):
                self._take(before)

    def _drop_newest(self, drop: Reading) -> None:
        last = next(reversed(self._outstanding), None)
        size = self._take(drop.publication)
        if last == drop.publication and self._full(len(self._outstanding), self._bytes, size):
            self._allow(drop, f"{len(self._outstanding):,} before it were not read")

    def _drop_oldest(self, drop: Reading) -> None:
        if drop.publication not in self._outstanding:
            return
        before = list(_until(self._outstanding, drop.publication))
        count = len(self._outstanding) - len(before)
        later = self._bytes - sum(self._outstanding[each].amount for each in before)
        size = self._take(drop.publication)
        if self._full(count, later, size):
            self._allow(drop, f"{count:,} behind it were not read")

    def _end_session(self, drop: Reading) -> None:
        size = self._take(drop.publication)
        count = len(self._outstanding)
        if not self._full(count, self._bytes, size):
            return
        self.ended.append(drop.time)
        text = f"{drop.broker} ended the session at {drop.seconds:.3f} s, where {count:,} were not read"
        self.costs[drop.publication] = text
        self._lose(text)

    def _lose(self, evidence: str) -> None:
        """All that was outstanding is gone with the session."""
        self.costs.update(dict.fromkeys(self._outstanding, evidence))
        self._outstanding.clear()
        self._bytes = 0

    def _allow(self, drop: Reading, evidence: str) -> None:
        self._drops.append((drop, f"{drop.broker} dropped it at {drop.seconds:.3f} s, where {evidence}"))

    def _full(self, count: int, size: int, further: int) -> bool:
        """True where so many notifications, of so many bytes, leave no room for one of `further` bytes."""
        return count >= self._bounds.notifications or size + further > self._bounds.bytes

    def _take(self, publication: str) -> int:
        """Takes a publication out; returns its bytes."""
        taken = self._outstanding.pop(publication, None)
        size = 0 if taken is None else taken.amount
        self._bytes -= size
        return size


def _until(publications: Iterable[str], last: str) -> Iterator[str]:
    """The publications up to this one, which is among them."""
    for publication in publications:
        yield publication
        if publication == last:
            return
