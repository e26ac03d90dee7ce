"""Files of a run directory are replaced whole, and logs are found by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from record.files import log_file, log_files, replace_file


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
