"""The return of clients to a broker that works again: their sessions, and the subscriptions that they make anew.

1. A session is back when the broker has started again and the driver has tried once more: after the interval that the
   manifest states (`reconnects_within`), with an allowance for the work of brokers and host. Another fault of the same
   broker delays it. A session that is not back by then is a defect; from then on its clients are owed what they would
   be if it had come back.
2. The clients of a failed broker have their subscriptions back when all of its sessions are, or should be, its links
   have had the same time, and what they subscribed to again has settled. A fault elsewhere delays that.
3. What the clients of a session declare anew has settled within the time that it takes, from the session's return on,
   or from its beginning with the broker to which its client has moved. If a further fault of the broker, the client,
   its site or its access link comes before that, the time begins anew once the session is back after that fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from analysis.judging.histories.client_faults import SessionElements
from analysis.judging.histories.history import MissingSession, Renewal, Session
from analysis.judging.histories.losses import LossyOutage
from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.outages import Outage, lasting
from record.faults import FaultKind

_RESTARTED = frozenset({FaultKind.KILL, FaultKind.STOP})
Sessions = Mapping[Session, Sequence[Outage]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Returning:
    """The time that one variant's clients and links have to return after a fault, in nanoseconds."""

    within: int
    """The time from the end of a broker's fault until its sessions and links must be back."""
    settled: int
    """The time from the return of a session until its subscriptions must have settled."""
    struck: Mapping[str, Intervals]
    """Times of faults and recovery, as in `History.struck`."""
    elements: SessionElements = field(default_factory=lambda: SessionElements(()))

    def bounded(
        self, sessions: Sessions, faults: Iterable[Outage], end: int
    ) -> tuple[dict[Session, Sequence[Outage]], list[MissingSession]]:
        """The outages of sessions, each no longer than faults of its broker or client explain, and the sessions that
        were not back by then, if that was before the end of the run."""
        times: dict[str, list[tuple[int, int]]] = {}
        for fault in faults:
            times.setdefault(fault.target, []).append(lasting(fault, self.within))
        back = {broker: Intervals.of(of_broker) for broker, of_broker in times.items()}
        bounded: dict[Session, Sequence[Outage]] = {}
        missing: list[MissingSession] = []
        for (node, broker), down in sessions.items():
            found = []
            needed = Intervals.union(*(back.get(element, NONE) for element in self.elements.of((node, broker))))
            for outage in down:
                due = needed.settled(outage.begin, outage.begin + self.within)
                if outage.end > due and due < end:
                    missing.append(MissingSession(node, broker or "", outage.begin, due))
                    found.append(Outage(outage.begin, outage.kind, outage.target, due))
                else:
                    found.append(outage)
            bounded[node, broker] = found
        return bounded, sorted(missing, key=lambda session: session.due)

    def declared_by(self, session: Session, broker: str, back: int, faults: Iterable[Outage]) -> int:
        """The time by which what the clients of a session declare in it has settled that is open with a broker since
        `back`. `faults` are those of brokers and clients."""
        needed = {broker, *self.elements.of_client(session)}
        further = [fault for fault in faults if fault.target in needed and fault.end > back]
        delays = Intervals.of(lasting(fault, self.within + self.settled) for fault in further)
        return delays.settled(back, back + self.settled)

    def renewals(
        self,
        sessions: Sessions,
        faults: Sequence[Outage],
        of_clients: Sequence[Outage],
        missing: Iterable[MissingSession],
    ) -> list[Renewal]:
        """The sessions that came back to restarted brokers, with the time by which what their clients had declared has
        settled again, also after faults of those clients, and after faults of the broker that leave it its state. One
        whose broker is restarted once more meanwhile is left out, because it is due after that, and so is one that
        should have come back and did not."""
        not_back = {(session.node, session.broker, session.broke) for session in missing}
        found = []
        for fault in faults:
            if fault.kind not in _RESTARTED or fault.end == FOREVER:
                continue
            for (node, broker), outages in sessions.items():
                back = [down for down in outages if broker == fault.target and down.begin <= fault.end <= down.end]
                if not back or back[0].end == FOREVER or (node, fault.target, back[0].begin) in not_back:
                    continue
                of_broker = [other for other in faults if other.target == fault.target and other is not fault]
                further = [*of_clients, *(other for other in of_broker if other.kind not in _RESTARTED)]
                due = self.declared_by((node, broker), fault.target, back[0].end, further)
                again = (other for other in of_broker if other.kind in _RESTARTED)
                if not any(other.begin <= due and fault.begin <= other.end for other in again):
                    found.append(Renewal(node, fault.target, fault.begin, fault.end, due))
        return found

    def served(self, loss: LossyOutage, sessions: Sessions) -> LossyOutage:
        """A lossy outage with the time by which the subscriptions of a failed broker's clients hold again."""
        if loss.ends:
            return loss
        return replace(loss, served=self.served_by(loss.element, loss.begin, loss.end, sessions))

    def served_by(self, broker: str, begin: int, end: int, sessions: Sessions) -> int:
        """The time by which the clients of a broker that failed in this time have all that they declared again;
        `FOREVER` where the broker does not come back."""
        if end == FOREVER:
            return FOREVER
        own = [down for (_, home), found in sessions.items() if home == broker for down in found]
        returned = [down.end for down in own if down.begin <= end and down.end < FOREVER]
        back = max(end + self.within, *returned) if returned else end + self.within
        others = Intervals.union(*(times for element, times in self.struck.items() if element != broker))
        return others.settled(begin, back + self.settled)
