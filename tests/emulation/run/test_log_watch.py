"""Changes of logs that happen while their nodes run, and that the watch names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from emulation.run.log_watch import LogWatch

QUOTA = 1000


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    for node in ("B1", "B2"):
        (folder / f"{node}.jsonl").write_text("{}\n{}\n")
    return folder


def replaced(log: Path) -> None:
    content = log.read_bytes()
    log.unlink()
    log.write_bytes(content)


def linked(log: Path) -> None:
    log.rename(log.with_suffix(".old"))
    log.symlink_to(log.with_suffix(".old"))


def shrunk(log: Path) -> None:
    os.truncate(log, 3)


def rewritten(log: Path) -> None:
    """Shorter for less than the time between two looks, but then shorter than it was."""
    log.write_text("{}\n")


def full(log: Path) -> None:
    log.write_bytes(b"x" * QUOTA)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (Path.unlink, r"^B2: its log was removed$"),
        (replaced, r"^B2: its log was replaced by another file$"),
        (linked, r"^B2: its log was replaced by another file$"),
        (shrunk, r"^B2: its log shrank from 6 to 3 bytes$"),
        (rewritten, r"^B2: its log shrank from 6 to 3 bytes$"),
        (full, r"^B2: its log reached its quota of 1kB \(`logs\.quota`\)$"),
    ],
)
def test_what_is_done_to_a_log_names_its_node(logs: Path, change: Callable[[Path], object], found: str) -> None:
    with LogWatch(logs, QUOTA) as watch:
        change(logs / "B2.jsonl")
    (fault,) = [fault for fault in watch.faults if fault.startswith("B2:")]
    assert re.search(found, fault)


def test_a_pipe_among_the_logs_is_named_and_does_not_block(logs: Path) -> None:
    with LogWatch(logs, QUOTA) as watch:
        os.mkfifo(logs / "zz.jsonl")
    assert watch.faults == ["zz: what stands in the place of its log is no file"]


def test_logs_that_only_grow_and_appear_are_as_they_should_be(logs: Path) -> None:
    with LogWatch(logs, QUOTA) as watch:
        for _ in range(3):
            with (logs / "B1.jsonl").open("ab") as log:
                log.write(b"{}\n")
            watch.look()
        (logs / "publishers.jsonl").write_bytes(b"{}\n")
    assert watch.faults == []


def test_a_change_that_was_seen_once_stays_known(logs: Path) -> None:
    with LogWatch(logs, QUOTA) as watch:
        os.truncate(logs / "B1.jsonl", 0)
        watch.look()
        (logs / "B1.jsonl").write_bytes(b"{}\n" * 100)
    assert watch.faults == ["B1: its log shrank from 6 to 0 bytes"]


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a log to another user, which takes root")
def test_logs_are_their_writers_only_while_these_run(logs: Path) -> None:
    os.chown(logs / "B1.jsonl", 12345, 12345)
    with LogWatch(logs, QUOTA):
        assert (logs / "B1.jsonl").stat().st_uid == 12345
    assert (logs / "B1.jsonl").stat().st_uid == logs.stat().st_uid
