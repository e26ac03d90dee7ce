"""Writes at the end of the callback in which they became due."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from broker_service.transport.duplex import DueWrites


class Writes:
    """Writes that are noted when they are made."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.made: list[str] = []
        self.due = DueWrites()
        self._loop = loop

    def add(self, name: str) -> None:
        self.add_call(lambda: self.made.append(name))

    def add_call(self, write: Callable[[], None]) -> None:
        self.due.add(write, self._loop)


@pytest.fixture
def writes() -> Iterator[Writes]:
    """Writes on an event loop that runs only when a test lets it."""
    with asyncio.Runner() as runner:
        yield Writes(runner.get_loop())


def test_writes_are_made_at_the_end_of_the_outermost_callback_in_their_order(writes: Writes) -> None:
    with writes.due:
        writes.add("first")
        with writes.due:
            writes.add("second")
        assert not writes.made
    assert writes.made == ["first", "second"]
    with writes.due:
        pass
    assert writes.made == ["first", "second"]


def test_a_callback_that_fails_still_has_its_writes_made(writes: Writes) -> None:
    with pytest.raises(ValueError, match="failed"), writes.due:
        writes.add("due")
        raise ValueError("failed")
    assert writes.made == ["due"]


def test_writes_that_become_due_meanwhile_are_made_too(writes: Writes) -> None:
    with writes.due:
        writes.add_call(lambda: writes.add("meanwhile"))
    assert writes.made == ["meanwhile"]


def test_writes_that_become_due_outside_of_callbacks_are_made_once_the_event_loop_runs() -> None:
    with asyncio.Runner() as runner:
        writes = Writes(runner.get_loop())
        writes.add("first")
        writes.add("second")
        assert not writes.made
        with writes.due:
            writes.add("third")
        assert writes.made == ["first", "second", "third"]
        writes.add("fourth")
        runner.run(asyncio.sleep(0))
        assert writes.made == ["first", "second", "third", "fourth"]
