"""What remains of many subscriptions when their access predicate and their intervals are taken away, each kept once.

On real content the remainders are few (`[class,eq,'STOCK']` in every subscription), so that one evaluation per
distinct remainder and publication serves all subscriptions that share it.
"""

from __future__ import annotations

from broker_service.language import Predicate

Condition = tuple[Predicate, ...]
"""A conjunction; without predicates it always holds."""


class Conditions:
    """Counted conjunctions under small integers; a number that nobody uses any more is given out again."""

    __slots__ = ("_conditions", "_free", "_numbers", "_users")

    def __init__(self) -> None:
        self._numbers: dict[Condition, int] = {}
        self._conditions: list[Condition] = []
        self._users: list[int] = []
        self._free: list[int] = []

    def __len__(self) -> int:
        """Return how many distinct conditions are in use."""
        return len(self._numbers)

    def __getitem__(self, number: int) -> Condition:
        return self._conditions[number]

    def acquire(self, condition: Condition) -> int:
        """Return the number of a condition, with one user more."""
        number = self._numbers.get(condition)
        if number is None:
            number = self._number(condition)
        self._users[number] += 1
        return number

    def release(self, number: int) -> None:
        """Take one user from a condition; without any it is forgotten."""
        self._users[number] -= 1
        if not self._users[number]:
            del self._numbers[self._conditions[number]]
            self._free.append(number)

    def _number(self, condition: Condition) -> int:
        if self._free:
            number = self._free.pop()
            self._conditions[number] = condition
        else:
            number = len(self._conditions)
            self._conditions.append(condition)
            self._users.append(0)
        self._numbers[condition] = number
        return number
