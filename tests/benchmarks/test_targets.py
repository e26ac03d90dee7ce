"""Targets are kept or missed by measured values, and missed ones are named and end a benchmark with exit code 1."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.support.growth import Growth
from benchmarks.support.references import speed_of
from benchmarks.targets import Bound, Judgement, Target, conclude
from emulation.host import reference_loops
from emulation.host.reference_loops import Reference, time_of

SPEED = Target("speed of the hall", Bound.AT_LEAST, 20, "m/s")
MEMORY = Target("memory of the attic", Bound.AT_MOST, 4096, "MB")
ERRORS = Target("errors in the cellar", Bound.AT_MOST, 0)


@pytest.mark.parametrize(
    ("target", "measured", "kept"),
    [
        (SPEED, 19.99, False),
        (SPEED, 20, True),
        (SPEED, 21, True),
        (MEMORY, 4095, True),
        (MEMORY, 4096, True),
        (MEMORY, 4096.5, False),
        (ERRORS, 0, True),
        (ERRORS, 1, False),
    ],
)
def test_a_value_keeps_its_target_or_not(target: Target, measured: float, kept: bool) -> None:
    assert target.judge(measured).kept is kept


def test_kept_targets_end_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert conclude([SPEED.judge(25), MEMORY.judge(1000)]) == 0
    shown = capsys.readouterr()
    assert "speed of the hall" in shown.out
    assert "MISSED" not in shown.out + shown.err


def test_a_missed_target_is_named_with_its_value_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert conclude([SPEED.judge(25), MEMORY.judge(5000)]) == 1
    shown = capsys.readouterr()
    assert shown.err.splitlines() == ["MISSED memory of the attic: 5,000 MB, target at most 4,096 MB"]
    assert shown.out.count("MISSED") == 1


def test_a_miss_on_an_idle_host_outweighs_one_on_a_busy_host(capsys: pytest.CaptureFixture[str]) -> None:
    busy = replace(SPEED.judge(15), others=0.2)
    assert conclude([busy]) == 3
    assert "MISSED" not in capsys.readouterr().err
    assert conclude([busy, MEMORY.judge(5000)]) == 1
    assert conclude([replace(SPEED.judge(25), others=0.2), replace(SPEED.judge(20), others=0.0)]) == 0


def test_a_benchmark_without_judgements_ends_well() -> None:
    assert conclude([]) == 0


def test_growth_is_printed_below_the_targets(capsys: pytest.CaptureFixture[str]) -> None:
    growth = Growth("guests", {10: 4.0, 1000: 2.0}, "the width of the door")
    conclude([SPEED.judge(25, growth), MEMORY.judge(1000)])
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "growth over a factor of 100:",
        "  speed of the hall: 0.5 times from 10 to 1,000 guests; bounded by the width of the door",
    ]


def test_nothing_is_printed_of_growth_where_one_size_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    conclude([SPEED.judge(25)])
    assert "growth" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "speed", "limit"),
    [
        (Target("walk", Bound.AT_MOST, 10, "s", Reference.INTERPRETER), 2.0, 5),
        (Target("walk", Bound.AT_MOST, 10, "s", Reference.INTERPRETER), 0.5, 20),
        (Target("pace", Bound.AT_LEAST, 10, "m/s", Reference.LOOPBACK), 2.0, 20),
        (Target("pace", Bound.AT_LEAST, 10, "m/s", Reference.LOOPBACK), 0.5, 5),
    ],
)
def test_a_faster_machine_has_to_be_faster_and_a_slower_one_may_be_slower(
    target: Target, speed: float, limit: float
) -> None:
    assert Judgement(target, limit, speed=speed).kept
    worse = limit * 1.01 if target.bound is Bound.AT_MOST else limit / 1.01
    assert not Judgement(target, worse, speed=speed).kept


def test_the_speed_of_the_reference_is_measured_beside_the_figure() -> None:
    target = Target("walk", Bound.AT_MOST, 10, "s", Reference.INTERPRETER)
    assert target.judge(1).speed == speed_of(Reference.INTERPRETER) != 1
    assert MEMORY.judge(1).speed == 1


@pytest.mark.parametrize("reference", Reference)
def test_every_reference_has_a_loop_that_takes_time(reference: Reference, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_loops, "ROUNDS", 5)
    assert time_of(reference) > 0


def test_a_known_defect_is_explained_and_does_not_fail(capsys: pytest.CaptureFixture[str]) -> None:
    known = Target("height of the tower", Bound.AT_LEAST, 50, "m", defect="the money was spent on the hall")
    assert conclude([known.judge(20)]) == 0
    shown = capsys.readouterr()
    assert "known defect: height of the tower: the money was spent on the hall" in shown.out
    assert not shown.err


def test_a_known_defect_that_is_gone_is_named_so_that_it_is_taken_off_the_list(
    capsys: pytest.CaptureFixture[str],
) -> None:
    known = Target("height of the tower", Bound.AT_LEAST, 50, "m", defect="the money was spent on the hall")
    assert conclude([known.judge(60)]) == 0
    assert "is kept now, so it is no defect any more" in capsys.readouterr().out
