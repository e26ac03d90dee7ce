"""Following by Structured Streaming: taken up where it was, nothing twice, and the analysis at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from analysis.live import LIVE_SUMMARY, Follower, LiveSummary, following
from analysis.live.following import DIRECTORY
from analysis.tables.summary import read_summary
from command_line.commands import follow
from record.errors import HostError, RunDirectoryError
from record.exit_codes import ExitCode
from tests.analysis.history import SECOND, joined, write_run

FIDELITY = b'{"verdict":"VALID","variants":[]}'


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """One in progress: five publications are in the logs, one of them halfway."""
    history = joined("base")
    for number in range(5):
        history.publish(f"P:{number}", 110 + number).notify(f"P:{number}", at=110.1 + number)
    run = write_run(tmp_path / "run", [history], fidelity=None)
    manifest = msgspec.json.decode((run / "manifest.json").read_bytes())
    manifest["variants"][0]["phases"] = manifest["variants"][0]["phases"][:1]
    (run / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    log = run / "logs" / "driver.jsonl"
    log.write_bytes(log.read_bytes()[:-10])
    return run


def grow(run: Path, since: int, count: int) -> None:
    """The torn line is ended as its writer would, and more come."""
    history = joined("base")
    of_joining = len(history.records)
    for number in range(since, since + count):
        history.publish(f"P:{number}", 110 + number).notify(f"P:{number}", at=110.1 + number)
    with (run / "logs" / "driver.jsonl").open("ab") as log:
        log.write(b"\n")
        for record in history.records[of_joining:]:
            log.write(msgspec.json.encode(record) + b"\n")


def base(summary: LiveSummary | None) -> tuple[int, int]:
    assert summary is not None
    (variant,) = summary.variants
    return variant.published, variant.notified


@pytest.fixture
def one_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def lent(_master: str) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr(following, "open_session", lent)
    monkeypatch.setattr(follow.os, "nice", lambda _: 0)


@pytest.mark.usefixtures("one_session")
def test_a_stream_is_taken_up_where_it_was(run: Path) -> None:
    shown: list[LiveSummary] = []

    def show(summary: LiveSummary) -> None:
        shown.append(summary)
        if base(summary) == (5, 4):
            grow(run, 5, 3)
        elif base(summary) == (8, 7):
            raise KeyboardInterrupt

    def show_again(summary: LiveSummary) -> None:
        shown.append(summary)
        assert base(summary) <= (10, 9)
        if base(summary) == (10, 9):
            (run / "fidelity.json").write_bytes(FIDELITY)

    with pytest.raises(KeyboardInterrupt):
        Follower(run, batch_seconds=0.1).follow(show, lambda _: None)
    assert msgspec.json.decode((run / LIVE_SUMMARY).read_bytes())["provisional"] is True
    commits = run / DIRECTORY / "checkpoint" / "commits"
    (commits / str(shown[-1].batch)).unlink(missing_ok=True)  # as if killed just before it was written
    (commits / f".{shown[-1].batch}.crc").unlink(missing_ok=True)
    grow(run, 8, 2)
    summary = Follower(run, batch_seconds=0.1).follow(show_again, lambda _: None)
    assert base(shown[-1]) == (10, 9)
    assert summary.variants[0].delivery.published == 10


@pytest.mark.usefixtures("one_session")
def test_the_end_of_the_run_is_the_analysis_of_all_of_it(run: Path) -> None:
    shown: list[LiveSummary] = []

    def show(summary: LiveSummary) -> None:
        shown.append(summary)
        grow(run, 5, 5)
        (run / "fidelity.json").write_bytes(FIDELITY)

    summary = Follower(run, batch_seconds=0.1).follow(show, lambda _: None)
    assert base(shown[0]) == (5, 4)
    assert summary.variants[0].delivery.published == 10
    assert summary == read_summary(run)
    assert {path.name for path in run.iterdir()} == {
        "fidelity.json", "logs", "manifest.json", "results", "summary.json", "topology.json",
    }  # fmt: skip


@pytest.mark.usefixtures("one_session")
def test_an_interrupt_keeps_what_is_known(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(follow._Lines, "show", interrupt)
    assert follow.follow_run(run, None, None) is ExitCode.INTERRUPTED
    said = capsys.readouterr().out
    assert f"`brokerlab analyze {run} --follow` takes it up again" in said
    assert (run / DIRECTORY).is_dir()
    assert (run / LIVE_SUMMARY).exists()


@pytest.mark.usefixtures("one_session")
def test_what_fails_in_a_batch_is_told(run: Path) -> None:
    def show(_: LiveSummary) -> None:
        (run / "manifest.json").write_bytes(b"{")
        grow(run, 5, 1)

    with pytest.raises(HostError, match=r"manifest\.json"):
        Follower(run, batch_seconds=0.1).follow(show, lambda _: None)


def test_a_run_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="no such run directory"):
        Follower(tmp_path / "none").follow(lambda _: None, lambda _: None)


def test_what_is_shown(run: Path) -> None:
    text = following_screen(run)
    assert "provisional, from 9 records" in text
    assert "base" in text
    assert "kill of B2 lasts" in text


def following_screen(run: Path) -> str:
    fault = {"kind": "kill", "what": ["B2"], "began_ns": SECOND, "healed_ns": None}
    numbers = dict.fromkeys(
        ("published", "notified", "under_way", "judged", "rejected", "expected", "delivered", "optional", "excused",
         "lost", "duplicate", "spurious", "missing"), 1
    )  # fmt: skip
    variant = {"name": "base", "phase": "run", "delay": None, "messages": [], "faults": [fault], **numbers}
    summary = {"run_id": run.name, "batch": 0, "records": 9, "torn": 0, "malformed": 0, "variants": [variant]}
    console = Console(width=160, force_terminal=True, color_system=None)
    with console.capture() as captured, follow._board(console) as board:
        board.show(msgspec.convert(summary, LiveSummary))
    return captured.get()
