"""Sessions of drivers with brokers that broke, and the faults that explain it.

A fault of the session's broker, or of its client (`client_faults`), explains that a session breaks, from its beginning
until the overlay may have recovered from it; so does a broker that ends the session of a client which does not read,
where that is its policy. A session that breaks without either is a defect, and excuses nothing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from analysis.judging.histories.client_faults import SessionElements
from analysis.judging.histories.history import BrokenSession, Session
from analysis.reading.intervals import NONE, Intervals
from analysis.reading.log_events import OutageEvent
from analysis.reading.outages import Outage, lasting, outages, separate_targets
from record.faults import FaultKind, HealKind

Events = Sequence[OutageEvent]


def struck_elements(faults: Iterable[OutageEvent], lingering: int, brokers: Container[str]) -> dict[str, Intervals]:
    """Time from each own fault until the overlay may have recovered, by broker and direction of a link."""
    times: dict[str, list[tuple[int, int]]] = {}
    for outage in outages(faults, brokers):
        for element in separate_targets(outage.target, brokers):
            times.setdefault(element, []).append(lasting(outage, lingering))
    return {element: Intervals.of(of_element) for element, of_element in times.items()}


def session_gaps(sessions: Mapping[Session, Events]) -> dict[Session, Intervals]:
    """The time without each session: from each break to the next session, whatever explains it."""
    gaps = {session: Intervals.of(lasting(gap, 0) for gap in outages(events)) for session, events in sessions.items()}
    return {session: found for session, found in gaps.items() if found.starts}


def restarts(faults: Iterable[Outage]) -> dict[str, Intervals]:
    """Time from each fault that ended a broker until it ran again, by broker. A fault of unknown kind may have ended
    it."""
    times: dict[str, list[tuple[int, int]]] = {}
    for fault in faults:
        kind = FaultKind.named(fault.kind)
        if kind is None or kind.healed_by is HealKind.RESTART:
            times.setdefault(fault.target, []).append(lasting(fault, 0))
    return {broker: Intervals.of(of_broker) for broker, of_broker in times.items()}


def explained_sessions(
    sessions: Mapping[Session, Events],
    struck: Mapping[str, Intervals],
    elements: SessionElements,
    ended: Mapping[str, Intervals],
) -> tuple[dict[Session, Sequence[Outage]], list[BrokenSession]]:
    """The outages of sessions that are explained, by session, and the breaks that are not, in order of time. `ended`
    are the times, by the session's node, in which a broker's policy on what is not read explains a break."""
    explained: dict[Session, Sequence[Outage]] = {}
    broken: list[BrokenSession] = []
    for (node, broker), events in sessions.items():
        found: list[OutageEvent] = []
        causes = (struck.get(element, NONE) for element in elements.of((node, broker)))
        times = Intervals.union(*causes, ended.get(node, NONE))
        for event in sorted(events):
            if event.begins and not times.overlaps(event.at.time, event.at.time):
                broken.append(BrokenSession(node, broker or "", event.at.time))
            else:
                found.append(event)
        if any(event.begins for event in found):
            explained[node, broker] = outages(found)
    return explained, sorted(broken, key=lambda session: session.time)
