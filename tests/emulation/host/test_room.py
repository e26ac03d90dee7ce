"""The room of hosts, as the kernel states it, and of several that share an overlay."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.host.room import Host, shared_by, this_host


def test_the_room_of_this_host_is_read_off_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:  100 kB\nMemAvailable:  64 kB\n")
    assert this_host(tmp_path, tmp_path / "none").memory == 64 << 10
    for name, text in (("max", "40000\n"), ("current", "30000\n"), ("stat", "anon 5\ninactive_file 2000\n")):
        (tmp_path / f"memory.{name}").write_text(text)
    assert this_host(tmp_path, tmp_path).memory == 12_000
    (tmp_path / "memory.max").write_text("max\n")
    assert this_host(tmp_path, tmp_path).memory == 64 << 10


@pytest.mark.parametrize(("quota", "processors"), [("150000 100000", 1), ("50000 100000", 1), ("max 100000", 3)])
def test_a_quota_of_the_container_bounds_the_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, processors: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2})
    (tmp_path / "meminfo").write_text("MemAvailable:  64 kB\n")
    (tmp_path / "cpu.max").write_text(f"{quota}\n")
    assert this_host(tmp_path, tmp_path).processors == processors


def test_hosts_that_share_an_overlay_count_as_much_as_the_smallest_each() -> None:
    hosts = {"a": Host(2, 100), "b": Host(8, 50), "c": Host(16, 400)}
    assert shared_by(hosts, dict.fromkeys(hosts, 1.0)) == Host(6, 150)
    assert shared_by(hosts, dict.fromkeys(hosts, 0.1)) == Host(6, 150)
    assert shared_by(hosts, {"a": 1.0, "b": 2.0, "c": 5.0}) == Host(16, 200)
