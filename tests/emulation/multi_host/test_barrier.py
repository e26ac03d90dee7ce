"""Barriers of two hosts that are addresses of the loopback interface."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import cast
from unittest.mock import MagicMock

import pytest

from emulation.multi_host.barrier import LEAD, HostBarrier
from emulation.multi_host.clocks import ClockWatch
from emulation.multi_host.signals import Signals, await_signal
from emulation.network.echo import TOKEN_BYTES, FarHost
from emulation.network.host_tunnels import ResponderProcess
from emulation.run.context import HostRunContext
from record.errors import HostError
from record.manifest import ClockOffset
from record.time_units import SECOND

ADDRESSES = {"h1": "127.0.0.11", "h2": "127.0.0.12"}
PORT = 14888
TOKEN = bytes(range(TOKEN_BYTES))
LONG = 30.0
SHORT = 1.0
AHEAD = 1000
"""Seconds by which the clock of h2 is ahead of the run's, as h2 measures it."""


def measured(offset: float) -> ClockWatch:
    """A clock watch that has measured this offset in seconds."""
    return cast(ClockWatch, MagicMock(latest=lambda: ClockOffset(at=0, offset=int(offset * SECOND), error=0)))


@pytest.fixture
def barrier(tmp_path: Path) -> Iterator[Callable[[str, float], HostBarrier]]:
    """Makes the barrier of a host, whose responder then replies."""
    with ExitStack() as stack:

        def make(host: str, patience: float) -> HostBarrier:
            responder = ResponderProcess("run", ADDRESSES[host], PORT, TOKEN)
            stack.callback(responder.stop)
            others = {
                name: stack.enter_context(closing(FarHost(address, PORT, TOKEN)))
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
        assert before + LEAD < begin.result(LONG)


def test_a_moment_that_has_passed_is_an_error(barrier: Callable[[str, float], HostBarrier]) -> None:
    first, second = barrier("h1", LONG), barrier("h2", LONG)
    second.clock = measured(AHEAD)
    with ThreadPoolExecutor() as pool:
        begin = pool.submit(first.begin, time.sleep)
        with pytest.raises(HostError, match=r"the moment to begin came 99\d\.\d s late"):
            second.begin(time.sleep)
        begin.result(LONG)


def test_a_host_that_does_not_come_is_named(barrier: Callable[[str, float], HostBarrier]) -> None:
    waiting = barrier("h1", SHORT)
    with pytest.raises(HostError, match=r"waited 1 s for the other hosts \(wired\): 127\.0\.0\.12 does not reply"):
        waiting.wait_for_all("wired", time.sleep)
    other = barrier("h2", SHORT)
    with pytest.raises(HostError, match=r"for the other hosts \(probed\): h1 did not reach it"):
        other.wait_for_all("probed", time.sleep)  # h1 has reached another stage
