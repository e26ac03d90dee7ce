"""The first signal ends a run in order, the second at once, and none may stop the teardown."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from emulation.run.interrupt import Interrupt, Interrupted, QuickStop


def test_a_signal_wakes_whoever_waits() -> None:
    with Interrupt() as interrupt:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM)).start()
        with pytest.raises(Interrupted):
            interrupt.wait(60)
        assert interrupt.asked


def test_a_second_signal_stops_at_once() -> None:
    with Interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupt.asked
        with pytest.raises(QuickStop):
            os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)  # the third finds the teardown in progress


def test_no_signal_stops_the_teardown() -> None:
    with Interrupt() as interrupt:
        interrupt.teardown = True
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Interrupted):
            interrupt.check()


def test_a_signal_is_not_kept_once_nothing_is_left_to_be_ended() -> None:
    with Interrupt() as interrupt:
        interrupt.release()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert not interrupt.asked


def test_the_previous_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Interrupt():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
