"""Calls in forked processes: results, errors, and no process that is left."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from functools import partial

import pytest

from record.errors import HostError
from record.forked_calls import called_beside, results_of
from record.forked_processes import WorkFailedError


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    assert not multiprocessing.active_children()


def own(number: int) -> tuple[int, int]:
    return number, os.getpid()


def refuse() -> int:
    raise HostError("no room")


def be_killed() -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def test_results_come_in_the_order_of_the_calls() -> None:
    found = results_of([partial(own, number) for number in range(5)], "call", 2)
    assert [number for number, _ in found] == list(range(5))
    assert os.getpid() not in {process for _, process in found}
    assert len({process for _, process in found}) <= 2


def test_one_process_makes_calls_itself() -> None:
    here = os.getpid()
    assert results_of([partial(own, 1), partial(own, 2)], "call", 1) == [(1, here), (2, here)]
    assert results_of([partial(own, 1)], "call", 2) == [(1, here)]
    with called_beside(partial(own, 3), "call", 1) as awaited:
        assert awaited() == (3, here)


def test_a_call_is_made_beside_the_block() -> None:
    with called_beside(partial(own, 3), "call", 2) as awaited:
        number, process = awaited()
    assert number == 3
    assert process != os.getpid()


def test_a_call_whose_result_nobody_wants_is_given_up() -> None:
    with called_beside(signal.pause, "call", 2):
        pass


@pytest.mark.parametrize("processes", [1, 2])
def test_errors_of_calls_are_raised(processes: int) -> None:
    with pytest.raises(HostError, match="no room"):
        results_of([refuse, refuse], "call", processes)
    with called_beside(refuse, "call", processes) as awaited, pytest.raises(HostError, match="no room"):
        awaited()


def test_a_process_that_was_killed_is_named() -> None:
    with pytest.raises(WorkFailedError, match="part 2: its process was killed by SIGKILL"):
        results_of([lambda: 1, be_killed], "part", 2)
    with called_beside(be_killed, "the replay", 2) as awaited, pytest.raises(WorkFailedError, match="the replay"):
        awaited()
