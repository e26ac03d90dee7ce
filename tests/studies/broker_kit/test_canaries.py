"""Canaries find rest whichever broker hears of the others' subscriptions first."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from studies.broker_kit import canaries
from studies.broker_kit.canaries import Canaries
from studies.broker_kit.failures import RowFailure
from studies.broker_kit.raw_stream import Operation

BROKERS = ("B1", "B2")


class Stream:
    """The stream of a canary, in place of one to a broker."""

    def __init__(self, name: str, overlay: Overlay) -> None:
        self._name = name
        self._overlay = overlay
        self.notified: asyncio.Queue[str] = asyncio.Queue()

    async def welcome(self) -> None: ...

    async def confirmed(self, *numbers: int) -> None: ...

    async def close(self) -> None: ...

    async def send(self, *requests: Any, session: str = "") -> None:
        for request in requests:
            if request.operation == Operation.OPERATION_PUBLISH:
                self._overlay.publish(self._name, request.id)

    async def notification(self) -> SimpleNamespace:
        return SimpleNamespace(id=await self.notified.get())


class Overlay:
    """Two brokers, of which B2 hears of B1's subscription only after so many of its own publications."""

    def __init__(self, late: int) -> None:
        self.streams = {name: Stream(name, self) for name in BROKERS}
        self._late = late

    def publish(self, broker: str, id: str) -> None:
        self._late -= broker == "B2"
        for name, stream in self.streams.items():
            if (broker, name) != ("B2", "B1") or self._late < 0:
                stream.notified.put_nowait(id)


async def look(monkeypatch: pytest.MonkeyPatch, late: int) -> None:
    overlay = Overlay(late)
    monkeypatch.setattr(canaries, "RawStream", SimpleNamespace(open=overlay.streams.__getitem__))
    monkeypatch.setattr(canaries, "_AGAIN", 0.0)
    await Canaries({name: name for name in BROKERS}, [frozenset(BROKERS)]).all_come()


@pytest.mark.parametrize("late", [0, 1, 10])
async def test_a_broker_publishes_until_all_the_others_have_heard_it(
    monkeypatch: pytest.MonkeyPatch, late: int
) -> None:
    await look(monkeypatch, late)


async def test_a_canary_that_never_comes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canaries, "COME_WITHIN", 0.1)
    with pytest.raises(RowFailure, match="canaries of B2 have not come to B1"):
        await look(monkeypatch, 10**9)
