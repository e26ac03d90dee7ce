"""Patience with a start lasts as long as something comes up."""

from __future__ import annotations

import os

import pytest

from emulation.runtimes.patience import Patience, busy_processors


class Clock:
    time = 0.0

    def __call__(self) -> float:
        return self.time


def test_progress_puts_the_end_off() -> None:
    clock = Clock()
    patience = Patience(30, clock)
    for clock.time, up in ((29, 1), (58, 2), (87, 3)):
        assert not patience.has_ended(up)
    for clock.time, ended in ((117, False), (117.5, True)):
        assert patience.has_ended(3) is ended


def test_what_goes_down_again_is_no_progress() -> None:
    clock = Clock()
    patience = Patience(30, clock)
    assert not patience.has_ended(5)
    for clock.time, up in ((20, 4), (29, 5)):
        assert not patience.has_ended(up)
    clock.time = 31
    assert patience.has_ended(5)


@pytest.mark.parametrize(("load", "named"), [(0.5, False), (400.0, True)])
def test_busy_processors_are_named(monkeypatch: pytest.MonkeyPatch, load: float, named: bool) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    found = busy_processors()
    assert (found is not None) is named
    assert found is None or "400.0 processes" in found
