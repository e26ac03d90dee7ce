"""Requests reach the run that is held, and are refused before it is up and when it ends."""

from __future__ import annotations

import socket
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from emulation.held.held_runs import HeldRun, held_run
from emulation.held.hold import Hold
from emulation.held.requests import (
    MOST_REQUEST_BYTES,
    Done,
    Ended,
    EndRequest,
    HealRequest,
    Refused,
    Status,
    StatusRequest,
    read_answer,
    read_request,
)
from emulation.held.server import served, socket_of
from emulation.host.registry import register
from record.errors import BadInputError, HostError


def held(directory: Path) -> HeldRun:
    return HeldRun("run", directory, 1, socket_of(directory))


def test_a_request_is_answered_between_begin_and_finish() -> None:
    hold = Hold(10, 1000)
    assert isinstance(hold.ask(HealRequest()), Refused)
    hold.begin()
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(hold.ask, HealRequest(["B1"]))
        while not (waiting := list(hold.take())):
            pass
        waiting[0].answer.set_result(Done("healed"))
        assert first.result() == Done("healed")
        late = threads.submit(hold.ask, HealRequest())
        hold.finish()
        assert "ending" in str(late.result())
    assert hold.ask(StatusRequest()) == Status(phase="ending", left=10, log_quota=1000)
    assert isinstance(hold.ask(HealRequest()), Refused)


def test_whoever_asks_for_the_end_waits_for_the_verdict(tmp_path: Path) -> None:
    hold = Hold(10, 1000)
    with ThreadPoolExecutor(1) as threads:
        with served(hold, tmp_path):
            asked = threads.submit(held(tmp_path).ask, EndRequest())
            assert hold.end_asked.wait(10)
        assert not socket_of(tmp_path).exists() or not asked.done()
        hold.judged(3)
        assert asked.result() == Ended(3)


def test_only_its_user_opens_the_socket_and_messages_are_bounded(tmp_path: Path) -> None:
    hold = Hold(10, 1000)
    with served(hold, tmp_path):
        assert stat.S_IMODE(socket_of(tmp_path).parent.stat().st_mode) == 0o700
        assert held(tmp_path).ask(StatusRequest()) == hold.status
        for sent in (b"x" * (MOST_REQUEST_BYTES + 100), b"{}\n", b"\xff\xfe\n"):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(socket_of(tmp_path)))
                connection.sendall(sent)
                assert isinstance(read_answer(connection.makefile("rb").readline()), Refused)
    assert isinstance(read_request(b'{"type":"status"}'), Refused), "no end of the line"
    with pytest.raises(HostError, match="ended before it answered"):
        read_answer(b"")


def test_a_run_is_found_by_a_part_of_its_name(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no run is held here; `brokerlab up FILE` starts one"):
        held_run(None, tmp_path)
    for name in ("1-smoke-a", "2-line-b"):
        directory = register(name, tmp_path / name / "journal.jsonl", tmp_path)
        socket_of(directory).parent.mkdir()
        socket_of(directory).touch()
    register("3-not-held", tmp_path / "journal.jsonl", tmp_path)
    assert held_run("line", tmp_path).run_id == "2-line-b"
    assert held_run("1-smoke-a", tmp_path).directory == tmp_path / "1-smoke-a"
    with pytest.raises(BadInputError, match="BROKERLAB_HELD_RUN: 1-smoke-a, 2-line-b"):
        held_run(None, tmp_path)
    with pytest.raises(BadInputError, match="no run whose name has 'x'"):
        held_run("x", tmp_path)
