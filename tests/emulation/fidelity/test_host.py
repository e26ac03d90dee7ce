"""Shares of CPU time from /proc counters, checked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.fidelity.host import HostSample, own_share, processor_times, sample, use


def test_counters_are_read_from_proc(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu  100 1 20 700 30 4 5 60 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
    (tmp_path / "pressure").mkdir()
    (tmp_path / "pressure" / "cpu").write_text("some avg10=1.00 avg60=0.50 avg300=0.10 total=2500000\n")
    found = sample(tmp_path)
    assert (found.idle, found.busy, found.steal) == (730, 190, 60)
    assert found.cpu_waiting == 2.5
    assert found.memory_waiting is None


def test_use_is_what_changed_between_first_and_last_sample() -> None:
    samples = [
        HostSample(time=10.0, busy=100, idle=100, steal=0, cpu_waiting=1.0, memory_waiting=None),
        HostSample(time=11.0, busy=190, idle=110, steal=0, cpu_waiting=1.5, memory_waiting=None),
        HostSample(time=12.0, busy=240, idle=160, steal=4, cpu_waiting=2.0, memory_waiting=None),
    ]
    used = use(samples)
    assert used is not None
    assert used.idle == pytest.approx(60 / 200)
    assert used.steal == pytest.approx(4 / 200)
    assert used.cpu_pressure == pytest.approx(0.5)
    assert used.memory_pressure is None


def test_no_time_has_no_use() -> None:
    only = HostSample(time=1.0, busy=1, idle=1, steal=0, cpu_waiting=None, memory_waiting=None)
    assert use([only]) is None
    assert use([only, only]) is None


def test_this_host_can_be_sampled() -> None:
    found = sample()
    assert found.idle + found.busy > 0


def test_the_share_of_some_processes_is_of_all_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    for pid, ticks in (("7", "100 50 20 10"), ("8", "0 30 0 0")):
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "stat").write_text(f"{pid} (a ) b) S " + "0 " * 10 + ticks + " 20 0 1\n")
    before = processor_times([7, 9], tmp_path)
    assert before == {7: 1.8}
    after = {7: 2.8, **processor_times([8], tmp_path)}
    assert own_share(before, after, 2.0) == pytest.approx((1.0 + 0.3) / 2 / 2)
    assert own_share({7: 5.0}, {7: 1.0}, 1.0) == 0
    assert own_share(before, after, 0.0) is None
