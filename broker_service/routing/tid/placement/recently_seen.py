"""Memory of what came lately, so that each counts once: sets of publications at a home, publications at a sub-unit."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class RecentlySeen(Generic[Key]):
    """Remembers a key for `span` seconds at least, unless more than `most` come in that time.

    While a unit moves, several join points may report a set. They do so within the time for which a publication may be
    late, which is the span.
    """

    def __init__(self, span: float, now: Callable[[], float], most: int = 100_000) -> None:
        """`now` is in seconds."""
        self._span = span
        self._now = now
        self._half = most // 2
        self._begun = 0.0
        self._latest: set[Key] = set()
        self._before: set[Key] = set()

    def __len__(self) -> int:
        return len(self._latest) + len(self._before)

    def add(self, key: Key) -> bool:
        """Remembers a key; returns False when it is remembered already."""
        if key in self._latest or key in self._before:
            return False
        now = self._now()
        if len(self._latest) >= self._half or now - self._begun > self._span:
            self._before = self._latest if now - self._begun <= 2 * self._span else set()
            self._latest, self._begun = set(), now
        self._latest.add(key)
        return True
