"""Quota periods from cgroup files of both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.fidelity.throttling import QuotaCounters, Throttling, count_periods, throttling


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
