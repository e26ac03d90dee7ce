"""Counts by reason, as a field of a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated

import msgspec


class Reason(msgspec.Struct, order=True):
    """The number of times that something had one reason."""

    name: str
    times: int


def by_reason(reasons: Iterable[Reason]) -> Counter[str]:
    """The counts by reason, in the order of reasons."""
    return Counter({reason.name: reason.times for reason in sorted(reasons)})


def total(one: Iterable[Reason], other: Iterable[Reason]) -> list[Reason]:
    """The counts of both."""
    return [Reason(*of_reason) for of_reason in (by_reason(one) + by_reason(other)).items()]


def count(reasons: list[Reason], name: str, times: int = 1) -> None:
    """Counts a reason, of which there are few."""
    for reason in reasons:
        if reason.name == name:
            reason.times += times
            return
    reasons.append(Reason(name, times))


Reasons = Annotated[list[Reason], total]
