"""The page of a run: it never decides how a run ends, and a finished run is one file that needs no network."""

from __future__ import annotations

import base64
import gzip
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from rich.console import Console

from analysis.live import serving
from command_line.commands.live import LivePage, live_page
from command_line.commands.replay import replay_run
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.errors import HostError, RunDirectoryError, UserError
from record.exit_codes import ExitCode
from scenario.loading import load_text
from tests.analysis.live.test_server import SCENARIO


def console() -> Console:
    return Console(file=StringIO(), width=200)


def printed(shown: Console) -> str:
    assert isinstance(shown.file, StringIO)
    return shown.file.getvalue()


def test_the_server_runs_as_long_as_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **options))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    shown = console()
    with live_page(LivePage.RUN, tmp_path, shown):
        assert started[0].poll() is None
    assert started[0].returncode == 0
    assert re.search(r"live     http://127\.0\.0\.1:\d+/\?token=\S+", printed(shown))


def test_a_server_that_dies_or_never_starts_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    shown = console()
    with live_page(LivePage.RUN, tmp_path, shown):
        pass
    assert "no page: its server did not start" in printed(shown)


@pytest.fixture
def _no_free_port(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Has a server try a single port, which somebody else listens on."""
    with socket.create_server((serving.LOOPBACK, 0)) as occupied:
        port = occupied.getsockname()[1]
        monkeypatch.setattr(serving, "PORTS_TRIED", 1)
        monkeypatch.setattr(serving.PageServer.__init__, "__defaults__", (port,))
        yield


@pytest.mark.usefixtures("_no_free_port")
def test_a_page_without_a_port_says_why_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    serving.serve_while_it_goes_on(MagicMock())
    why = capsys.readouterr().out
    assert why.startswith("no page: ports ")
    assert "of 127.0.0.1: Address already in use; end what listens there" in why
    said = tmp_path / "said"
    said.write_text(f"#!/bin/sh\necho '{why.strip()}'\n")
    said.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(said))
    shown = console()
    with live_page(LivePage.RUN, tmp_path, shown):
        pass
    assert printed(shown) == f"live     {why}"


@pytest.mark.usefixtures("_no_free_port")
def test_a_replay_without_a_port_names_the_option_that_needs_none(tmp_path: Path) -> None:
    run = simulate(make_plan(load_text(SCENARIO, "pair.yaml")), tmp_path).directory
    with pytest.raises(HostError, match=r"ports .* in use; .* --html FILE"):
        replay_run(run, None)


def test_a_replay_is_one_file_that_asks_for_nothing(tmp_path: Path) -> None:
    run = simulate(make_plan(load_text(SCENARIO, "pair.yaml")), tmp_path).directory
    assert replay_run(run, tmp_path / "page.html") is ExitCode.CORRECT
    page = (tmp_path / "page.html").read_text()
    (packed,) = re.findall(r'type="application/gzip"[^>]*>([^<]+)<', page)
    assert 'data-feed="replay"' in page
    assert b'"over":true' in gzip.decompress(base64.b64decode(packed))
    assert not re.search(r"(src|href)=|https?://", page)


def test_what_is_no_run_and_a_file_that_cannot_be_written_are_said(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError):
        replay_run(tmp_path, None)
    run = simulate(make_plan(load_text(SCENARIO, "pair.yaml")), tmp_path).directory
    with pytest.raises(UserError, match="--html"):
        replay_run(run, tmp_path / "nowhere" / "page.html")
