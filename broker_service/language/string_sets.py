"""Sets of strings: an exact test whether some string of Unicode scalar values satisfies a conjunction of conditions.

Strings are ordered by code point. Three facts make the question easy (s, u, w are strings, \\0 is U+0000):

1. The next string after s is s\\0: nothing lies between. Hence `str-gt s` is `str-ge s\\0`, `str-le s` is
   `str-lt s\\0`, and `str-prefix p` is `str-ge p` with `str-lt p+`, where p+ is the least string above all that begin
   with p (drop trailing U+10FFFF, then take the next code point for the last one; unbounded when nothing is left). So
   bounds and prefixes together are one interval [low, high).
2. An interval [low, high) falls into *points*, the proper prefixes of `high` that are not below `low`, and *cones*,
   each all strings that begin with some w: low itself (unless it is a prefix of `high`); a prefix of `low` continued by
   a greater character than `low` does, as far as `high` permits; a prefix of `high` continued by a smaller one.
3. Inside a cone there is room: the string w z d1 z d2 ... z q begins with w, contains every d, ends with q. With a
   character z that no given string has, whatever else occurs in it occurs within w, a d or q alone. And it can be
   lengthened at will, so excluding finitely many strings (`neq`) never empties a cone.

So a conjunction is satisfiable exactly when a point meets every condition, or there is a cone and the endings wanted
(`str-postfix`) agree with each other. "All, but not this one condition" adds to the demands on the cone: for
`str-postfix p` that q does not end with p, for `str-contains c` that c is not within a d, q or w. The other operators
have complements.

An interval without cones is low, low\\0, low\\0\\0, ... up to `high`: finite, and all points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from broker_service.language.content import TESTS
from broker_service.language.model import Operator

Condition = tuple[Operator, str]

_LAST = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)

_COMPLEMENT = {
    Operator.STRING_EQUAL: Operator.STRING_NOT_EQUAL,
    Operator.STRING_NOT_EQUAL: Operator.STRING_EQUAL,
    Operator.STRING_LESS: Operator.STRING_GREATER_OR_EQUAL,
    Operator.STRING_LESS_OR_EQUAL: Operator.STRING_GREATER,
    Operator.STRING_GREATER: Operator.STRING_LESS_OR_EQUAL,
    Operator.STRING_GREATER_OR_EQUAL: Operator.STRING_LESS,
}


def satisfiable(conditions: Sequence[Condition]) -> bool:
    """True when some string meets all conditions."""
    for operator, value in conditions:
        if operator is Operator.STRING_EQUAL:
            return _meets(value, conditions)
    interval = _interval(conditions)
    ending = _ending(conditions)
    if interval.empty or ending is None:
        return False
    return interval.infinite or next(_points(interval, ending, conditions), None) is not None


def escapable(conditions: Sequence[Condition], condition: Condition) -> bool:
    """True when some string meets all conditions but not `condition`."""
    operator, value = condition
    if complement := _COMPLEMENT.get(operator):
        return satisfiable((*conditions, (complement, value)))
    if operator is Operator.PRESENT:
        return False
    for other, wanted in conditions:
        if other is Operator.STRING_EQUAL:
            return _meets(wanted, conditions) and not TESTS[operator](wanted, value)
    if operator is Operator.STRING_PREFIX:
        return _escapes_prefix(conditions, value)
    return _escapes_part(conditions, condition)


def _escapes_prefix(conditions: Sequence[Condition], prefix: str) -> bool:
    if satisfiable((*conditions, (Operator.STRING_LESS, prefix))):
        return True
    above = _above_prefix(prefix)
    return above is not None and satisfiable((*conditions, (Operator.STRING_GREATER_OR_EQUAL, above)))


def _escapes_part(conditions: Sequence[Condition], condition: Condition) -> bool:
    """The answer of `escapable` where the condition is on a string's ending or on a part of it."""
    operator, value = condition
    interval = _interval(conditions)
    ending = _ending(conditions)
    if interval.empty or ending is None:
        return False
    if operator is Operator.STRING_POSTFIX:
        if ending.endswith(value):
            return False
        roomy = interval.infinite
    else:
        if value in ending or any(value in part for other, part in conditions if other is Operator.STRING_CONTAINS):
            return False
        roomy = any(value not in start for start in interval.cones())
    return roomy or any(not TESTS[operator](point, value) for point in _points(interval, ending, conditions))


def _meets(text: str, conditions: Sequence[Condition]) -> bool:
    for operator, value in conditions:
        if operator is not Operator.PRESENT and not TESTS[operator](text, value):
            return False
    return True


def _points(interval: _Interval, ending: str, conditions: Sequence[Condition]) -> Iterator[str]:
    """The strings outside all cones (fact 2) that meet the conditions, of which `_interval` and `_ending` are known.

    They begin `high`, so a part is in all that are long enough and `neq` excludes one length at most: conditions are
    looked at once, and not for every point.
    """
    low, high = interval.low, interval.high
    if high is None:
        return
    common = _common_prefix_length(low, high)
    shortest = common if common == len(low) else common + 1
    excluded = set()
    for operator, value in conditions:
        if operator is Operator.STRING_CONTAINS:
            place = high.find(value)
            if place < 0:
                return
            shortest = max(shortest, place + len(value))
        elif operator is Operator.STRING_NOT_EQUAL and high.startswith(value):
            excluded.add(len(value))
    for length in range(shortest, len(high)):
        if length not in excluded and high.endswith(ending, 0, length):
            yield high[:length]


def _ending(conditions: Sequence[Condition]) -> str | None:
    """The longest ending wanted, or None where another one contradicts it."""
    endings = [value for operator, value in conditions if operator is Operator.STRING_POSTFIX]
    longest = max(endings, key=len, default="")
    return longest if all(longest.endswith(ending) for ending in endings) else None


def _interval(conditions: Sequence[Condition]) -> _Interval:
    """The strings that satisfy the bounds and prefixes (fact 1)."""
    low = ""
    high: str | None = None
    for operator, value in conditions:
        at_least: str | None = None
        below: str | None = None
        if operator is Operator.STRING_PREFIX:
            at_least, below = value, _above_prefix(value)
        elif operator is Operator.STRING_GREATER_OR_EQUAL:
            at_least = value
        elif operator is Operator.STRING_GREATER:
            at_least = value + "\0"
        elif operator is Operator.STRING_LESS:
            below = value
        elif operator is Operator.STRING_LESS_OR_EQUAL:
            below = value + "\0"
        if at_least is not None and at_least > low:
            low = at_least
        if below is not None and (high is None or below < high):
            high = below
    return _Interval(low, high)


@dataclass(frozen=True, slots=True)
class _Interval:
    """The strings s with low <= s < high; without `high`, all from `low` on."""

    low: str
    high: str | None

    @property
    def empty(self) -> bool:
        return self.high is not None and self.low >= self.high

    @property
    def infinite(self) -> bool:
        """True when there is a cone; for an interval that is not empty."""
        return self.high is None or not self.high.startswith(self.low) or self.high[len(self.low) :].strip("\0") != ""

    def cones(self) -> Iterator[str]:
        """The beginnings of cones, two where many differ in the last character only.

        Two are enough to avoid a part c: where w x contains c for the two different characters x, w contains it.
        """
        for stem, above, below in self._families():
            for character in _characters_between(above, below):
                yield stem + character

    def _families(self) -> Iterator[tuple[str, int, int]]:
        """Cones as (stem, above, below): the stem and one character more, its code point strictly between the two."""
        low, high = self.low, self.high
        fork = 0
        if high is None:
            yield low, -1, _LAST + 1
        else:
            fork = _common_prefix_length(low, high)
            if fork < len(low):
                yield low, -1, _LAST + 1
                yield low[:fork], ord(low[fork]), ord(high[fork])
                fork += 1
            for length in range(fork, len(high)):
                yield high[:length], -1, ord(high[length])
        for length in range(fork, len(low)):
            yield low[:length], ord(low[length]), _LAST + 1


def _characters_between(above: int, below: int) -> Iterator[str]:
    """The least two characters strictly between two code points, or as many as there are."""
    found = 0
    code = above + 1
    while code < below and found < 2:
        if code in _SURROGATES:
            code = _SURROGATES.stop
            continue
        yield chr(code)
        found += 1
        code += 1


def _above_prefix(prefix: str) -> str | None:
    """The least string above all that begin with `prefix`; None where there is none."""
    stem = prefix.rstrip(chr(_LAST))
    if not stem:
        return None
    code = ord(stem[-1]) + 1
    return stem[:-1] + chr(_SURROGATES.stop if code in _SURROGATES else code)


def _common_prefix_length(left: str, right: str) -> int:
    length = 0
    for left_character, right_character in zip(left, right, strict=False):
        if left_character != right_character:
            break
        length += 1
    return length
