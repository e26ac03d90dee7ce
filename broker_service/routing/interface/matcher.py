"""Matching for routers: an index of subscriptions that decodes, times and logs its own comparisons.

Each call of `match` or `match_decoded` is one comparison of a publication with all subscriptions of the index. It is
logged (`Event.MATCHED`) when the router has finished with the message, so that logging costs the router nothing. The
time for decoding counts neither as comparison nor as the router's work (`Event.RECEIVED`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from broker_service.language import ContentError, Publication, Subscription
from broker_service.matching import MatchIndex
from broker_service.messages import Message
from broker_service.routing.interface.errors import MalformedMessageError
from broker_service.tracing.trace import Recorder

Key = TypeVar("Key", bound=Hashable)


TimedComparison = tuple[str, int, int]
"""One comparison that is yet to be logged: the publication, the matches, and the nanoseconds of the comparison itself.
A tuple, because it is quicker than a class."""


class Comparisons:
    """The comparisons made for the message that a broker handles at present."""

    def __init__(
        self, stopwatch: Callable[[], int], decode: Callable[[bytes], Publication], recorder: Recorder
    ) -> None:
        """`stopwatch` gives nanoseconds, `decode` reads content and raises `ContentError`."""
        self.stopwatch = stopwatch
        self.pending: list[TimedComparison] = []
        self.decoding = 0
        """Nanoseconds that decoding the content took for all of them."""
        self._decode = decode
        self._latest: tuple[bytes, Publication] | None = None
        """The body and the content that were decoded last."""
        self._recorder = recorder

    def decode(self, body: bytes) -> Publication:
        """The content of a publication. Raises `ContentError`.

        The content of the message that is handled at present is decoded once, because several readers may need it.
        """
        latest = self._latest
        if latest is None or latest[0] is not body:
            latest = self._latest = (body, self._decode(body))
        return latest[1]

    def discard(self) -> None:
        """Forgets the comparisons, because their message turned out to be malformed."""
        self.pending.clear()
        self.decoding = 0

    def log(self) -> None:
        """Logs the comparisons."""
        for publication, matches, duration in self.pending:
            self._recorder.matched(publication, matches, duration)
        self.pending.clear()
        self.decoding = 0


class Matcher(Generic[Key]):
    """An index from publications to the keys of the subscriptions that they match."""

    def __init__(self, comparisons: Comparisons) -> None:
        self._comparisons = comparisons
        self._index: MatchIndex[Key] = MatchIndex()
        self.shared: MatchIndex[Key] | None = None
        """An index that others have, too, and that does not change."""
        self._removed: set[Key] = set()
        """Keys of the shared index that are not in this one."""
        self.count: Callable[[list[Key]], int] = len
        """The number of matches that is logged for the keys that were found."""

    def __contains__(self, key: Key) -> bool:
        return key in self._index or (self.shared is not None and self._is_in_shared(key))

    def __len__(self) -> int:
        shared = 0 if self.shared is None else len(self.shared)
        return len(self._index) + shared - len(self._removed)

    def share(self, index: MatchIndex[Key]) -> None:
        """Takes the contents of an index in place of all that was added. The index itself stays as it is from then on,
        so that matchers of several brokers may share it, and each of them change its contents for itself."""
        self._index, self.shared, self._removed = MatchIndex(), index, set()

    def add(self, key: Key, subscription: Subscription) -> None:
        """Adds a subscription under a key that is not in the index."""
        self._index.add(key, subscription)

    def remove(self, key: Key) -> None:
        """Removes a subscription. Raises `KeyError` when the index has no such key."""
        if key not in self._index and self._is_in_shared(key):
            self._removed.add(key)
        else:
            self._index.remove(key)

    def match(self, message: Message) -> list[Key]:
        """Keys of the subscriptions that the publication in a message matches.

        Raises `MalformedMessageError` when its body cannot be decoded.
        """
        comparisons = self._comparisons
        began = comparisons.stopwatch()
        try:
            publication = comparisons.decode(message.body)
        except ContentError as error:
            raise MalformedMessageError(str(error)) from None
        decoded = comparisons.stopwatch()
        comparisons.decoding += decoded - began
        return self.match_decoded(message.id, publication, decoded)

    def match_decoded(self, id: str, publication: Publication, began: int | None = None) -> list[Key]:
        """Keys of the subscriptions that a publication matches, which has been decoded already.

        The comparison `began` now, unless the stopwatch was just read for something else: that takes time, too.
        """
        comparisons, attributes = self._comparisons, publication.attributes
        if began is None:
            began = comparisons.stopwatch()
        matches = self._index.match(attributes)
        if self.shared is not None:
            removed = self._removed
            matches += [key for key in self.shared.match(attributes) if key not in removed]
        comparisons.pending.append((id, self.count(matches), comparisons.stopwatch() - began))
        return matches

    def note(self, id: str, matches: int) -> None:
        """Logs a comparison that was made elsewhere, in no time of this process."""
        self._comparisons.pending.append((id, matches, 0))

    def _is_in_shared(self, key: Key) -> bool:
        return self.shared is not None and key in self.shared and key not in self._removed
