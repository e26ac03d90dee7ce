"""Reference loops take processor time, and leave nothing open."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import pytest

from emulation.host import reference_loops
from emulation.host.reference_loops import Reference, time_of


def test_all_loops_of_a_host_take_time_and_close_what_they_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_loops, "ROUNDS", 2)
    before = sorted(Path("/proc/self/fd").iterdir())
    assert all(time_of(reference) > 0 for reference in Reference)
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_the_quickest_round_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = iter((0, 900, 1000, 1300, 2000, 2800))
    monkeypatch.setattr(reference_loops, "ROUNDS", 3)
    monkeypatch.setattr(reference_loops, "thread_time_ns", lambda: next(rounds))
    assert time_of(Reference.INTERPRETER) == 300


def test_a_part_of_the_rounds_is_made_where_that_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_loops, "ROUNDS", 60)
    made: list[int] = []
    monkeypatch.setattr(reference_loops, "_timed", lambda _: made.append(1) or len(made))
    assert (time_of(Reference.INTERPRETER), len(made)) == (1, 60)
    assert (time_of(Reference.INTERPRETER, 10), len(made)) == (61, 65)


def test_rounds_are_on_all_processors_and_the_thread_goes_where_it_was_allowed_to_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allowed = os.sched_getaffinity(0)
    monkeypatch.setattr(reference_loops, "ROUNDS", 60)
    with mock.patch.object(os, "sched_setaffinity", wraps=os.sched_setaffinity) as moved:
        time_of(Reference.SYSCALLS)
    assert {processor for call in moved.call_args_list[:-1] for processor in call.args[1]} == allowed
    assert os.sched_getaffinity(0) == allowed


def test_a_slow_processor_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    here = [0]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, processors: here.append(min(processors)))
    monkeypatch.setattr(reference_loops, "_timed", lambda _: 700 if here[-1] == 0 else 350)
    assert time_of(Reference.INTERPRETER) == 350
