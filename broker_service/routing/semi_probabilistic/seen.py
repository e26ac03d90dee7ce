"""Events that a broker has received, by which it recognises further copies.

They are forgotten by age and never by number: at a high rate, a broker that kept a fixed number would forget events
while copies are in flight, and start them anew.
"""

from __future__ import annotations

from collections.abc import Callable


class SeenEvents:
    """Events by publisher and number, each remembered for one to two times `age`.

    Two generations are kept. When the newer one has existed for `age` seconds, the older one is forgotten.
    """

    def __init__(self, age: float, now: Callable[[], float]) -> None:
        self._age = age
        self._now = now
        self._newer: dict[str, set[int]] = {}
        self._older: dict[str, set[int]] = {}
        self._renewed = now()
        """The time from which the newer generation counts."""

    def __len__(self) -> int:
        return sum(map(len, self._newer.values())) + sum(map(len, self._older.values()))

    def has(self, publisher: str, number: int) -> bool:
        """True for an event that was added in the last `age` seconds, and perhaps for older ones."""
        newer = self._newer.get(publisher)
        if newer is not None and number in newer:
            return True
        if not self._older:
            return False
        older = self._older.get(publisher)
        return older is not None and number in older

    def add(self, publisher: str, number: int) -> None:
        """Remembers an event from now on."""
        now = self._now()
        elapsed = now - self._renewed
        if elapsed >= self._age:
            self._older = self._newer if elapsed < 2 * self._age else {}
            self._newer = {}
            self._renewed = now - elapsed % self._age
        numbers = self._newer.get(publisher)
        if numbers is None:
            numbers = self._newer[publisher] = set()
        numbers.add(number)
