"""Tasks in forked processes: results, messages, errors, and no process that is left."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

import pytest

from record.errors import HostError
from record.forked_processes import Ended, ForkedProcesses, WorkFailedError, forked


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    assert not multiprocessing.active_children()


def messages_of(workers: ForkedProcesses[Any]) -> list[tuple[int, Any]]:
    """All messages, in the order of their tasks, until no task runs."""
    found: list[tuple[int, Any]] = []
    while workers.running:
        found += workers.receive()
    return sorted(found, key=lambda message: message[0])


def named(number: int) -> str:
    return f"task {number}"


def test_processes_know_what_this_one_knew_and_send_messages_before_their_results() -> None:
    known = [10, 20, 30]

    def do(number: int, connection: Connection) -> int:
        connection.send(f"begins {number}")
        return known[number]

    with forked(2, do, named) as workers:
        for number in (0, 1):
            workers.begin(number)
        assert workers.running == {0, 1}
        assert messages_of(workers) == [
            (0, "begins 0"),
            (0, Ended(10, None)),
            (1, "begins 1"),
            (1, Ended(20, None)),
        ]
        workers.begin(2)
        assert messages_of(workers)[-1] == (2, Ended(30, None))


def test_a_task_hears_that_it_should_end() -> None:
    def do(_number: int, connection: Connection) -> object:
        return connection.recv()

    with forked(1, do, named) as workers:
        workers.begin(1)
        workers.ask_to_end()
        assert messages_of(workers) == [(1, Ended(None, None))]


def test_the_error_of_a_task_is_raised_where_its_result_is_taken() -> None:
    def do(number: int, _connection: Connection) -> int:
        if number == 0:
            raise HostError("no room")
        return 1 // 0

    with forked(2, do, named) as workers:
        for number in (0, 1):
            workers.begin(number)
        (_, told), (_, broken) = messages_of(workers)
    with pytest.raises(HostError, match=r"^no room$"):
        told.taken()
    with pytest.raises(ZeroDivisionError) as raised:
        broken.taken()
    assert "in do" in "".join(raised.value.__notes__)


def test_a_process_that_is_killed_is_an_error_that_names_its_task() -> None:
    def do(_number: int, _connection: Connection) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with forked(1, do, named) as workers:
        workers.begin(7)
        with pytest.raises(WorkFailedError, match=r"^task 7: its process was killed by SIGKILL$"):
            messages_of(workers)


def test_signals_are_for_the_parent() -> None:
    def do(_number: int, _connection: Connection) -> str:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(os.getpid(), number)
        return "done"

    with forked(1, do, named) as workers:
        workers.begin(0)
        assert messages_of(workers) == [(0, Ended("done", None))]
