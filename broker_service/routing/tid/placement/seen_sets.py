"""Memory of what units brought, so that each counts once: sets of publications at a home, publications at a sub-unit.

While a unit moves, several join points may report a set. The report of one may wait for any time, because a link on its
way may be cut or a broker frozen. So nothing is forgotten by time, and all units of a broker share a bound of bytes.
"""

from __future__ import annotations

from typing import Final

MOST_BYTES: Final = 16 << 20
"""Memory, about, that the units of one broker take; then what came first is forgotten."""
_BYTES_EACH: Final = 200
_BYTES_AN_IDENTIFIER: Final = 80
"""Bytes, about, of an entry and of each identifier in it."""


class SeenSets:
    """The sets of publications that units brought, by the identifiers of the publications."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._room = most_bytes
        self._seen: dict[tuple[str, ...], None] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def add(self, unit: str, *publications: str) -> bool:
        """Remembers a set of a unit; False when it is remembered already."""
        key = (unit, *publications)
        if key in self._seen:
            return False
        self._seen[key] = None
        self._room -= _bytes_of(key)
        while self._room < 0 and len(self._seen) > 1:
            oldest = next(iter(self._seen))
            del self._seen[oldest]
            self._room += _bytes_of(oldest)
        return True


def _bytes_of(key: tuple[str, ...]) -> int:
    return _BYTES_EACH + _BYTES_AN_IDENTIFIER * len(key)
