"""Memory of what came lately, so that each counts once: sets of publications at a home, publications at a sub-unit."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class RecentlySeen(Generic[Key]):
    """Remembers a key for `span` seconds at least, and longer while it is held, unless more than `most` come meanwhile.

    While a unit moves, several join points may report a set. Publications may reach one of them as late as links that
    are down let them, so a home holds its memory until the present join point is confirmed. From then on, former ones
    go on for the span, which is the window and the lateness (`overlap`).
    """

    def __init__(self, span: float, now: Callable[[], float], most: int = 100_000) -> None:
        """`now` is in seconds."""
        self._span = span
        self._now = now
        self._half = most // 2
        self._begun = 0.0
        self._latest: set[Key] = set()
        self._before: set[Key] = set()
        self._held = False

    def __len__(self) -> int:
        return len(self._latest) + len(self._before)

    def hold(self) -> None:
        """Forgets nothing by time from now on."""
        self._held = True

    def release(self) -> None:
        """Forgets as before what is older than the span by then, from now on."""
        if self._held:
            self._held, self._begun = False, self._now()

    def add(self, key: Key) -> bool:
        """Remembers a key; returns False when it is remembered already."""
        if key in self._latest or key in self._before:
            return False
        now = self._now()
        if len(self._latest) >= self._half or (now - self._begun > self._span and not self._held):
            self._before = self._latest if now - self._begun <= 2 * self._span else set()
            self._latest, self._begun = set(), now
        self._latest.add(key)
        return True
