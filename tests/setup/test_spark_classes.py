from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from analysis.engines import spark_session
from setup.spark_classes import remove_unfinished, write_archive

OPTION = "-XX:ArchiveClassesAtExit="


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Archives that Java wrote, each when its context was closed."""
    written: list[Path] = []

    @contextmanager
    def open_session(_master: str, java_options: Sequence[str]) -> Iterator[MagicMock]:
        yield MagicMock()
        (option,) = java_options
        archive = Path(option.removeprefix(OPTION))
        archive.write_bytes(b"classes")
        written.append(archive)

    monkeypatch.setattr(spark_session, "open_session", open_session)
    return written


def test_an_archive_gets_its_name_when_it_is_whole_and_replaces_those_of_other_builds(
    writes: list[Path], tmp_path: Path
) -> None:
    directory = tmp_path / "spark"
    directory.mkdir()
    former = directory / "classes-former.jsa"
    former.write_bytes(b"")
    archive = directory / "classes-present.jsa"
    write_archive(archive)
    assert [file.name for file in directory.iterdir()] == [archive.name]
    assert archive.read_bytes() == b"classes"
    assert writes != [archive]


def test_what_a_killed_set_up_has_left_is_removed_and_what_another_writes_is_not(tmp_path: Path) -> None:
    left, written, whole = (tmp_path / f"classes-a.{end}" for end in ("unfinished-1", "unfinished-2", "jsa"))
    for file in (left, written, whole):
        file.write_bytes(b"")
    for file in (left, whole):
        os.utime(file, (0, 0))
    remove_unfinished(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted((written, whole))


def test_a_java_that_ends_before_it_has_written_leaves_no_archive(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    @contextmanager
    def open_session(_master: str, java_options: Sequence[str]) -> Iterator[MagicMock]:
        assert len(java_options) == 1
        yield MagicMock()

    monkeypatch.setattr(spark_session, "open_session", open_session)
    with pytest.raises(FileNotFoundError):
        write_archive(tmp_path / "classes-present.jsa")
    assert not [*tmp_path.iterdir()]
