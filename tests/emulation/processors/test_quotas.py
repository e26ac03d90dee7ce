"""Counters of control groups of both versions, and of the host, become intervals."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.processors.quotas import HostCounters, Quotas

OWN, BROKER, CHILD = 11, 12, 13


@pytest.fixture(params=["version 1", "version 2"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    return Host(tmp_path, version=1 if request.param == "version 1" else 2)


class Host:
    """The files of a host on which the run is in the group `run`, and a broker in one of its own."""

    def __init__(self, directory: Path, version: int) -> None:
        self.proc, self.cgroups = directory / "proc", directory / "cgroup"
        self._version = version
        self._root = self.cgroups / "cpu,cpuacct" if version == 1 else self.cgroups
        for pid, group in ((OWN, "run"), (BROKER, "docker/b2"), (CHILD, "run")):
            (self.proc / str(pid)).mkdir(parents=True)
            line = f"4:cpu,cpuacct:/{group}" if version == 1 else f"0::/{group}"
            (self.proc / str(pid) / "cgroup").write_text(
                f"7:memory:/{group}\n{line}\n" if version == 1 else line + "\n"
            )
        self.steal(0)

    def count(self, group: str, periods: int, microseconds: int) -> None:
        (self._root / group).mkdir(parents=True, exist_ok=True)
        time = f"throttled_time {microseconds * 1000}" if self._version == 1 else f"throttled_usec {microseconds}"
        (self._root / group / "cpu.stat").write_text(f"nr_periods {periods}\nnr_throttled {periods}\n{time}\n")

    def steal(self, ticks: int) -> None:
        self.proc.mkdir(exist_ok=True)
        (self.proc / "stat").write_text(f"cpu  1 2 3 4 5 6 7 {ticks} 0 0\ncpu0 1 2 3 4 5 6 7 9 0 0\n")


def test_a_quota_of_a_brokers_own_group_is_counted_from_when_it_is_there(host: Host) -> None:
    host.count("run", 0, 0)
    host.count("docker/b2", 0, 0)
    quotas = Quotas(OWN, host.proc, host.cgroups)
    for pid, node in ((BROKER, 3), (CHILD, 4), (99, 5)):
        quotas.watch(pid, node)
    quotas.search(1_000)
    assert list(quotas.look(2_000)) == [], "it has no quota yet"
    host.count("docker/b2", 1, 0)
    quotas.search(3_000)
    host.count("docker/b2", 2, 70)
    assert list(quotas.look(4_000)) == [(3, 3_000, 70_000)]
    assert list(quotas.look(5_000)) == []
    host.count("run", 9, 900)
    host.count("docker/b2", 3, 75)
    assert list(quotas.look(6_000)) == [(3, 5_000, 5_000)], "the run's own group holds back all"


def test_a_broker_that_has_ended_is_forgotten(host: Host) -> None:
    host.count("docker/b2", 1, 10)
    quotas = Quotas(OWN, host.proc, host.cgroups)
    quotas.watch(BROKER, 3)
    quotas.search(1_000)
    for file in host.cgroups.rglob("b2/cpu.stat"):
        file.unlink()
    assert list(quotas.look(2_000)) == []
    quotas.search(3_000)
    assert list(quotas.look(4_000)) == []


def test_what_the_host_takes_is_counted_between_looks(host: Host) -> None:
    host.count("run", 1, 10)
    counters = HostCounters(Quotas(OWN, host.proc, host.cgroups).around, host.proc)
    host.steal(100)
    assert list(counters.look(1_000)) == [], "it was before the run"
    assert list(counters.look(2_000)) == []
    host.steal(103)
    host.count("run", 2, 15)
    ((begin, stolen, held_back),) = counters.look(3_000)
    assert (begin, held_back) == (2_000, 5_000)
    assert stolen == 30_000_000, "three ticks of a hundred a second"
