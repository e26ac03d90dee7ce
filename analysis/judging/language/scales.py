"""Scales: the operands of one attribute's conditions in ascending order, and the places of published values there.

With K different operands c[0] < c[1] < ... there are 2K + 1 places: 2i + 1 is that of c[i] itself, 2i that of all
values between c[i-1] and c[i]. The place of a value is the number of operands below it plus the number of those at most
it. Every relation of order to an operand is a range of places, so that exactness is decided here and nowhere else:

- A published decimal is a double. An operand c that is none (an integer beyond 2**53) lies strictly between two
  doubles. For a double x, c < x exactly if the greatest double at most c is below x, and c <= x exactly if the least
  double at least c is at most x. So two arrays of doubles place all decimals at once, without rounding.
- Published integers up to 2**53 are doubles, too. Those beyond it are placed one by one, by Python's comparison, which
  does not round.
- Strings are placed one by one, by Python's comparison, which is that of code points; NumPy's strings would lose NULs
  at their ends. A string that was placed is remembered.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from math import inf, nextafter
from typing import Final

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
Doubles = NDArray[np.float64]

MAX_EXACT: Final = 1 << 53
"""The integers up to here, of either sign, are doubles."""
_MAX_REMEMBERED = 100_000
"""Strings."""


class NumberScale:
    """The numbers that one attribute is compared with."""

    def __init__(self, operands: Iterable[int | float]) -> None:
        self.operands = sorted(set(operands))
        bounds = [_doubles_around(operand) for operand in self.operands]
        self._below = np.array([low for low, _ in bounds], dtype=np.float64)
        self._above = np.array([high for _, high in bounds], dtype=np.float64)

    def place_of_operand(self, operand: int | float) -> int:
        return 2 * bisect_left(self.operands, operand) + 1

    def places(self, doubles: Doubles, exact: Iterable[tuple[int, int]]) -> Places:
        """The places of these numbers. `exact` has those that no double stands for, by their index."""
        found = np.searchsorted(self._below, doubles, "left") + np.searchsorted(self._above, doubles, "right")
        places: Places = found.astype(np.int64)
        for index, integer in exact:
            places[index] = bisect_left(self.operands, integer) + bisect_right(self.operands, integer)
        return places


class StringScale:
    """The strings that one attribute is compared with in order."""

    def __init__(self, operands: Iterable[str]) -> None:
        self.operands = sorted(set(operands))
        self._remembered: dict[str, int] = {}

    def place_of_operand(self, operand: str) -> int:
        return 2 * bisect_left(self.operands, operand) + 1

    def places(self, strings: Sequence[str]) -> Places:
        known = self._remembered
        if len(known) > _MAX_REMEMBERED:
            known.clear()
        for string in set(strings).difference(known):
            known[string] = bisect_left(self.operands, string) + bisect_right(self.operands, string)
        return np.array([known[string] for string in strings], dtype=np.int64)


def _doubles_around(number: int | float) -> tuple[float, float]:
    """The greatest double at most a number, and the least double at least it."""
    try:
        near = float(number)
    except OverflowError:
        return (sys.float_info.max, inf) if number > 0 else (-inf, -sys.float_info.max)
    if near > number:
        return nextafter(near, -inf), near
    return (near, nextafter(near, inf)) if near < number else (near, near)
