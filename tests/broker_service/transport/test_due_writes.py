"""Writes at the end of the callback in which they became due."""

from __future__ import annotations

import asyncio

import pytest

from broker_service.transport.due_writes import DueWrites


class Writes:
    """Writes that are noted when they are made."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.due = DueWrites()

    def add(self, name: str) -> None:
        self.due.add(lambda: self.made.append(name))


def test_writes_are_made_at_the_end_of_the_outermost_callback_in_their_order() -> None:
    writes = Writes()
    with writes.due:
        writes.add("first")
        with writes.due:
            writes.add("second")
        assert not writes.made
    assert writes.made == ["first", "second"]
    with writes.due:
        pass
    assert writes.made == ["first", "second"]


def test_a_callback_that_fails_still_has_its_writes_made() -> None:
    writes = Writes()
    with pytest.raises(ValueError, match="failed"), writes.due:
        writes.add("due")
        raise ValueError("failed")
    assert writes.made == ["due"]


def test_writes_that_become_due_meanwhile_are_made_too() -> None:
    writes = Writes()
    with writes.due:
        writes.due.add(lambda: writes.add("meanwhile"))
    assert writes.made == ["meanwhile"]


async def test_writes_that_become_due_outside_of_callbacks_are_made_soon_and_once() -> None:
    writes = Writes()
    writes.add("first")
    writes.add("second")
    assert not writes.made
    with writes.due:
        writes.add("third")
    assert writes.made == ["first", "second", "third"]
    writes.add("fourth")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert writes.made == ["first", "second", "third", "fourth"]
