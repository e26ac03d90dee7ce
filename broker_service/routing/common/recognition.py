"""Recognition of further copies of a publication: one rule for protocols whose copies may take several ways.

A copy comes again after any time: a link that is cut, or a broker that is frozen, keeps what it holds for as long as
both ends run. So publications are forgotten neither by age nor by number:

1. What came here is remembered within a bound of bytes; then the oldest are forgotten.
2. Of all that is forgotten the latest time of publishing remains. A publication that is not remembered and was
   published no later may be a copy, and counts as one: it may be lost, and no client is notified twice.
3. A restarted broker remembers nothing. Of what was published before it started, its former incarnation may have
   notified clients, and the new one notifies nobody.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Note = TypeVar("Note")

BYTES_EACH = 256
"""Memory, about, that one remembered publication takes: its key, a note, and their place in a table that doubles."""
FORGOTTEN: Final = "too old to recognise"
FORMER: Final = "published before this broker restarted"
"""Reasons for which a publication is dropped, for the log."""


class RecognisedPublications(Generic[Key, Note]):
    """The publications that have come to a broker, each with a note of the protocol's own."""

    def __init__(self, most_bytes: int, incarnation: int, started_at: int) -> None:
        """`most_bytes` bounds the memory; `started_at` is the start of this incarnation, on the clock of
        `Message.published`."""
        self._most = max(most_bytes // BYTES_EACH, 1)
        self._known: dict[Key, tuple[int, Note]] = {}
        self._forgotten_until = -1
        self._former_until = started_at if incarnation > 1 else -1

    def __len__(self) -> int:
        return len(self._known)

    def note(self, key: Key) -> Note | None:
        """The note on a publication that has come here; None for one that is not remembered."""
        known = self._known.get(key)
        return None if known is None else known[1]

    def has_forgotten(self, published: int) -> bool:
        """True where publications of this time, in nanoseconds, may have come here and been forgotten."""
        return published <= self._forgotten_until

    def reason_to_drop(self, published: int) -> str | None:
        """The reason why no client may be notified of a publication of this time that is not remembered."""
        if self.has_forgotten(published):
            return FORGOTTEN
        return FORMER if published <= self._former_until else None

    def add(self, key: Key, published: int, note: Note) -> None:
        """Remembers a publication, or another note on it."""
        self._known[key] = (published, note)
        if len(self._known) > self._most:
            forgotten, _ = self._known.pop(next(iter(self._known)))
            self._forgotten_until = max(self._forgotten_until, forgotten)
