"""The server of a run's page: loopback, a token, events of what has changed, and an end with its standard input."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from urllib.error import HTTPError

import msgspec
import pytest

from analysis.live.frames import State
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from scenario.loading import load_text

SOURCE = Path(__file__).resolve().parents[3]
WITHIN = 30
SCENARIO = """
name: pair
topology: {kind: line, brokers: 2, link: {delay: 5ms}}
routing: {protocol: tid}
workload:
  publications: {source: stocks, publishers: 1, rate: 10/s}
  subscriptions: {subscribers: 1, selectivity: 100%}
timeline: {join: 1s, run: 2s, drain: 1s}
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of a run that has not begun yet, and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "analysis.live.server", str(tmp_path / "run")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=SOURCE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    yield process, process.stdout.readline().strip()
    process.kill()
    process.wait()


def opened(address: str, path: str) -> HTTPResponse:
    response = urllib.request.urlopen(address.replace("/?", f"/{path}?"), timeout=WITHIN)
    assert isinstance(response, HTTPResponse)
    return response


def event(stream: HTTPResponse) -> State:
    """The next state of a stream of events."""
    while not (line := stream.readline()).startswith(b"data: "):
        assert line, "the stream has ended"
    return msgspec.json.decode(line.removeprefix(b"data: "), type=State)


def test_a_page_is_followed_from_before_the_run_to_its_end(
    server: tuple[subprocess.Popen[str], str], tmp_path: Path
) -> None:
    process, address = server
    assert address.startswith("http://127.0.0.1:")
    page = opened(address, "")
    assert "default-src 'self'" in (page.headers["Content-Security-Policy"] or "")
    text = page.read().decode()
    assert "http" not in text and "Nothing has been logged yet" in text
    stream = opened(address, "events")
    assert not event(stream).variants
    made = simulate(make_plan(load_text(SCENARIO, "pair.yaml")), tmp_path / "made").directory
    made.rename(tmp_path / "run")
    assert process.stdin is not None
    while not (state := event(stream)).variants:
        pass
    process.stdin.close()
    while not state.over:
        state = event(stream)
    assert process.wait(WITHIN) == 0
    assert state.scenario == "pair"


def test_without_the_token_nothing_is_told(server: tuple[subprocess.Popen[str], str]) -> None:
    address = server[1]
    for wrong in (address.partition("?")[0], address[:-1], address.replace("/?", "/state?t")):
        with pytest.raises(HTTPError, match="403"):
            urllib.request.urlopen(wrong, timeout=WITHIN)
    with pytest.raises(HTTPError, match="404"):
        opened(address, "logs")


def test_a_port_that_is_taken_is_passed_over(server: tuple[subprocess.Popen[str], str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "analysis.live.server", str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=SOURCE, text=True) as second:
        assert second.stdout is not None
        assert second.stdin is not None
        assert second.stdout.readline().partition("/?")[0] not in {server[1].partition("/?")[0], ""}
        second.stdin.close()
        assert second.wait(WITHIN) == 0
