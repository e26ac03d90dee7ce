"""Files of a run directory are replaced whole, and logs are found by their names."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from record.files import log_file, log_files, open_file, open_log, read_file, replace_file


def test_a_file_is_replaced_and_nothing_else_stays(tmp_path: Path) -> None:
    replace_file(tmp_path / "manifest.json", b"old")
    replace_file(tmp_path / "manifest.json", b"new")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"manifest.json": b"new"}


def test_a_file_that_cannot_be_replaced_leaves_no_part(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").mkdir()  # a directory in the way: the rename fails, after the part was written
    with pytest.raises(IsADirectoryError):
        replace_file(tmp_path / "manifest.json", b"new")
    assert [file.name for file in tmp_path.iterdir()] == ["manifest.json"]


def test_the_logs_of_a_run_are_those_of_its_nodes_by_name(tmp_path: Path) -> None:
    for node in ("B2", "B10", "driver"):
        log_file(tmp_path, node).touch()
    (tmp_path / "emulator.log").touch()
    assert [log.name for log in log_files(tmp_path)] == ["B10.jsonl", "B2.jsonl", "driver.jsonl"]


@pytest.mark.parametrize("read", [read_file, open_file, open_log])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, read: Callable[[Path], object]) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is a pipe or a device"):
        read(tmp_path / "pipe")


def test_a_log_is_not_read_through_a_link_and_another_file_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert read_file(tmp_path / "link") == b"content"
    with pytest.raises(OSError, match="symbolic links"):
        open_log(tmp_path / "link")


def test_a_huge_file_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="larger than 256 MiB"):
        read_file(tmp_path / "huge")
