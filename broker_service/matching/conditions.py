"""Conditions: the predicates of many subscriptions beyond access predicates and intervals, each conjunction kept once.

Real subscriptions share few such remainders (`[class,eq,'STOCK']` is in every one), so each is evaluated once for a
publication and all subscriptions that share it. A remainder also depends on few values (a few hundred symbols), so its
result is kept for the next publication with the same values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from broker_service.language import Predicate, Value

Condition = tuple[Predicate, ...]
"""A conjunction; without predicates it always holds."""

UNKNOWN: Final = 0
HOLDS: Final = 1
FAILS: Final = 2
"""The possible results for a condition."""

MOST_FINDINGS_BYTES = 1 << 18
"""Memory for cached results, approximately in bytes; a block of subscriptions takes about as much."""
MOST_ATTRIBUTES = 16
"""Attributes, at most, for which results are cached: combinations of more values hardly recur."""
LONGEST_STRING = 64
"""Characters of a string value that a cached combination may hold."""
_COMBINATION_BYTES = 512
"""Bytes of memory that a combination of values takes, approximately."""


class Conditions:
    """Reference-counted conjunctions under small integers; unused numbers are assigned again."""

    __slots__ = ("_attributes", "_conditions", "_findings", "_free", "_numbers", "_users")

    def __init__(self) -> None:
        self._attributes: Counter[str] = Counter()
        """Number of predicates of conditions in which each attribute occurs."""
        self._findings: dict[tuple[Value | None, ...], bytearray] = {}
        """Cached results, by the values of these attributes."""
        self._numbers: dict[Condition, int] = {}
        self._conditions: list[Condition] = []
        self._users: list[int] = []
        self._free: list[int] = []

    def __len__(self) -> int:
        """The number of distinct conditions in use."""
        return len(self._numbers)

    def __getitem__(self, number: int) -> Condition:
        return self._conditions[number]

    def findings(self, attributes: Mapping[str, Value]) -> bytearray:
        """The result for each condition, by number, when attributes have these values.

        The caller may put down what it finds out, until conditions are acquired or released.
        """
        if len(self._attributes) > MOST_ATTRIBUTES:
            return bytearray(len(self._conditions))
        values = tuple(map(attributes.get, self._attributes))
        findings = self._findings.get(values)
        if findings is None:
            findings = bytearray(len(self._conditions))
            if not any(isinstance(value, str) and len(value) > LONGEST_STRING for value in values):
                self._keep(values, findings)
        return findings

    def _keep(self, values: tuple[Value | None, ...], findings: bytearray) -> None:
        if len(self._findings) * (_COMBINATION_BYTES + len(findings)) >= MOST_FINDINGS_BYTES:
            self._findings.clear()
        self._findings[values] = findings

    def acquire(self, condition: Condition) -> int:
        """The number of a condition, which gets one user more."""
        number = self._numbers.get(condition)
        if number is None:
            number = self._number(condition)
        self._users[number] += 1
        return number

    def release(self, number: int) -> None:
        """Counts one user less of a condition; without users it is removed."""
        self._users[number] -= 1
        if not self._users[number]:
            condition = self._conditions[number]
            del self._numbers[condition]
            self._free.append(number)
            self._attributes -= Counter(predicate.attribute for predicate in condition)
            self._findings.clear()

    def _number(self, condition: Condition) -> int:
        if self._free:
            number = self._free.pop()
            self._conditions[number] = condition
        else:
            number = len(self._conditions)
            self._conditions.append(condition)
            self._users.append(0)
        self._numbers[condition] = number
        self._attributes.update(predicate.attribute for predicate in condition)
        self._findings.clear()
        return number
