"""Patience with a start lasts as long as something comes up."""

from __future__ import annotations

import os

import pytest

from emulation.runtimes.patience import Patience, busy_processors, processor_share


class Clock:
    time = 0.0

    def __call__(self) -> float:
        return self.time


def idle() -> float:
    return 1.0


def test_progress_puts_the_end_off() -> None:
    clock = Clock()
    patience = Patience(30, clock, idle)
    for clock.time, up in ((29, 1), (58, 2), (87, 3)):
        assert not patience.has_ended(up)
    for clock.time, ended in ((117, False), (117.5, True)):
        assert patience.has_ended(3) is ended


def test_what_goes_down_again_is_no_progress() -> None:
    clock = Clock()
    patience = Patience(30, clock, idle)
    assert not patience.has_ended(5)
    for clock.time, up in ((20, 4), (29, 5)):
        assert not patience.has_ended(up)
    clock.time = 31
    assert patience.has_ended(5)


def test_seconds_of_a_busy_host_count_less() -> None:
    clock, shares = Clock(), iter([1.0, 0.5, 0.5, 0.25, 0.25])
    patience = Patience(30, clock, lambda: next(shares))
    for clock.time, ended in ((10, False), (30, False), (48, False), (51, False), (53, True)):
        assert patience.has_ended(-1) is ended


@pytest.mark.parametrize(("load", "share"), [(0.0, 1.0), (2.0, 1.0), (4.0, 0.5), (400.0, 0.25)])
def test_the_share_of_a_process_follows_from_the_load(
    monkeypatch: pytest.MonkeyPatch, load: float, share: float
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert processor_share() == share


@pytest.mark.parametrize(("load", "named"), [(0.5, False), (400.0, True)])
def test_busy_processors_are_named(monkeypatch: pytest.MonkeyPatch, load: float, named: bool) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    found = busy_processors()
    assert (found is not None) is named
    assert found is None or "400.0 processes" in found
