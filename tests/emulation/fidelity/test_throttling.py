"""Quota periods from cgroup files of both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.fidelity.throttling import (
    QuotaCounters,
    Throttling,
    count_host_periods,
    count_periods,
    host_throttling,
    throttling,
)


@pytest.mark.parametrize(
    ("membership", "directory"),
    [("0::/docker/abc", "docker/abc"), ("4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc", "cpu,cpuacct/docker/abc")],
    ids=["version 2", "version 1"],
)
def test_periods_are_added_up_over_processes(membership: str, directory: str, tmp_path: Path) -> None:
    proc, cgroups = tmp_path / "proc", tmp_path / "cgroup"
    for pid in ("11", "12"):
        (proc / pid).mkdir(parents=True)
        (proc / pid / "cgroup").write_text(membership)
    (cgroups / directory).mkdir(parents=True)
    (cgroups / directory / "cpu.stat").write_text("nr_periods 100\nnr_throttled 25\nthrottled_time 7\n")
    assert count_periods([11, 12, 13], proc, cgroups) == QuotaCounters(200, 50)


def test_the_share_is_of_the_periods_between_two_counts() -> None:
    assert throttling(0.5, QuotaCounters(100, 10), QuotaCounters(300, 60)) == Throttling(0.5, 0.25)
    assert throttling(0.5, QuotaCounters(100, 10), QuotaCounters(100, 10)) is None


def test_a_quota_further_up_counts_too(tmp_path: Path) -> None:
    proc, cgroups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "11").mkdir(parents=True)
    (proc / "11" / "cgroup").write_text("0::/machine/session")
    (cgroups / "machine" / "session").mkdir(parents=True)
    (tmp_path / "cpu.stat").write_text("nr_periods 1\nnr_throttled 1\n")
    (cgroups / "machine" / "cpu.stat").write_text("nr_periods 100\nnr_throttled 10\n")
    (cgroups / "machine" / "session" / "cpu.stat").write_text("usage_usec 5\nnr_periods 0\nnr_throttled 0\n")
    before = count_host_periods(11, proc, cgroups)
    assert before.keys() == {cgroups / "machine", cgroups / "machine" / "session"}
    (cgroups / "machine" / "cpu.stat").write_text("nr_periods 140\nnr_throttled 20\n")
    assert host_throttling(before, count_host_periods(11, proc, cgroups)) == 0.25
    assert host_throttling(before, before) == 0.0
