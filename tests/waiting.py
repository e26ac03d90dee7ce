"""Waiting for conditions that no event announces."""

from __future__ import annotations

import time
from collections.abc import Callable


def await_true(condition: Callable[[], bool], what: str, within: float = 60.0) -> None:
    """Waits until the condition holds. Fails after `within` seconds, naming what was awaited."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {within:g} s"
        time.sleep(0.02)
