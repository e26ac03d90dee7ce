"""The overlay of one case on real brokers. Calls return when what they do has happened."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from broker_service.client_library.client_session import ClientSession, ConnectError
from broker_service.messages import BrokerId, ClientEvent, Operation
from emulation.run.interrupt import Interrupt
from studies.conformance.host.brokers import HostBrokers
from studies.conformance.host.quiet import Settling
from studies.conformance.testbed import Tables, UnsettledError

CONNECT_WITHIN = 60.0
"""Seconds that all brokers of an overlay may take to start and to connect."""
SETTLE_WITHIN = 20.0
"""Seconds. A link that fails is noticed within one; starting a broker on a busy host takes several."""

_FIRST_LOOKS, _LATER_LOOKS = 0.005, 0.08
"""Seconds between two looks at an overlay that is not settled: most are soon; those that wait for a failure to be
noticed, or for a broker to start, are not worth the work of asking often."""
_CHECK_INTERVAL = 0.2
"""Seconds between two looks whether the user wants the end, and whether all that should run still does."""
_BARRIER = "conformance-barrier"
"""A client that only attaches: a session's operations and events keep their order, so its confirmation says that all
before it have been taken, and that all notifications before it have come."""

_Result = TypeVar("_Result")


class HostCase:
    """See the module. Works on the testbed's event loop, which runs only while a call lasts."""

    def __init__(self, brokers: HostBrokers, runner: asyncio.Runner, interrupt: Interrupt) -> None:
        self._brokers = brokers
        self._runner = runner
        self._interrupt = interrupt
        self._sessions: dict[BrokerId, ClientSession] = {}
        self._passed: dict[tuple[BrokerId, int], asyncio.Event] = {}

    def open_session(self, broker: BrokerId, on_event: Callable[[ClientEvent], None]) -> ClientSession:
        return self._run(self._open(broker, on_event))

    def hand_over(self) -> None:
        self._run(self._pass_barriers())

    def come_up(self) -> None:
        """Waits until the brokers, which are just starting, are all connected. Raises `UnsettledError`."""
        self._run(self._settle(CONNECT_WITHIN))

    def settle(self) -> None:
        self._run(self._settle(SETTLE_WITHIN))

    def let_pass(self, seconds: float) -> None:
        self._run(asyncio.sleep(seconds))

    def kill(self, broker: BrokerId) -> None:
        self._brokers.kill(broker)

    def restart(self, broker: BrokerId) -> None:
        self._brokers.restart(broker)

    def cut(self, a: BrokerId, b: BrokerId) -> None:
        self._brokers.cut(a, b)

    def restore(self, a: BrokerId, b: BrokerId) -> None:
        self._brokers.restore(a, b)

    def tables(self) -> Tables:
        return self._run(self._brokers.controls.tables(self._brokers.expected.living))

    def close(self) -> None:
        """Ends the sessions, as clients do that leave."""
        self._runner.run(self._close())

    def _run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Raises `Interrupted` as soon as the user asks for the end, `UnsettledError` when a broker ends by itself."""
        return self._runner.run(self._unless_interrupted(work))

    async def _open(self, broker: BrokerId, on_event: Callable[[ClientEvent], None]) -> ClientSession:
        session = ClientSession(self._brokers.addresses[broker], partial(self._hear, broker, on_event))
        try:
            await session.open()
        except ConnectError as error:
            raise UnsettledError(str(error)) from error
        self._sessions[broker] = session
        return session

    async def _close(self) -> None:
        await asyncio.gather(*(session.close() for session in self._sessions.values()))
        self._sessions.clear()

    def _hear(self, broker: BrokerId, on_event: Callable[[ClientEvent], None], event: ClientEvent) -> None:
        if (passed := self._passed.get((broker, event.number))) is not None:
            passed.set()
        else:
            on_event(event)

    async def _unless_interrupted(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                self._interrupt.check()
                self._brokers.check()
                await asyncio.wait((task,), timeout=_CHECK_INTERVAL)
            return task.result()
        finally:
            task.cancel()

    async def _settle(self, within: float) -> None:
        brokers = self._brokers
        deadline = time.monotonic() + within
        await self._pass_barriers()
        settling = Settling(brokers.expected)
        interval = _FIRST_LOOKS
        while not settling.look(await brokers.controls.ask(brokers.expected.living)):
            if time.monotonic() > deadline:
                raise UnsettledError(f"not settled after {within:g} seconds: {settling.obstacle}")
            await asyncio.sleep(interval)
            interval = min(1.5 * interval, _LATER_LOOKS)
        await self._pass_barriers()

    async def _pass_barriers(self) -> None:
        living = [broker for broker in self._sessions if broker in self._brokers.expected.living]
        try:
            async with asyncio.timeout(SETTLE_WITHIN):
                await asyncio.gather(*(self._pass_barrier(broker, self._sessions[broker]) for broker in living))
        except TimeoutError:
            raise UnsettledError(f"a broker has not answered its clients for {SETTLE_WITHIN:g} seconds") from None

    async def _pass_barrier(self, broker: BrokerId, session: ClientSession) -> None:
        number = session.submit(_BARRIER, Operation.ATTACH)
        passed = self._passed[broker, number] = asyncio.Event()
        try:
            await passed.wait()
        finally:
            del self._passed[broker, number]
