"""The smallest part of a list with which something still fails.

Delta debugging, the algorithm ddmin of Zeller and Hildebrandt (Simplifying and Isolating Failure-Inducing Input, IEEE
Transactions on Software Engineering 28(2), 2002, section 3): the list is cut into parts; a part, or all but one, that
still fails takes its place; parts become smaller until no single item can be left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def smallest(items: Sequence[Item], fails: Callable[[Sequence[Item]], bool]) -> tuple[Item, ...]:
    """A part of the items, in their order, that fails and of which no single item can be left out.

    `fails` must hold for all items together; it is never called twice with the same ones.
    """
    known: dict[tuple[int, ...], bool] = {}

    def failing(indices: Sequence[int]) -> bool:
        key = tuple(indices)
        if key not in known:
            known[key] = fails([items[index] for index in key])
        return known[key]

    if failing(()):
        return ()
    left, parts = list(range(len(items))), 2
    while len(left) > 1:
        pieces = _cut(left, parts)
        candidates = pieces + ([_without(left, piece) for piece in pieces] if parts > 2 else [])
        found = next((index for index, candidate in enumerate(candidates) if failing(candidate)), None)
        if found is not None:
            left = candidates[found]
            parts = 2 if found < len(pieces) else max(parts - 1, 2)
        elif parts < len(left):
            parts = min(len(left), 2 * parts)
        else:
            break
    return tuple(items[index] for index in left)


def _cut(indices: Sequence[int], parts: int) -> list[list[int]]:
    """Cuts indices into parts whose lengths differ by one at most."""
    bounds = [len(indices) * part // parts for part in range(parts + 1)]
    return [list(indices[begin:end]) for begin, end in itertools.pairwise(bounds)]


def _without(indices: Sequence[int], piece: Sequence[int]) -> list[int]:
    return [index for index in indices if index not in set(piece)]
