"""Interests: the distinct conjunctions of predicates that clients subscribe to and advertise, found by content.

Contents are evaluated in chunks: all at once, column by column (`analysis.judging.language`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.judging.histories.history import History
from analysis.judging.language import (
    AdvertisementMatcher,
    Columns,
    Condition,
    Conformance,
    Conjunction,
    Matcher,
    Matches,
    Value,
)
from analysis.judging.rights.declared import Declared
from analysis.reading.publication_events import decode_content


@dataclass(frozen=True, slots=True)
class ReadContent:
    """A publication's content, and the declarations that it fits."""

    attributes: Mapping[str, Value]
    interests: tuple[int, ...]
    """The numbers of the interests that it matches."""
    parts: tuple[int, ...]
    """The numbers of the parts of composite subscriptions that it matches for some values of their variables."""
    place: int
    """In its chunk."""
    conformance: Conformance

    def conforms(self, advertisement: int) -> bool:
        """True when it conforms to the advertisement of this number."""
        return self.conformance.holds(self.place, advertisement)


class Interests:
    """Subscriptions with equal predicates, in any order, share an interest; advertisements share a number likewise."""

    def __init__(self, declared: Declared) -> None:
        self._subscriptions = _numbered(declared.subscriptions)
        self._advertisements = _numbered(declared.advertisements)
        self._matcher = Matcher([tuple(conditions) for conditions in self._subscriptions])
        self._parts = Matcher([made.part.conjunction for made in declared.parts])
        self._advertised = AdvertisementMatcher([tuple(conditions) for conditions in self._advertisements])
        self.chunk = min(self._matcher.chunk, self._parts.chunk, self._advertised.chunk)
        """The number of contents that are evaluated at once."""
        self._ahead: Iterator[bytes] = iter(())
        self._read: _Chunk | None = None

    def __len__(self) -> int:
        return len(self._subscriptions)

    def number_of(self, subscription: Conjunction) -> int:
        """The number of a subscription's interest. Raises `KeyError` for a subscription that was not given."""
        return self._subscriptions[frozenset(subscription)]

    def number_of_advertisement(self, advertisement: Conjunction) -> int:
        """The number of an advertisement. Raises `KeyError` for one that was not given."""
        return self._advertisements[frozenset(advertisement)]

    def expect(self, contents: Iterable[bytes]) -> None:
        """Announces the contents to be read next, in their order, so that many are evaluated at once."""
        self._ahead = iter(contents)

    def read(self, encoded: bytes) -> ReadContent:
        """A publication's content and the declarations that it fits."""
        if self._read is None or encoded not in self._read.places:
            self._read = self._evaluated(encoded)
        return self._read.content(encoded)

    def _evaluated(self, first: bytes) -> _Chunk:
        """A chunk of contents: this one, and those that are expected next."""
        places = {first: 0}
        while len(places) < self.chunk and (following := next(self._ahead, None)) is not None:
            places.setdefault(following, len(places))
        contents = [decode_content(encoded) for encoded in places]
        columns = Columns(contents)
        return _Chunk(
            places,
            contents,
            self._matcher.matches(columns),
            self._parts.matches(columns),
            self._advertised.conformance(columns),
        )


class _Chunk:
    """Contents that were evaluated together."""

    def __init__(
        self,
        places: Mapping[bytes, int],
        contents: Sequence[Mapping[str, Value]],
        interests: Matches,
        parts: Matches,
        conformance: Conformance,
    ) -> None:
        self.places = places
        self._contents = contents
        self._interests = interests
        self._parts = parts
        self._conformance = conformance
        self._last: ReadContent | None = None

    def content(self, encoded: bytes) -> ReadContent:
        """One of the contents. The last one is kept, because variants publish the same, one after the other."""
        place = self.places[encoded]
        if self._last is None or self._last.place != place:
            self._last = ReadContent(
                self._contents[place],
                self._interests.of(place),
                self._parts.of(place),
                place,
                self._conformance,
            )
        return self._last


def _numbered(conjunctions: Iterable[Conjunction]) -> dict[frozenset[Condition], int]:
    numbers: dict[frozenset[Condition], int] = {}
    for conjunction in conjunctions:
        numbers.setdefault(frozenset(conjunction), len(numbers))
    return numbers


def interests_of(histories: Iterable[History]) -> list[Interests]:
    """The interests of each history. Histories with the same declarations in the same order share theirs."""
    made: dict[Declared, Interests] = {}
    found = []
    for history in histories:
        declared = Declared.of(history)
        interests = made.get(declared)
        if interests is None:
            interests = made[declared] = Interests(declared)
        found.append(interests)
    return found
