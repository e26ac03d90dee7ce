from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Event
from unittest.mock import MagicMock

import pytest

from analysis.engines import spark_session
from setup.spark_classes import ensure_archive, write_archive

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


def test_what_a_killed_set_up_has_left_is_removed(tmp_path: Path) -> None:
    left, whole = (tmp_path / f"classes-a.{end}" for end in ("unfinished-1", "jsa"))
    for file in (left, whole):
        file.write_bytes(b"")
    ensure_archive(whole)
    assert [*tmp_path.iterdir()] == [whole]


def test_of_two_set_ups_at_once_one_writes_and_the_other_waits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first goes on when the second has come to the lock, and fails if it never comes."""
    archive = tmp_path / "spark" / "classes-present.jsa"
    first_writes, second_came = Event(), Event()
    lock, comers = fcntl.flock, count(1)

    def flock(descriptor: int, operation: int) -> None:
        if next(comers) == 2:
            second_came.set()
        lock(descriptor, operation)

    @contextmanager
    def open_session(_master: str, java_options: Sequence[str]) -> Iterator[MagicMock]:
        first_writes.set()
        assert second_came.wait(20)
        yield MagicMock()
        Path(java_options[0].removeprefix(OPTION)).write_bytes(b"classes")

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(spark_session, "open_session", open_session)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ensure_archive, archive)
        assert first_writes.wait(20)
        second = pool.submit(ensure_archive, archive)
        first.result(), second.result()
    assert [*archive.parent.iterdir()] == [archive]
    assert capsys.readouterr().out.count("archiving the classes") == 1


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
