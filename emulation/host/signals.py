"""Signals that ask a program to end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

ASKING_TO_END = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, `kill`, and a terminal that is closed."""


def handled_signals() -> list[signal.Signals]:
    """The signals of these that this process does not ignore; `nohup` makes it ignore some."""
    return [number for number in ASKING_TO_END if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def like_ctrl_c() -> Iterator[None]:
    """Lets all of them raise `KeyboardInterrupt` in the main thread, so that everything is removed on the way out."""
    previous = {number: signal.signal(number, signal.default_int_handler) for number in handled_signals()}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
