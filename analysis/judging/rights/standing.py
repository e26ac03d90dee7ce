"""A subscription or an advertisement as it is judged: the times from which it certainly holds and no longer holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum

import msgspec

from analysis.judging.doubt import Doubt
from analysis.judging.histories.history import History
from analysis.reading.intervals import FOREVER, Intervals
from analysis.reading.lifetimes import DeclarationLifetime
from analysis.reading.publication_events import Published
from record.log import Event


class Status(IntEnum):
    """The status of one subscription or advertisement towards one publication. Of several, the greatest counts."""

    NONE = 0
    NOT_YET = 1
    WITHDRAWN = 2
    IN_FLIGHT = 3
    """A subscription or withdrawal of the client had not settled."""
    DOUBTFUL = 4
    """The subscription held, but the client may have lost the publication by a fault of its broker, of its session, or
    of all ways to it."""
    SETTLED = 5


class Flight(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The way of one publication, as far as rights to it depend on it."""

    published: Published
    matched: int
    """The time at which its content was last compared with subscriptions."""
    until: int
    """The time until which it may have been in flight."""
    accepted: bool
    """True when the publisher's broker promises to keep what it accepts, and a client shows that it accepted this: the
    publisher, which received the acknowledgement, or one that was notified."""
    arrived: bool
    """True when some broker recorded it, and its own did not reject it."""
    doubt: Doubt | None
    """The reason why it may never have left its publisher's broker; None without any."""

    @property
    def times(self) -> tuple[int, int, int]:
        """Published, last matched, and the end of the flight."""
        return self.published.time, self.matched, self.until


class Standing(msgspec.Struct, frozen=True, gc=False):
    """The lifetime of a subscription or advertisement as it is judged. Times are nanoseconds; `FOREVER` means never."""

    number: int
    client: str
    broker: str | None
    issued: int
    confirmed: int
    settled: int
    withdrawn: int
    withdrawal_confirmed: int
    gone: int
    outages: Intervals
    """Outages of the client's session and broker, with the time of recovery."""
    announced: tuple[int, ...]
    """The times at which its broker announced it as started, in ascending order."""
    earliest: int
    """The earliest time at which a broker may have compared a publication with it."""
    since: int = -FOREVER
    until: int = FOREVER
    """The times between which publications are judged by this lifetime: those of its client's stay at the broker."""

    def concerns(self, published: int) -> bool:
        """True if a publication of this time is judged by this lifetime."""
        return self.since <= published < self.until

    def status(self, published: int, matched: int, in_flight_until: int) -> Status:
        """The status towards a publication published and last matched at these times, and in flight until then."""
        if self.settled <= published and in_flight_until <= self.withdrawn:
            return Status.DOUBTFUL if self.outages.overlaps(published, in_flight_until) else Status.SETTLED
        if matched < self.earliest:
            return Status.NOT_YET
        return Status.WITHDRAWN if published > self.gone else Status.IN_FLIGHT

    def status_across(self, cut: Intervals, published: int, matched: int, in_flight_until: int) -> Status:
        """The status where the client's and the publisher's broker were cut off from each other in these times.

        Operations made meanwhile settle afterwards, and publications wait for the end of the cut. What is in flight
        when a cut begins that never ends may be lost.
        """
        status = self.status(published, matched, cut.settled(published, in_flight_until))
        if status is Status.SETTLED:
            if cut.settled(self.confirmed, self.settled) > published:
                return Status.IN_FLIGHT
            return status if in_flight_until < cut.unending else Status.DOUBTFUL
        if status is Status.WITHDRAWN and published <= cut.settled(self.withdrawal_confirmed, self.gone):
            return Status.IN_FLIGHT
        return status

    def certainly_holds(self, published: int, in_flight_until: int) -> bool:
        """True if the subscription had settled before a publication and was not withdrawn while that was in flight.

        Faults are not considered.
        """
        return self.settled <= published and in_flight_until <= self.withdrawn

    def announced_before(self, cut: Intervals, published: int) -> int:
        """The time of the latest announcement that covers a publication; `FOREVER` without any. One that was made while
        the publisher's broker was cut off covers publications from the end of the cut on."""
        covering = (time for time in reversed(self.announced) if cut.settled(time, time) <= published)
        return next(covering, FOREVER)

    def due(self, cut: Intervals, published: int, in_flight_until: int) -> bool:
        """True if no fault, and no withdrawal, excuses the loss of a publication that comes after the subscription's
        start."""
        waiting = cut.settled(published, in_flight_until)
        undisturbed = not self.outages.overlaps(published, waiting)
        return undisturbed and waiting <= self.withdrawn and in_flight_until < cut.unending


def standings_of(number: int, lifetime: DeclarationLifetime, history: History) -> Iterator[Standing]:
    """DeclarationLifetime `number` of a history as it is judged: once for each stay of a client that moves."""
    stays = history.stays.of(lifetime.client)
    if not stays:
        yield standing_of(number, lifetime, history)
        return
    since = -FOREVER
    for stay in stays:
        made = standing_of(number, msgspec.structs.replace(lifetime, broker=stay.broker), history)
        announced = tuple(time for time in made.announced if time >= since)
        yield msgspec.structs.replace(made, since=since, until=stay.end, announced=announced)
        since = stay.end


def standing_of(number: int, lifetime: DeclarationLifetime, history: History) -> Standing:
    """DeclarationLifetime `number` of a history as it is judged, of a client that stays at its broker."""
    own, session = history.own_clients, history.session_outages_of(lifetime.node, lifetime.broker)
    unsettled, outages = history.unsettled, session
    if own is not None and lifetime.made is not Event.ADVERTISE:
        unsettled, outages = own.unsettled, Intervals.union(session, *own.of(lifetime.broker))
    within = history.settling.within
    settled = gone = FOREVER
    if lifetime.confirmed is not None:
        settled = _settled(lifetime.confirmed, history, history.joined.get(lifetime.broker or "", 0))
        settled = _settled_in_quiet(lifetime.made, lifetime.confirmed, settled, history)
        settled = unsettled.settled(lifetime.confirmed, settled)
    if lifetime.gone is not None:
        gone = unsettled.settled(lifetime.gone, lifetime.gone + within)
    return Standing(
        number=number,
        client=lifetime.client,
        broker=lifetime.broker,
        issued=lifetime.issued,
        confirmed=_or_never(lifetime.confirmed),
        settled=settled,
        withdrawn=_or_never(lifetime.withdrawn),
        withdrawal_confirmed=_or_never(lifetime.gone),
        gone=gone,
        outages=outages,
        announced=lifetime.announced,
        earliest=lifetime.issued - within,
    )


def _settled(confirmed: int, history: History, joined: int) -> int:
    """The time at which an operation has settled that was confirmed at this time, if nothing fails.

    The emulator waits until the overlay is quiet before the run phase begins. That takes the place of the allowance for
    the work of brokers and host, and of nothing else: intervals for which the protocol waits are quiet, too. `joined`
    is `History.joined` of its broker, which counts for no longer than the operations of the join phase may take
    together: a protocol that repeats them for ever is owed no patience.
    """
    if history.run_start is None or confirmed > history.run_start:
        return confirmed + history.settling.within
    spread = confirmed + history.settling.spread
    latest = confirmed + history.settling.of_many(history.joining)
    return max(min(confirmed + history.settling.within, max(history.run_start, spread)), min(joined, latest))


def _settled_in_quiet(made: Event, confirmed: int, latest: int, history: History) -> int:
    """The time at which an operation has settled that was confirmed at this time, by what logs show of the overlay; it
    is not after `latest`, by which the operation has settled in any case.

    Where the overlay was quiet when the run phase began, and no message of any operation came to a broker from then to
    `latest`, all messages of this one had come before. That is no evidence under a protocol that passes on operations
    of this kind in messages of its own, or lets them wait at brokers without a message, nor where logs end too early.
    """
    start, firsts = history.run_start, history.passed_on
    if start is None or not confirmed <= start < latest or made.value not in firsts or history.settling.declared:
        return latest
    shown = min(*firsts.values(), FOREVER if history.cut_short is None else history.cut_short)
    return start if latest < shown else latest


def _or_never(time: int | None) -> int:
    return FOREVER if time is None else time


def unconfirmed(lifetimes: Iterable[DeclarationLifetime]) -> int:
    """The number of lifetimes that were never confirmed."""
    return sum(lifetime.confirmed is None for lifetime in lifetimes)
