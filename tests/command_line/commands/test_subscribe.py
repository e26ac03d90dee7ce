"""`brokerlab subscribe --follow` shows what its own client gets, with contents, and withdraws at Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line.commands import subscribe
from command_line.commands.log import Tail
from emulation.held.held_runs import HeldRun
from emulation.held.requests import Done, Request, SubscribeRequest, UnsubscribeRequest
from record.files import LOGS, log_file

PUBLISHED = '{"event":"publish","id":"P1:7","strings":{"class":"DEMO"},"numbers":{"level":2}}\n'
NOTIFIED = '{"event":"notified","client":"%s","id":"P1:7","hops":2}\n'


def test_a_tail_gives_lines_once_they_are_complete(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("earlier\n")
    tail = Tail(path)
    with path.open("a") as log:
        for written, complete in (("fir", []), ("st\nsecond\nth", ["first", "second"]), ("ird\n", ["third"])):
            log.write(written)
            log.flush()
            assert tail.read() == complete


def test_notifications_of_its_own_client_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Request] = []

    def done(_: HeldRun, request: Request) -> Done:
        asked.append(request)
        return Done(type(request).__name__, "by-hand-B3-1", "s1")

    def lines(_: HeldRun, tail: Tail) -> Iterator[str]:
        with log_file(logs, "publishers").open("a") as log:
            log.write(PUBLISHED)
        with log_file(logs, "subscribers").open("a") as log:
            log.write(NOTIFIED % "S1" + "torn {\n" + NOTIFIED % "by-hand-B3-1")
        yield from tail.read()
        raise KeyboardInterrupt

    logs = tmp_path / LOGS
    logs.mkdir()
    for node in ("publishers", "subscribers"):
        log_file(logs, node).touch()
    monkeypatch.setattr(HeldRun, "done", done)
    monkeypatch.setattr(subscribe, "held_run", lambda _: HeldRun("run", tmp_path, 1, tmp_path / "socket"))
    monkeypatch.setattr(subscribe, "new_lines", lines)
    subscribe.subscribe_and_follow(None, "B3", "[class,eq,'DEMO']")
    assert capsys.readouterr().out.splitlines() == [
        "SubscribeRequest", "P1:7  2 hops  [class,'DEMO'],[level,2]", "UnsubscribeRequest",
    ]  # fmt: skip
    assert asked == [SubscribeRequest("B3", "[class,eq,'DEMO']"), UnsubscribeRequest("by-hand-B3-1")]
