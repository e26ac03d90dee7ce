"""Barriers of two hosts that are addresses of the loopback interface."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import cast
from unittest.mock import MagicMock

import pytest

from emulation.multi_host import barrier as barrier_module
from emulation.multi_host.barrier import HostBarrier
from emulation.multi_host.clocks import ClockWatch
from emulation.multi_host.signals import Signals, await_signal
from emulation.network.host_tunnels import ResponderProcess
from emulation.network.probing.echo import TOKEN_BYTES, FarHost, StageReply
from emulation.run.context import HostRunContext
from record.errors import HostError
from record.manifest import ClockOffset
from record.time_units import SECOND
from tests.waiting import await_true

ADDRESSES = {"h1": "127.0.0.11", "h2": "127.0.0.12"}
TOKEN = bytes(range(TOKEN_BYTES))
LONG = 30.0
AMPLE = 20.0
"""Seconds between the announcement of the beginning and the beginning, enough for a busy host."""
AHEAD = 1000
"""Seconds by which the clock of h2 is ahead of the run's, as h2 measures it."""


@pytest.fixture
def port() -> int:
    """A port that is free at all addresses, because tests beside this one use these addresses, too."""
    with ExitStack() as stack:
        free = 0
        for address in ADDRESSES.values():
            probe = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            probe.bind((address, free))
            free = probe.getsockname()[1]
    return free


def measured(offset: float) -> ClockWatch:
    """A clock watch that has measured this offset in seconds."""
    return cast(ClockWatch, MagicMock(latest=lambda: ClockOffset(at=0, offset=int(offset * SECOND), error=0)))


@pytest.fixture(autouse=True)
def ample_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(barrier_module, "LEAD", AMPLE)


@pytest.fixture
def barrier(tmp_path: Path, port: int) -> Iterator[Callable[[str, float], HostBarrier]]:
    """Makes the barrier of a host, whose responder then replies."""
    with ExitStack() as stack:

        def make(host: str, patience: float) -> HostBarrier:
            responder = ResponderProcess("run", ADDRESSES[host], port, TOKEN)
            stack.callback(responder.stop)
            others = {
                name: stack.enter_context(closing(FarHost(address, port, TOKEN)))
                for name, address in ADDRESSES.items()
                if name != host
            }
            made = HostBarrier(
                responder, others, Signals(tmp_path / host), MagicMock(HostRunContext), variant=0, patience=patience
            )
            if host != "h1":
                made.clock = measured(-AHEAD)
            return made

        yield make


def test_no_host_goes_on_before_all_have_arrived(barrier: Callable[[str, float], HostBarrier], tmp_path: Path) -> None:
    first, second = barrier("h1", LONG), barrier("h2", LONG)
    asked = threading.Event()

    def wait(seconds: float) -> None:
        asked.set()
        time.sleep(seconds)

    with ThreadPoolExecutor() as pool:
        arrived = pool.submit(first.wait_for_all, "wired", wait)
        assert asked.wait(LONG)
        assert not arrived.done()
        await_signal(tmp_path / "h1", "0-wired", LONG)
        second.wait_for_all("wired", time.sleep)
        arrived.result(LONG)


def test_each_host_gets_the_votes_of_all(barrier: Callable[[str, float], HostBarrier]) -> None:
    first, second = barrier("h1", LONG), barrier("h2", LONG)
    with ThreadPoolExecutor() as pool:
        votes = pool.submit(first.votes, "quiet", 2, time.sleep)
        assert second.votes("quiet", 0, time.sleep) == [0, 2]
        assert votes.result(LONG) == [2, 0]


def test_hosts_begin_at_the_same_moment_each_by_its_own_clock(barrier: Callable[[str, float], HostBarrier]) -> None:
    first, second = barrier("h1", LONG), barrier("h2", LONG)
    with ThreadPoolExecutor() as pool:
        before = time.monotonic()
        begin = pool.submit(first.begin, time.sleep)
        assert second.begin(time.sleep) == pytest.approx(begin.result(LONG) + AHEAD)
        assert before + AMPLE < begin.result(LONG)
    assert first.clock_offset == 0
    assert second.clock_offset == pytest.approx(-AHEAD * SECOND)


def test_a_moment_that_has_passed_is_an_error(barrier: Callable[[str, float], HostBarrier]) -> None:
    first, second = barrier("h1", LONG), barrier("h2", LONG)
    second.clock = measured(AHEAD)
    with ThreadPoolExecutor() as pool:
        begin = pool.submit(first.begin, time.sleep)
        with pytest.raises(HostError, match=r"the moment to begin came 9\d\d\.\d s late"):
            second.begin(time.sleep)
        begin.result(LONG)


def test_a_host_that_does_not_come_is_named(barrier: Callable[[str, float], HostBarrier]) -> None:
    with pytest.raises(HostError, match=r"waited 0 s for the other hosts \(wired\): 127\.0\.0\.12 does not reply"):
        barrier("h1", 0.0).wait_for_all("wired", time.sleep)


def test_a_host_that_replies_and_does_not_come_is_named(tmp_path: Path) -> None:
    other = MagicMock(FarHost)
    other.stage.return_value = StageReply(reached=False, value=0)
    waiting = HostBarrier(
        MagicMock(ResponderProcess),
        {"h2": other},
        Signals(tmp_path),
        MagicMock(HostRunContext),
        variant=0,
        patience=0.0,
    )
    with pytest.raises(HostError, match=r"waited 0 s for the other hosts \(wired\): h2 did not reach it"):
        waiting.wait_for_all("wired", time.sleep)


def test_a_responder_replies_for_the_stages_that_were_announced(
    barrier: Callable[[str, float], HostBarrier], port: int
) -> None:
    announcing = barrier("h1", 0.0)
    announcing._announce("wired", 7)
    with closing(FarHost(ADDRESSES["h1"], port, TOKEN)) as far:
        await_true(lambda: far.stage("wired") == StageReply(reached=True, value=7), "the stage is known")
        await_true(lambda: far.stage("probed") == StageReply(reached=False, value=0), "no other stage is")
