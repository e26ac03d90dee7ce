"""Facts about the variants of a run by which their logs are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoggedVariants:
    """The facts about the variants of a run by which their logs are read."""

    numbers: Mapping[str, int]
    """The number of each variant."""
    run_starts: Sequence[int | None]
    stops: Sequence[int]
    """The time from which clients leave, by variant. Traffic from then on belongs to no experiment: not counted."""
    ends: Sequence[int]
    """The time from which nothing arrives any more, by variant: `stops`, or the end of a run that was interrupted."""
    brokers: frozenset[str]
    unsettled: frozenset[int] = frozenset()
    """The variants in which brokers still passed on operations when the run phase began."""
