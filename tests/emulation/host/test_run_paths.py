"""The paths of runs, and the errors when they cannot be made."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from emulation.host.run_paths import RunPaths
from record.errors import BadInputError, HostError

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives directories to the brokers' user, which takes root")


@needs_root
def test_a_broker_may_write_its_log_and_nothing_else(tmp_path: Path) -> None:
    paths = RunPaths.of("r1", tmp_path)
    paths.make()
    log, other = paths.provide_log("B1"), paths.provide_log("B2")
    assert log.stat().st_uid == log.stat().st_gid == paths.users.of("B1") != other.stat().st_uid
    assert paths.logs.stat().st_uid == paths.directory.stat().st_uid == os.geteuid()
    assert not stat.S_IMODE(paths.logs.stat().st_mode) & 0o022
    assert not stat.S_IMODE(log.stat().st_mode) & 0o022


@needs_root
@pytest.mark.parametrize("what", ["link", "pipe"])
def test_no_log_is_made_through_what_is_no_file(tmp_path: Path, what: str) -> None:
    paths = RunPaths.of("r1", tmp_path)
    paths.make()
    victim = tmp_path / "victim"
    if what == "link":
        (paths.logs / "B1.jsonl").symlink_to(victim)
    else:
        os.mkfifo(paths.logs / "B1.jsonl")
    with pytest.raises(HostError, match=r"cannot make the log .*B1\.jsonl"):
        paths.provide_log("B1")
    assert not victim.exists()


def test_a_full_disk_is_noticed_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        f_bavail, f_frsize = 1000, 4096

    monkeypatch.setattr(os, "statvfs", lambda path: Full())
    with pytest.raises(HostError, match=r"200 MB are free .* --out"):
        RunPaths.of("r1", tmp_path / "new" / "out").make()
    assert not list(tmp_path.iterdir()), "nothing is left of a run that was not begun"


def test_a_directory_that_cannot_be_made_is_a_wrong_use_of_the_option(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        BadInputError, match=r"^--out .*/file: Not a directory; choose a directory that can be written$"
    ):
        RunPaths.of("r1", tmp_path / "file").make()


def test_a_disk_that_fills_up_is_no_wrong_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", no_space)
    with pytest.raises(HostError, match=r"no space left on the disk of .* --out"):
        RunPaths.of("r1", tmp_path).make()


def test_socket_paths_fit_the_kernels_limit_even_for_long_names() -> None:
    from datetime import UTC, datetime

    from emulation.planning.plan import make_run_id

    run_id = make_run_id("x" * 200, datetime(2026, 1, 31, tzinfo=UTC), "1a2b")
    assert len(str(RunPaths.of(run_id, Path("runs")).socket("broker-with-a-rather-long-name-32"))) <= 107


@pytest.mark.parametrize("name", ["../../etc", "a b", "x=1/y", "ä"])
def test_a_variants_directory_stays_below_the_run_directory(name: str, tmp_path: Path) -> None:
    paths = RunPaths.of("r1", tmp_path)
    assert paths.variant(name).parent == paths.directory / "variants"
