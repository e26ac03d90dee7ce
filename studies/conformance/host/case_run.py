"""One case in progress on real brokers: client sessions on an event loop that runs only while a call lasts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from broker_service.client_library.client_requests import SessionLimits
from broker_service.client_library.client_session import ClientSession, ConnectError
from broker_service.messages import BrokerId, ClientEvent, ClientId, Operation
from emulation.live_overlay import UnsettledError
from emulation.run.interrupt import Interrupt
from emulation.runtimes import HostOverlay
from record.log import TraceRecord
from studies.conformance.case_runner import LIMITS
from studies.conformance.losses import losses_between
from studies.conformance.model import CaseAccess, ClientFaultOp, Departure

SETTLE_WITHIN = 20.0
"""Seconds. A link that fails is noticed within one; starting a broker on a busy host takes several."""

_CHECK_INTERVAL = 0.2
"""Seconds between two checks whether the user wants the end, and whether all that should run still does."""
_LOGS_WITHIN = 3.0
"""Seconds in which logs are written at the latest."""
_BARRIER = "conformance-barrier"
"""The beginning of the name of a client that only attaches. Sessions keep operations and events in order, so the
confirmation that it is attached means that the broker has taken all operations before, and that all notifications
before have arrived."""

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _Open:
    """An open session."""

    broker: BrokerId
    session: ClientSession
    barrier: str
    """The client that only attaches, of this session alone."""


class HostCaseRun:
    """One conformance case in progress on real brokers."""

    settle_within = SETTLE_WITHIN

    def __init__(self, overlay: HostOverlay, logs: Path, runner: asyncio.Runner, interrupt: Interrupt) -> None:
        self.overlay = overlay
        self._logs = logs
        self._begin = time.monotonic_ns()
        self._addresses = overlay.brokers.addresses
        self._runner = runner
        self._interrupt = interrupt
        self._sessions: dict[str, _Open] = {}
        """The sessions that are open, by the names of their ends: a broker, or a client and a broker."""
        self._latest: dict[ClientId, ClientSession] = {}
        self._left: list[ClientSession] = []
        self._passed: dict[tuple[str, int], asyncio.Event] = {}

    def open_session(self, broker: BrokerId, on_event: Callable[[ClientEvent], None]) -> ClientSession:
        return self._run(self._open(broker, broker, on_event))

    def open_own(
        self, client: ClientId, broker: BrokerId, on_event: Callable[[ClientEvent], None], access: CaseAccess
    ) -> ClientSession:
        opened = self._open(_own(client, broker), broker, on_event, self._latest.get(client))
        session = self._latest[client] = self._run(opened)
        return session

    def leave(self, client: ClientId, broker: BrokerId, how: Departure) -> None:
        session = self._sessions.pop(_own(client, broker)).session
        self._left.append(session)
        self._run(self._crash(session) if how is Departure.CRASH else session.close())

    def strike(self, client: ClientId, broker: BrokerId, op: ClientFaultOp) -> None:
        raise ValueError(f"{op}: clients of a case on real brokers have no hosts")

    def break_session(self, broker: BrokerId) -> None:
        self._run(self._break(self._sessions[broker].session))

    def hand_over(self) -> None:
        self._run(self._pass_barriers())

    def pass_time(self, seconds: float) -> None:
        self._run(asyncio.sleep(seconds))

    def losses(self) -> Sequence[TraceRecord]:
        """Waits until all logs go on after this moment, as those of running brokers do every second."""
        now, brokers, down = time.monotonic_ns(), list(self._addresses), self.overlay.expected.down
        losses, behind = losses_between(self._logs, brokers, self._begin, now)
        deadline = time.monotonic() + _LOGS_WITHIN
        while behind - down and time.monotonic() < deadline:
            try:
                self.pass_time(_CHECK_INTERVAL)
            except UnsettledError:
                break  # a broker has ended, with all that it logged
            losses, behind = losses_between(self._logs, brokers, self._begin, now)
        return losses

    def close(self) -> None:
        """Ends the sessions, as clients do that leave."""
        self._runner.run(self._close())

    def _run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Raises `Interrupted` as soon as the user asks for the end, `UnsettledError` when a broker ends by itself."""
        return self._runner.run(self._unless_interrupted(work))

    async def _open(
        self,
        end: str,
        broker: BrokerId,
        on_event: Callable[[ClientEvent], None],
        former: ClientSession | None = None,
    ) -> ClientSession:
        limits = SessionLimits(reconnect_first=LIMITS.reconnect_first, reconnect_last=LIMITS.reconnect_last)
        session = ClientSession(self._addresses[broker], partial(self._receive, end, on_event), limits)
        if former is not None:
            session.succeed(former)
        try:
            await session.open()
        except ConnectError as error:
            raise UnsettledError(str(error)) from error
        self._sessions[end] = _Open(broker, session, f"{_BARRIER}-{end}")
        return session

    async def _crash(self, session: ClientSession) -> None:
        session.crash()

    async def _break(self, session: ClientSession) -> None:
        """Breaks a session's stream on the event loop, to which streams belong."""
        session.break_stream()

    async def _close(self) -> None:
        sessions = [*(opened.session for opened in self._sessions.values()), *self._left]
        await asyncio.gather(*(session.close() for session in sessions))
        self._sessions.clear()

    def _receive(self, end: str, on_event: Callable[[ClientEvent], None], event: ClientEvent) -> None:
        if (passed := self._passed.get((end, event.number))) is not None:
            passed.set()
        else:
            on_event(event)

    async def _unless_interrupted(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                self._interrupt.check()
                self.overlay.require_running()
                await asyncio.wait((task,), timeout=_CHECK_INTERVAL)
            return task.result()
        finally:
            task.cancel()

    async def _pass_barriers(self) -> None:
        down = self.overlay.expected.down
        running = [(end, opened) for end, opened in self._sessions.items() if opened.broker not in down]
        try:
            async with asyncio.timeout(SETTLE_WITHIN):
                await asyncio.gather(*(self._pass_barrier(end, opened) for end, opened in running))
        except TimeoutError:
            raise UnsettledError(f"a broker has not answered its clients for {SETTLE_WITHIN:g} seconds") from None

    async def _pass_barrier(self, end: str, opened: _Open) -> None:
        """Passes another barrier if a new stream carried it, because declarations overtake publications there."""
        session = opened.session
        while True:
            connections = session.connections
            number = session.submit(opened.barrier, Operation.ATTACH)
            passed = self._passed[end, number] = asyncio.Event()
            try:
                await passed.wait()
            finally:
                del self._passed[end, number]
            if session.connections == connections:
                return


def _own(client: ClientId, broker: BrokerId) -> str:
    """The name of the end of a session of a client's own."""
    return f"{client} at {broker}"
