"""The driver process: executes a file of logical clients' operations at their times, and logs them with the answers.

`python -m emulation.drivers.driver DRIVER.json` connects to its brokers, prints `{"event":"ready"}`, reads
`{"do":"start","start":<ns of the monotonic clock>}` from standard input, and then issues each operation at start +
`at`, whether or not the overlay keeps up (open loop); one that is late is issued at once, and its log record holds both
times. Further operations, and an earlier end of all, come as further lines (`Instruction`). Twice a second it prints a
`DriverStatus` line. It ends with exit code 0 when standard input is closed or SIGTERM comes.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import sys
import time
from pathlib import Path

import msgspec
import uvloop

from broker_service.client_library.client_requests import SessionLimits
from broker_service.client_library.client_session import ClientSession, ConnectError
from broker_service.language import ContentError
from broker_service.tracing.process_gauges import Ticker
from broker_service.tracing.trace import FileTrace, Recorder
from broker_service.transport.duplex import DueWrites
from broker_service.transport.precise_timer import PreciseTimer
from emulation.drivers.clients import Clients, SessionEnd
from emulation.drivers.driver_operations import OperationSchedule, ReadyOperation
from emulation.drivers.instructions import (
    Arrive,
    Depart,
    End,
    Further,
    Instruction,
    Leave,
    Pause,
    Resume,
    Return,
    Start,
)
from emulation.drivers.parent import report, serve
from emulation.drivers.site_end import SiteEnd
from emulation.drivers.site_sessions import SiteSessions
from emulation.drivers.status import MOST_NAMED, Connecting, DriverStatus, Left, Ready
from emulation.host.priority import CLIENTS
from record.exit_codes import ExitCode
from record.log import Event
from record.program import program_digest
from scenario.workload.operations import read_operations

STATUS_TICKS = 5
"""Ticks between two status lines."""
_AT_ONCE = 64
"""Operations issued before what they made is sent; the rest of what is due follows."""
_TOGETHER = 250_000
"""Nanoseconds from one issue of operations to the next, because a timer costs more than an operation; those that come
due meanwhile are late by that much at most. Streams pace their writes at far longer intervals (`links.session`)."""


class DriverConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Configuration of a driver process, one JSON file."""

    name: str
    """The node's name in the log."""
    variant: str
    log: str
    """Path of its log."""
    brokers: dict[str, str]
    """Address of each broker that clients are beside: `unix:/path` or `host:port`."""
    operations: str
    """Path of its operations: JSON lines of `scenario.workload.operations.PlannedOperation`, sorted by time."""
    sites: dict[str, SiteEnd] = {}
    """Clients on sites, each with a session of its own."""
    message_bytes: int = 1 << 20
    """Largest operation that the brokers take."""
    reconnect_first: float = 0.05
    """Seconds before a broken session is opened again; doubles up to `reconnect_last`."""
    reconnect_last: float = 1.0
    heartbeat: float = 1.0
    """Seconds of which ten without a sign of life from a broker's host end a session over an access link."""
    keeps_accepted: bool = False
    """True when routing promises to keep what a broker accepted (`Promises.keeps_accepted`): the driver logs the
    acknowledgement of each publication."""
    connect_within: float | None = None
    """Seconds for all brokers to answer; None where the driver's parent decides, by the driver's reports."""


class Driver:
    """One driver. Made within a running event loop."""

    def __init__(self, config: DriverConfig, schedule: OperationSchedule) -> None:
        """Raises `OSError` when the log cannot be opened."""
        self.status = DriverStatus()
        self._config = config
        self._schedule = schedule
        self._trace = FileTrace(Path(config.log), config.name, config.variant)
        self._recorder = Recorder(self._trace, time.monotonic_ns)
        self._sessions: dict[str, ClientSession] = {}
        self._ends: dict[str, SessionEnd] = {}
        """The ends of the sessions, by their keys."""
        self._clients = Clients(
            self._sessions, self._recorder, self.status, keeps_accepted=config.keeps_accepted, at_sites=config.sites
        )
        self._due_writes = DueWrites()
        limits = SessionLimits(
            message_bytes=config.message_bytes,
            reconnect_first=config.reconnect_first,
            reconnect_last=config.reconnect_last,
            heartbeat=config.heartbeat,
        )
        self._limits = limits
        for broker, address in config.brokers.items():
            self._add(SessionEnd(broker), address)
        self._at_sites = SiteSessions(
            lambda client, broker: self._add(SessionEnd(broker, client), broker), self._clients
        )
        for client, end in config.sites.items():
            self._at_sites.place(client, end)
        self._departures: set[asyncio.Task[None]] = set()
        self._start = 0
        self._late = 0
        self._next_issue = 0
        """Time of the monotonic clock before which no operation is issued."""
        self._timer = PreciseTimer(self._issue_due)
        self._ticking: asyncio.Task[None] | None = None
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Holds the error when the workload cannot go on."""

    def _add(self, end: SessionEnd, address: str) -> ClientSession:
        """A session; `address` is the broker's name where its address is not known yet."""
        self._ends[end.key] = end
        session = self._sessions[end.key] = ClientSession(
            address,
            self._clients.receiver(end),
            self._limits,
            self._clients.acknowledgement_log(end.broker),
            self._due_writes,
        )
        end.log_streams(session, self._recorder)
        return session

    async def open(self) -> None:
        """Connects to all brokers, and reports that. Raises `ConnectError`."""
        self._recorder.note(Event.STARTED, count=1, text=program_digest())
        self._report_connections()
        await asyncio.gather(*(self._connect(session) for session in self._sessions.values()))
        ticker = Ticker(self._trace, self._recorder, (STATUS_TICKS, self._report))
        self._ticking = asyncio.create_task(ticker.run())
        gc.collect()
        gc.freeze()
        report(Ready())

    def follow(self, instruction: Instruction) -> None:
        """Does what the parent asks for. Raises `ContentError` for an operation that is not valid."""
        match instruction:
            case Start(start, clock_offset):
                self._start = start
                self._clients.clock_offset = clock_offset
            case Further(operation):
                self._schedule.insert(operation)
            case End(at):
                self._schedule.end_at(at)
            case Leave(clients):
                self._clients.away.update(clients)
                self._at_sites.crash(clients)
            case Return(clients):
                self._clients.away.difference_update(clients)
                self._at_sites.restart(clients)
            case Pause(clients):
                self._at_sites.pause(clients)
            case Resume(clients):
                self._at_sites.resume(clients)
            case Depart():
                departure = asyncio.create_task(self._depart(instruction))
                self._departures.add(departure)
                departure.add_done_callback(self._departed)
            case Arrive(ends):
                self._at_sites.arrive(ends)
        self._plan_next()

    async def _depart(self, instruction: Depart) -> None:
        await self._at_sites.depart(instruction.clients, instruction.to, instruction.handover)
        report(Left())

    def _departed(self, departure: asyncio.Task[None]) -> None:
        self._departures.discard(departure)
        if not departure.cancelled() and (error := departure.exception()) is not None:
            self.failed.set_exception(error)

    async def close(self) -> None:
        """Ends the sessions and the log."""
        self._timer.close()
        await asyncio.gather(*(session.close() for session in self._sessions.values()), self._at_sites.close())
        if self._ticking is not None:
            self._ticking.cancel()
        self._trace.flush()
        self._recorder.note(Event.STOPPED, count=self._trace.lost, records=self._trace.written + 1)
        self._trace.close()

    async def _connect(self, session: ClientSession) -> None:
        await session.open(self._config.connect_within)
        self._report_connections()

    def _report_connections(self) -> None:
        sessions = self._sessions.items()
        waiting = list(dict.fromkeys(self._ends[key].broker for key, session in sessions if not session.connections))
        connected = sum(session.connections > 0 for session in self._sessions.values())
        report(Connecting(connected=connected, waiting=waiting[:MOST_NAMED]))

    def _plan_next(self) -> None:
        at = self._schedule.next_at
        self.status.done = at is None
        if at is not None:
            self._timer.set(max(self._start + at, self._next_issue))

    def _issue_due(self) -> None:
        try:
            now = time.monotonic_ns()
            self._next_issue = now + _TOGETHER
            with self._due_writes:
                for operation in self._schedule.due(now - self._start, _AT_ONCE):
                    self._issue(operation)
            self._plan_next()
        except (OSError, msgspec.MsgspecError, ContentError) as error:
            self.failed.set_exception(error)

    def _issue(self, operation: ReadyOperation) -> None:
        intended = self._start + operation.at
        self._late = max(self._late, time.monotonic_ns() - intended)
        self._clients.issue(operation, intended)

    def _report(self) -> None:
        self.status.lag_ms = round(self._late / 1e6, 3)
        self._late = 0
        report(self.status)


async def drive(config: DriverConfig, schedule: OperationSchedule) -> None:
    """Serves from connecting to the end of standard input or SIGTERM."""
    await serve(Driver(config, schedule))


def main(arguments: list[str] | None = None) -> int:
    """The process. Returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m emulation.drivers.driver",
        description="Executes a file of client operations at their times.",
        epilog="""example: echo '{"do": "start", "start": 0}' | python -m emulation.drivers.driver driver.json""",
    )
    parser.add_argument("config", type=Path, help="the driver's configuration, JSON (DriverConfig)")
    path: Path = parser.parse_args(arguments).config
    logging.basicConfig(level=logging.INFO, format="%(asctime)s driver %(levelname)s %(message)s")
    try:
        config = msgspec.json.decode(path.read_bytes(), type=DriverConfig)
        schedule = OperationSchedule(read_operations(Path(config.operations)))
        uvloop.run(drive(config, schedule))
    except (OSError, ConnectError, msgspec.MsgspecError, ContentError) as error:
        print(f"driver cannot work ({path}): {error}", file=sys.stderr)
        return ExitCode.BAD_INPUT
    return ExitCode.CORRECT


if __name__ == "__main__":
    CLIENTS.take()
    sys.exit(main())
