"""The history of a variant, by which the oracle judges it: operations of clients, outages, promises of the routing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from analysis.judging.histories.adjacency import Adjacency
from analysis.judging.histories.cuts import NO_CUTS, Cuts
from analysis.judging.histories.losses import LossyOutage
from analysis.judging.histories.settling import Settling
from analysis.judging.histories.starting import BrokerStart
from analysis.judging.histories.unread import NOTHING_UNREAD, Unread
from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.lifetimes import DeclarationLifetime
from analysis.reading.publication_events import Published
from analysis.reading.stays import NO_STAYS, Stays
from record.handover import MoveCosts
from record.promises import Promises
from record.time_units import SECOND
from topology.model import Overlay

CUT_SHORT_SECONDS = 10.0
"""Publications made less than this time before the end of an interrupted run may not have been delivered yet."""

_CUT_SHORT = int(CUT_SHORT_SECONDS * SECOND)

Session = tuple[str, str | None]
"""The session of a driver with a broker, by their names."""


class BrokenSession(NamedTuple):
    """A session of a driver with a broker that broke, though no fault of that broker explains it."""

    node: str
    broker: str
    time: int
    """Nanoseconds."""


class MissingSession(NamedTuple):
    """A session of a driver with a broker that did not come back, though the broker worked again."""

    node: str
    broker: str
    broke: int
    due: int
    """Nanoseconds, both: when it broke, and by when it should have been back."""
    left: str = ""
    """The broker that its client had left by a move; empty of a session that broke in another way."""


class ServedTwice(NamedTuple):
    """A soft handover that was over only after what the client had declared stood at the new broker, so that the client
    was never without its service."""

    stood: int
    left: int
    """Nanoseconds, both: when it stood there at the latest, and when the client left the old broker."""


class StayingSession(NamedTuple):
    """The session of a client that its broker did not end, though the client had left."""

    client: str
    broker: str
    left: int
    served: int
    """Nanoseconds, both: when the client left, and when the broker last had a notification for it."""


class Renewal(NamedTuple):
    """A session that came back to a broker that had restarted, or with another broker to which its client has moved:
    its clients make anew what they had declared."""

    node: str
    broker: str
    failed: int
    healed: int
    due: int
    """Nanoseconds, all: when the broker failed and was restarted, or the client left and its new session was open, and
    by when the broker should have all of it."""
    left: str = ""
    """The broker that the client has left by a move; empty of a broker that had restarted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnClients:
    """Faults that cost only what clients of the failed broker publish or should get. They cost nothing else, so they
    delay others as far only as they cut brokers off from each other."""

    lossy: Mapping[str, Intervals] = field(default_factory=dict)
    """Time in which publications of a broker's own clients may be lost, accepted or not; by broker."""
    unaccepted: Mapping[str, Intervals] = field(default_factory=dict)
    """Time in which publications of its own clients that a broker had not accepted may be lost; by broker."""
    unsettled: Intervals = NONE
    """Time in which operations may take longer to settle under faults of other kinds, which alone delay subscriptions
    everywhere."""
    brokers_down: Mapping[str, Intervals] = field(default_factory=dict)
    """Outages of each broker, from the fault to its heal."""
    sessions_down: Mapping[Session, Intervals] = field(default_factory=dict)
    """Outages of each session, without the time of recovery."""

    def of(self, broker: str | None) -> tuple[Intervals, Intervals]:
        """`lossy` and `unaccepted` of a broker."""
        return (NONE, NONE) if broker is None else (self.lossy.get(broker, NONE), self.unaccepted.get(broker, NONE))

    def down(self, node: str, broker: str | None) -> Intervals:
        """The time in which the session of a driver with a broker was certainly broken: the broker, or it, was down."""
        return Intervals.union(*self.breaks(node, broker))

    def breaks(self, node: str, broker: str | None) -> tuple[Intervals, Intervals]:
        """The outages of a driver's session with a broker, and of the broker. A broker that stops in order notifies
        clients for a while before their sessions end, so that both begin something new."""
        broken = self.sessions_down.get((node, broker), NONE)
        return broken, NONE if broker is None else self.brokers_down.get(broker, NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The operations of the clients of one variant, and the outages of the overlay."""

    promises: Promises = field(default_factory=Promises)
    """The promises of the routing."""
    lifetimes: Sequence[DeclarationLifetime] = ()
    """In the order in which they were made."""
    overlay: Overlay
    """With all links that it has at some time."""
    overlay_changes: bool = False
    """True when links appear and vanish."""
    settling: Settling = field(default_factory=Settling)
    run_start: int | None = None
    """The begin of the run phase, where the overlay was quiet by then or `joined` tells when it was; None otherwise."""
    joined: Mapping[str, int] = field(default_factory=dict)
    """Time by which operations of a broker's clients in the join phase had settled, where brokers still passed on such
    operations when that phase ended; by broker."""
    passed_on: Mapping[str, int] = field(default_factory=dict)
    """Time at which a message of each kind of operation that brokers pass on first came to a broker in the run phase,
    where the overlay was quiet when that phase began; `FOREVER` of a kind of which none came."""
    joining: int = 0
    """The messages that the operations of the join phase may make each broker handle: one for each of them, and one for
    each subscription and advertisement together."""
    cut_short: int | None = None
    """The time after which publications of an interrupted run may not have been delivered; None for a complete run."""
    losses: Sequence[LossyOutage] = ()
    """The outages that may lose messages, in order of time."""
    silent: Intervals = NONE
    """The time in which publications may wait in a queue without a record in any log."""
    unsettled: Intervals = NONE
    """The time in which operations may take longer to settle, under faults of every kind."""
    session_outages: Mapping[Session, Intervals] = field(default_factory=dict)
    """Outages of sessions that a fault of the session's broker explains, each extended by the time in which its
    clients' subscriptions and advertisements settle again."""
    client_outages: Mapping[Session, Intervals] = field(default_factory=dict)
    """The part of `session_outages` that a fault of the session's client explains: its broker kept running, and
    withdrew the client's subscriptions and advertisements."""
    client_struck: Mapping[Session, Intervals] = field(default_factory=dict)
    """Time from each fault of a session's client, its site or its access link until the session had the time to come
    back, whether or not it broke."""
    at_sites: frozenset[str] = frozenset()
    """Clients on sites, which have sessions of their own."""
    struck: Mapping[str, Intervals] = field(default_factory=dict)
    """Time from each own fault, of any kind, until the overlay may have recovered; by broker and direction of a
    link."""
    broken_sessions: Sequence[BrokenSession] = ()
    """The others, which are defects."""
    session_gaps: Mapping[Session, Intervals] = field(default_factory=dict)
    """The time without each session, explained or not: from each break to the next session."""
    restarts: Mapping[str, Intervals] = field(default_factory=dict)
    """Time from each fault that ended a broker until it ran again, with empty tables; by broker."""
    starts: Sequence[BrokerStart] = ()
    """Starts of restarted brokers, at the ends of which their faults end."""
    missing_sessions: Sequence[MissingSession] = ()
    """Sessions whose absence a fault explains, but not for so long. They count as back from the time at which they were
    due."""
    renewals: Sequence[Renewal] = ()
    staying_sessions: Sequence[StayingSession] = ()
    """Sessions of clients that have moved, which their old brokers did not end."""
    served_twice: Mapping[Session, Sequence[ServedTwice]] = field(default_factory=dict)
    """Soft handovers that cost nobody a notification, and nothing but what the old broker kept for composite
    subscriptions."""
    stays: Stays = NO_STAYS
    """The stays of clients that move."""
    move_costs: MoveCosts = field(default_factory=dict)
    """The cost of each handover."""
    owes_accepted: bool = False
    """True where a publication that arrived at its broker is owed, even if its publisher's advertisement there had not
    settled since the publisher moved or came back (`record.handover.PublishingLoss`)."""
    unread: Unread = NOTHING_UNREAD
    """The notifications that slow readers did not get."""
    cuts: Cuts = NO_CUTS
    """The time in which brokers were cut off from each other, and publications between them waited."""
    cuts_at_end: Cuts = NO_CUTS
    """The time in which brokers of a run that was interrupted were cut off from each other, whatever routing promises:
    what a cut holds up that never ends is neither delivered nor lost."""
    parted: Cuts = NO_CUTS
    """The time in which no path of links that were there joined brokers, and publications between them may be lost."""
    adjacency: Adjacency | None = None
    """Neighbours, and the promise that concerns them; None where routing promises nothing about neighbours of brokers
    that received a publication."""
    own_clients: OwnClients | None = None
    """Faults that cost only publications of or for a broker's own clients; None where the promises name none of this
    cost."""
    stamp_errors: Mapping[str, int] = field(default_factory=dict)
    """The largest possible difference between the times of a driver's publications by the run's clock as it knew them
    and as the analysis does, in nanoseconds, by driver. Drivers without any are left out."""

    @property
    def has_outages(self) -> bool:
        """True when any outage concerns all publications of a broker's clients."""
        return bool(self.session_outages or self.own_clients is not None)

    @property
    def has_cuts(self) -> bool:
        """True when brokers were ever cut off from each other."""
        return bool(self.cuts.moments or self.parted.moments)

    def may_have_forgotten(self, declared: DeclarationLifetime, since: int, until: int) -> bool:
        """True when the broker had a reason to forget what a client had declared: it was restarted meanwhile, or the
        client's session with it broke."""
        gaps = self.session_gaps.get((declared.node, declared.broker), NONE)
        return gaps.overlaps(since, until) or self.restarts.get(declared.broker or "", NONE).overlaps(since, until)

    def answered_by(self, client: str, until: int) -> int:
        """The time by which a client has an answer that its broker gives by `until`: a slow reader has it a while after
        it has read what had come to its session before."""
        read = self.unread.caught_up(client, until)
        return max(until, read if read == FOREVER else read + self.settling.within)

    def session_of_publisher(self, published: Published) -> Session:
        """The session over which a publication came: the driver's, or one of its client's own at a site."""
        node = published.node
        return (f"{node} {published.client}" if published.client in self.at_sites else node), published.broker

    def session_outages_of(self, node: str, broker: str | None) -> Intervals:
        return self.session_outages.get((node, broker), NONE)


def cut_short(end: int | None, interrupted: bool) -> int | None:
    """`History.cut_short` of a run that ended at `end`."""
    return end - _CUT_SHORT if interrupted and end is not None else None
