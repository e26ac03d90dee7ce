"""The log of refused streams, which is bounded because the senders of bad streams decide how many there are."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

INTERVAL = 10.0
"""Seconds in which at most `MOST_LINES` refusals are logged."""

MOST_LINES = 20
"""Refusals that are logged in an interval; further ones are only counted."""

_log = logging.getLogger(__name__)


class RefusalLog:
    """Logs refusals; the first one after an interval with too many is preceded by the number left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begin = clock()
        self._refused = 0

    def add(self, name: str, reason: str) -> None:
        """Logs that the stream called `name` was refused, and why."""
        now = self._clock()
        if now - self._begin >= INTERVAL:
            if self._refused > MOST_LINES:
                _log.warning("%d further refusals were not logged", self._refused - MOST_LINES)
            self._begin, self._refused = now, 0
        self._refused += 1
        if self._refused <= MOST_LINES:
            _log.warning("%s refused: %s", name, reason)
