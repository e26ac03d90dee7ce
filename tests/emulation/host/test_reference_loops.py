"""Reference loops take processor time, and leave nothing open."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.host import reference_loops
from emulation.host.reference_loops import Reference, loop_times, time_of


def test_all_loops_of_a_host_take_time_and_close_what_they_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_loops, "ROUNDS", 2)
    before = sorted(Path("/proc/self/fd").iterdir())
    times = loop_times()
    assert min(times.interpreter, times.system_calls, times.loopback) > 0
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_the_quickest_round_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = iter((0, 900, 1000, 1300, 2000, 2800))
    monkeypatch.setattr(reference_loops, "ROUNDS", 3)
    monkeypatch.setattr(reference_loops, "thread_time_ns", lambda: next(rounds))
    assert time_of(Reference.INTERPRETER) == 300
