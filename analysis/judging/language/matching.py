"""Matching: the conjunctions that the publications of a chunk satisfy, all at once.

1. The rarest condition of each conjunction is the one that holds for the fewest publications of the chunk; their number
   is known from binary search (`tables`). Where there are few, the other conditions are tried on these alone.
2. Of all other conjunctions, the rows of bits of their conditions are joined by `and`: first the first condition of
   each, then the second of those that have one, and so on.

Content outside of the language satisfies none. A publication *matches* a subscription if each condition holds for it.
It *conforms* to an advertisement if each of its attributes is named there and each condition on them holds. An
attribute that is advertised may be missing, and its conditions then count as holding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analysis.judging.language.bits import BITS, Numbers, Words, row_of, set_bits
from analysis.judging.language.columns import Columns, Names
from analysis.judging.language.conditions import Conjunction
from analysis.judging.language.tables import ConditionTable, Holding

_CHUNK_BYTES: Final = 32 << 20
"""Bytes of rows of bits in a chunk, about."""
_LARGEST_CHUNK: Final = 4096
"""Publications. The rows by which a condition's row is found then take 2 MB for each attribute."""
_FEW: Final = 32
"""Publications that are tried one by one, at most, because to join rows of bits takes as long."""


class _Conjunctions:
    """Conjunctions of distinct conditions."""

    def __init__(self, conjunctions: Sequence[Conjunction]) -> None:
        self.table = ConditionTable(condition for conjunction in conjunctions for condition in conjunction)
        numbers = self.table.numbers
        members = [sorted({numbers[condition] for condition in conjunction}) for conjunction in conjunctions]
        self.size = len(members)
        order = sorted(range(len(members)), key=lambda number: (-len(members[number]), number))
        self.order = np.array(order, dtype=np.int64)
        """The conjunctions, the longest first. Below they are known by their places in this order."""
        self.lengths = np.array([len(members[number]) for number in order], dtype=np.int64)
        self.members = np.array([member for number in order for member in members[number]], dtype=np.int64)
        """The conditions of the first conjunction, then those of the second, ..."""
        self.starts = np.cumsum(self.lengths) - self.lengths
        self.filled = int(np.searchsorted(-self.lengths, 0))
        """Number of conjunctions that have a condition."""
        has_part = [not members[number] or members[number][-1] >= self.table.ordered for number in order]
        self.has_part = np.array(has_part, dtype=np.bool_)
        """True for conjunctions that are not made of conditions of order alone, the empty ones included."""

    @property
    def chunk(self) -> int:
        """The number of publications to be taken at once."""
        rows = 1 + self.size + len(self.table.numbers)
        return min(_LARGEST_CHUNK, BITS * max(1, _CHUNK_BYTES // (8 * rows)))

    def joined(self, chosen: Numbers, rows: Words, row_of_condition: Numbers, columns: Columns) -> Words:
        """Rows of bits of these conjunctions, whose places ascend: where all conditions of a conjunction hold.
        `row_of_condition` gives the row of each condition in `rows`."""
        found = np.tile(_within(columns), (len(chosen), 1))
        lengths, starts = self.lengths[chosen], self.starts[chosen]
        for place in range(int(lengths.max(initial=0))):
            longer = int(np.searchsorted(-lengths, -place))
            found[:longer] &= rows[row_of_condition[self.members[starts[:longer] + place]]]
        return found


def _within(columns: Columns) -> Words:
    """The row of the publications whose content is in the language."""
    within = np.ones(columns.size, dtype=np.bool_)
    within[list(columns.outside)] = False
    return row_of(within)


class Matcher:
    """Subscriptions, of which the numbers are those of their places in the sequence given."""

    def __init__(self, subscriptions: Sequence[Conjunction]) -> None:
        self._made = _Conjunctions(subscriptions)
        self.chunk = self._made.chunk
        """The number of publications to be matched at once."""

    def matches(self, columns: Columns) -> Matches:
        """The subscriptions that each publication matches."""
        made = self._made
        holding = made.table.on(columns)
        rarest, fewest = self._rarest(holding, columns.size)
        few = (fewest <= _FEW) & self._can_be_tried(rarest)
        sparse = np.flatnonzero(few & (fewest > 0))
        found, publications = self._tried(sparse, rarest[sparse], holding, columns)
        dense = np.flatnonzero(~few & (fewest > 0))
        return Matches(made.order, publications * made.size + found, dense, self._joined(dense, holding, columns))

    def _can_be_tried(self, rarest: Numbers) -> NDArray[np.bool_]:
        """True for conjunctions of conditions of order, the rarest of which holds for consecutive places."""
        ordered = ~self._made.has_part
        ordered[ordered] = ~self._made.table.different[rarest[ordered]]
        return ordered

    def _rarest(self, holding: Holding, size: int) -> tuple[Numbers, Numbers]:
        """The rarest condition of order of each conjunction, and for how many publications it holds, at most."""
        made = self._made
        most = np.full(len(made.table.numbers), size, dtype=np.int64)
        most[: made.table.ordered] = holding.most
        rarest, fewest = np.zeros(made.size, dtype=np.int64), np.full(made.size, size, dtype=np.int64)
        if made.filled:
            keys = (most * len(most) + np.arange(len(most)))[made.members]
            least = np.minimum.reduceat(keys, made.starts[: made.filled])
            fewest[: made.filled], rarest[: made.filled] = np.divmod(least, len(most))
        return rarest, fewest

    def _tried(self, chosen: Numbers, rarest: Numbers, holding: Holding, columns: Columns) -> tuple[Numbers, Numbers]:
        """The pairs of these conjunctions and publications, among those for which the rarest condition holds."""
        made = self._made
        which, publications = holding.publications(rarest)
        found = chosen[which]
        if columns.outside:
            within = ~np.isin(publications, list(columns.outside))
            found, publications = found[within], publications[within]
        for place in range(int(made.lengths[chosen].max(initial=0))):
            last = made.lengths[found] - 1
            conditions = made.members[made.starts[found] + np.minimum(place, last)]
            holds = holding.hold(conditions, publications)
            found, publications = found[holds], publications[holds]
        return found, publications

    def _joined(self, chosen: Numbers, holding: Holding, columns: Columns) -> Words:
        made = self._made
        needed = np.zeros(len(made.table.numbers), dtype=np.bool_)
        wanted = np.zeros(made.size, dtype=np.bool_)
        wanted[chosen] = True
        needed[made.members[np.repeat(wanted, made.lengths)]] = True
        conditions = np.flatnonzero(needed)
        return made.joined(chosen, holding.rows(conditions), np.cumsum(needed) - 1, columns)


class Matches:
    """The subscriptions that each publication of a chunk matches. They are read for 64 publications at once."""

    def __init__(self, numbers: Numbers, keys: Numbers, joined: Numbers, rows: Words) -> None:
        """`numbers` are those of the subscriptions, which the rest names by their places there. `keys` has publication
        * their count + place of those that were tried; `rows` are those of bits of `joined`."""
        self._numbers = numbers
        self._keys = np.sort(keys)
        self._joined = joined
        self._rows = rows
        self._word = -1
        self._found: list[list[int]] = []
        """Subscriptions by bit of the present word."""

    def of(self, publication: int) -> tuple[int, ...]:
        """The numbers of the subscriptions that a publication matches, each once, in the same order for any two
        publications that match the same."""
        word, bit = divmod(publication, BITS)
        if word != self._word:
            self._word, self._found = word, self._read(word)
        return tuple(self._found[bit])

    def _read(self, word: int) -> list[list[int]]:
        count = max(len(self._numbers), 1)
        first = word * BITS * count
        begin, end = np.searchsorted(self._keys, (first, first + BITS * count))
        bit, place = set_bits(self._rows[:, word])
        keys = bit * count + self._joined[place]
        if begin < end:
            keys = np.sort(np.concatenate((keys, self._keys[begin:end] - first)))
        found = self._numbers[keys % count].tolist()
        starts = np.searchsorted(keys, np.arange(BITS + 1) * count).tolist()
        return [found[start:stop] for start, stop in pairwise(starts)]


class AdvertisementMatcher:
    """Advertisements, of which the numbers are those of their places in the sequence given."""

    def __init__(self, advertisements: Sequence[Conjunction]) -> None:
        self._made = _Conjunctions(advertisements)
        self._rows = {number: row for row, number in enumerate(self._made.order.tolist())}
        self._named = [frozenset(condition.attribute for condition in made) for made in advertisements]
        self._on: dict[str, list[int]] = {}
        """The conditions on each attribute."""
        for condition, number in self._made.table.numbers.items():
            self._on.setdefault(condition.attribute, []).append(number)
        self.chunk = self._made.chunk

    def conformance(self, columns: Columns) -> Conformance:
        """The advertisements to which each publication conforms."""
        made = self._made
        every = np.arange(len(made.table.numbers))
        rows = made.table.on(columns).rows(every)
        for attribute, conditions in self._on.items():
            rows[conditions] |= row_of(columns.absent(attribute))
        joined = made.joined(np.arange(made.size), rows, every, columns)
        return Conformance(joined, self._rows, self._named, columns.names)


class Conformance:
    """The advertisements to which the publications of a chunk conform."""

    def __init__(
        self, rows: Words, row_of_made: Mapping[int, int], named: Sequence[frozenset[str]], names: Sequence[Names]
    ) -> None:
        """`row_of_made` and `named` have the row of an advertisement and the attributes that it names; `names` has the
        names of each publication's attributes."""
        self._rows = rows
        self._row_of_made = row_of_made
        self._named = named
        self._names = names

    def holds(self, publication: int, advertisement: int) -> bool:
        """True when a publication conforms to an advertisement."""
        word = int(self._rows[self._row_of_made[advertisement], publication // BITS])
        return bool(word >> publication % BITS & 1) and self._named[advertisement].issuperset(self._names[publication])
