"""Cases in virtual time: the broker core in the simulator, a fresh overlay for each case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from broker_service.messages import BrokerId, ClientEvent, ClientId
from broker_service.tracing.trace import NullTrace, Trace
from emulation.drivers.clients import Session
from emulation.live_overlay import UnsettledError
from emulation.simulation import SimulatedOverlay, SimulatedSession
from emulation.simulation.site_session import SiteSession
from record.callbacks import do_nothing
from record.log import TraceRecord
from studies.conformance.case_runner import settings, settle
from studies.conformance.losses import WithLosses
from studies.conformance.model import Case, CaseAccess, ClientFaultOp, Departure
from studies.conformance.protocols import ConformanceProtocol
from topology.link_properties import LinkDirection
from topology.sites import Site

SETTLE_WITHIN = 60.0
"""Virtual seconds within which an overlay has to settle."""
MOST_RECORDS = 50_000
"""Records of a case's logs beyond which its messages multiply; the largest case has a few thousand."""


class SimulatedCaseRunner:
    """`trace_of` gives each broker's log; nothing is logged without it."""

    runtime = "simulated"

    def __init__(self, trace_of: Callable[[BrokerId], Trace] | None = None) -> None:
        self._trace_of = trace_of or _no_trace

    def obstacle(self, case: Case) -> str:
        return ""

    @contextmanager
    def run(self, case: Case, protocol: ConformanceProtocol) -> Iterator[SimulatedCaseRun]:
        losses: list[TraceRecord] = []

        bound = _Bound()

        def trace_of(broker: BrokerId) -> Trace:
            return _BoundedTrace(self._trace_of(broker), losses, bound)

        run = SimulatedCaseRun(SimulatedOverlay(case.overlay(), settings(case, protocol), trace_of), losses)
        bound.call_at_end = run.overlay.events.soon
        run.overlay.start()
        settle(run)
        yield run


class SimulatedCaseRun:
    """One case in progress. Every call happens at a moment of virtual time."""

    settle_within = SETTLE_WITHIN

    def __init__(self, overlay: SimulatedOverlay, losses: Sequence[TraceRecord]) -> None:
        self.overlay = overlay
        self._losses = losses
        self._sessions: dict[BrokerId, SimulatedSession] = {}
        self._own: dict[tuple[ClientId, BrokerId], tuple[SiteSession, Site]] = {}
        """The session of a client with a broker, and the host that it is on."""
        self._latest: dict[ClientId, SiteSession] = {}

    def open_session(self, broker: BrokerId, on_event: Callable[[ClientEvent], None]) -> Session:
        session = self._sessions[broker] = self.overlay.sessions.open(broker, on_event)
        return session

    def open_own(
        self, client: ClientId, broker: BrokerId, on_event: Callable[[ClientEvent], None], access: CaseAccess
    ) -> Session:
        former, host = self._latest.get(client), _host_of(client, broker, access)
        session = self.overlay.sessions.open(broker, on_event, site=host, former=former)
        assert isinstance(session, SiteSession)
        session.runs = True  # and the client of the former one may have crashed
        self._own[client, broker] = session, host
        self._latest[client] = session
        return session

    def leave(self, client: ClientId, broker: BrokerId, how: Departure) -> None:
        (session, host), sessions = self._own.pop((client, broker)), self.overlay.sessions
        match how:
            case Departure.VANISH:
                sessions.abandon(session)
                session.vanish()
            case Departure.UNANNOUNCED:
                sessions.abandon(session)
            case Departure.ANNOUNCED:
                sessions.end(session)
            case Departure.CRASH:
                sessions.crash(session)
                sessions.end(session)  # one that comes back has another one
        sessions.access_links.remove(host)

    def strike(self, client: ClientId, broker: BrokerId, op: ClientFaultOp) -> None:
        (session, host), sessions = self._own[client, broker], self.overlay.sessions
        access = sessions.access_links.of(host)
        match op:
            case "pause":
                session.freeze()
            case "continue":
                session.thaw()
            case "access_down":
                sessions.cut(access, LinkDirection(host.name, broker))
                sessions.cut(access, LinkDirection(broker, host.name))
            case "access_up":
                sessions.restore(access, LinkDirection(host.name, broker))
                sessions.restore(access, LinkDirection(broker, host.name))

    def break_session(self, broker: BrokerId) -> None:
        self.overlay.sessions.break_stream(self._sessions[broker])

    def hand_over(self) -> None:
        self.overlay.run_until(self.overlay.events.now)

    def pass_time(self, seconds: float) -> None:
        self.overlay.pass_time(seconds)

    def losses(self) -> Sequence[TraceRecord]:
        return self._losses


def _host_of(client: ClientId, broker: BrokerId, access: CaseAccess) -> Site:
    """A host of a client's own."""
    return Site(f"{client}'s host", broker, (client,), access.properties, access.properties)


class _Bound:
    """The end of a case whose messages multiply: there are ever more of them in ever less virtual time."""

    def __init__(self) -> None:
        self._left = MOST_RECORDS
        self.call_at_end: Callable[[Callable[[], None]], None] = do_nothing
        """Has a call made as soon as the present one, which may be a router's, is over."""

    def count(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.call_at_end(self._end)

    def _end(self) -> None:
        raise UnsettledError(
            f"messages multiply without end, {MOST_RECORDS:,} records of the logs so far; a broker that gets a copy of "
            "a message again must not pass it on"
        )


class _BoundedTrace(WithLosses):
    """A broker's log whose records count."""

    def __init__(self, trace: Trace, losses: list[TraceRecord], bound: _Bound) -> None:
        super().__init__(trace, losses)
        self._bound = bound

    def write(self, record: TraceRecord) -> None:
        self._bound.count()
        super().write(record)


def _no_trace(broker: BrokerId) -> Trace:
    return NullTrace(broker, "base")
