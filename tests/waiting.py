"""Waiting for what nobody tells a test."""

from __future__ import annotations

import time
from collections.abc import Callable


def await_true(condition: Callable[[], bool], what: str, within: float = 20.0) -> None:
    """Waits until the condition holds, at most so many seconds."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {within:g} s"
        time.sleep(0.02)
