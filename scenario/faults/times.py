"""Times of faults: a moment of the run, or the moment at which a counter reaches a number."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Phase(enum.StrEnum):
    """Phases of a run in which faults can happen."""

    JOIN = "join"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class Moment:
    """A time after the start of a phase."""

    seconds: float
    phase: Phase = Phase.JOIN
    """The start of `join` is the start of the workload: absolute times count from there."""


class Counter(enum.StrEnum):
    """Counters over all clients of a variant."""

    NOTIFICATIONS = "notifications"
    PUBLICATIONS = "publications"


@dataclass(frozen=True, slots=True)
class CountReached:
    """The moment at which a counter reaches a number."""

    number: int
    counter: Counter


@dataclass(frozen=True, slots=True)
class Counts:
    """The counters as they stand."""

    notifications: int = 0
    publications: int = 0

    def of(self, counter: Counter) -> int:
        return self.notifications if counter is Counter.NOTIFICATIONS else self.publications


When = Moment | CountReached
