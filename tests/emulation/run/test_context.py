"""The emulator's own log."""

from __future__ import annotations

from pathlib import Path

from emulation.host.run_paths import RunPaths
from emulation.run.context import open_log


def test_a_line_is_written_at_once(tmp_path: Path) -> None:
    paths = RunPaths("run-1", tmp_path, tmp_path)
    open_log(paths).info("phase begins", phase="join")
    assert "phase=join" in (tmp_path / "emulator.log").read_text()


def test_a_full_disk_silences_it(tmp_path: Path) -> None:
    (tmp_path / "emulator.log").symlink_to("/dev/full")
    log = open_log(RunPaths("run-1", tmp_path, tmp_path))
    log.error("run failed", error="no space")
