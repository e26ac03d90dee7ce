"""Clients on sites that move: which of their sessions are open, silent or closed, and where their operations go."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest

from emulation.drivers.site_end import SiteEnd
from emulation.drivers.site_sessions import SiteSessions
from record.handover import Handover


class Session:
    """Stands for a session of the client library; notes what is done to it."""

    def __init__(self, broker: str) -> None:
        self.address = broker
        self.make_socket: Callable[[], socket.socket] | None = None
        self.reads: float | None = None
        self.done: list[str] = []
        self.former: Session | None = None

    def succeed(self, former: Session) -> None:
        self.former = former

    def restart(self) -> None:
        self.done.append(f"open {self.address}")

    def crash(self) -> None:
        self.done.append("crash")

    def pause(self) -> None:
        self.done.append("pause")

    def resume(self) -> None:
        self.done.append("resume")

    def fall_silent(self) -> None:
        self.done.append("fall silent")

    async def close(self) -> None:
        self.done.append("close")


class Clients:
    """Stands for the logical clients of a driver."""

    def __init__(self) -> None:
        self.away: set[str] = set()
        self.moved: dict[str, str] = {}

    def move(self, client: str, broker: str) -> None:
        self.moved[client] = broker


class Moving:
    """One client S1, which is at broker B1 at first, and a client of another driver."""

    def __init__(self) -> None:
        self.clients = Clients()
        self.sessions: list[Session] = []
        self.of_driver = SiteSessions(self._make, self.clients)  # type: ignore[arg-type]
        self.of_driver.place("S1", end("B1"))

    def _make(self, client: str, broker: str) -> Session:
        self.sessions.append(Session(broker))
        return self.sessions[-1]

    def depart(self, handover: Handover) -> None:
        asyncio.run(self.of_driver.depart(["S1", "S9"], "B2", handover))

    def arrive(self) -> None:
        self.of_driver.arrive(dict.fromkeys(("S1", "S9"), end("B2")))

    @property
    def done(self) -> list[list[str]]:
        return [session.done for session in self.sessions]


def end(broker: str) -> SiteEnd:
    return SiteEnd(broker, f"address of {broker}", 1, None)


@pytest.mark.parametrize(("handover", "ends"), [(Handover.UNANNOUNCED, "fall silent"), (Handover.ANNOUNCED, "close")])
def test_a_hard_handover_ends_one_session_and_opens_another_on_arrival(handover: Handover, ends: str) -> None:
    moving = Moving()
    moving.depart(handover)
    first, second = moving.sessions
    assert moving.done == [[ends], []]
    assert second.former is first
    assert moving.clients.moved == {"S1": "B2"}, "what the client does from now on waits for the next session"
    moving.arrive()
    assert moving.done == [[ends], ["open address of B2"]]


def test_a_soft_handover_keeps_both_sessions_until_the_end() -> None:
    moving = Moving()
    moving.arrive()
    assert moving.done == [[], ["open address of B2"]]
    assert moving.clients.moved == {"S1": "B2"}
    moving.depart(Handover.MAKE_BEFORE_BREAK)
    assert moving.done == [["close"], ["open address of B2"]]


def test_a_client_that_crashes_with_two_sessions_ends_both_and_returns_with_one() -> None:
    moving = Moving()
    moving.arrive()
    moving.clients.away.add("S1")
    moving.of_driver.crash(["S1"])
    moving.depart(Handover.MAKE_BEFORE_BREAK)
    moving.clients.away.discard("S1")
    moving.of_driver.restart(["S1"])
    assert moving.done == [["crash"], ["open address of B2", "crash", "open address of B2"]]


def test_a_client_that_does_not_run_opens_no_session_on_arrival() -> None:
    moving = Moving()
    moving.depart(Handover.UNANNOUNCED)
    moving.clients.away.add("S1")
    moving.arrive()
    moving.clients.away.discard("S1")
    assert moving.done[1] == []
    moving.of_driver.restart(["S1"])
    assert moving.done[1] == ["open address of B2"]


def test_a_client_that_runs_again_on_its_way_waits_for_its_arrival() -> None:
    moving = Moving()
    moving.depart(Handover.ANNOUNCED)
    moving.of_driver.restart(["S1"])
    assert moving.done[1] == []
    moving.arrive()
    assert moving.done[1] == ["open address of B2"]


def test_a_frozen_client_announces_nothing_and_connects_when_it_continues() -> None:
    moving = Moving()
    moving.of_driver.pause(["S1"])
    moving.depart(Handover.ANNOUNCED)
    moving.arrive()
    assert moving.done == [["pause", "fall silent"], []]
    moving.of_driver.resume(["S1"])
    assert moving.done[1] == ["resume", "open address of B2"]


def test_sessions_that_were_left_are_closed_with_the_driver() -> None:
    moving = Moving()
    moving.depart(Handover.UNANNOUNCED)
    asyncio.run(moving.of_driver.close())
    assert moving.done[0] == ["fall silent", "close"]
