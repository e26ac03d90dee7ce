"""The `workload` section of kind `patterns`: sets of numbers, and subscriptions to single numbers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from broker_service.language.model import MAX_ADVERTISED_PREDICATES
from scenario.sections.section import Count, Section
from scenario.sections.units import PositiveShare
from scenario.sections.workload.kind import GeneratedPublications, WorkloadKind
from scenario.sections.workload.operations import OperationItem

MOST_PATTERNS = MAX_ADVERTISED_PREDICATES - 2
"""An advertisement names the class, the padding and every pattern."""


class PatternPublications(GeneratedPublications):
    """Publishers of sets of distinct numbers: one at every broker."""

    receivers: PositiveShare | None = None
    """Share of the brokers that an average publication matches, 10% by default; it decides how many numbers a
    publication has."""
    receiver_count: Count | None = None
    """Number of brokers that an average publication matches, instead of `receivers`."""

    @model_validator(mode="after")
    def _has_one_measure(self) -> PatternPublications:
        if self.receivers is not None and self.receiver_count is not None:
            raise ValueError("`receivers` and `receiver_count` state the same: leave one of them out")
        return self

    def share_on(self, brokers: int) -> float:
        """Share of the brokers that an average publication matches, on an overlay of this many."""
        if self.receiver_count is not None:
            return self.receiver_count / brokers
        return 0.1 if self.receivers is None else self.receivers


class PatternSubscriptions(Section):
    """Subscribers to patterns: one at every broker."""

    per_subscriber: Count = 2
    """Number of distinct patterns that each subscriber draws, each a subscription of its own."""


class PatternsWorkload(WorkloadKind):
    """Publications that are sets of numbers, as in semi-probabilistic routing, section 4, table 1."""

    kind: Literal["patterns"]
    patterns: Annotated[int, Field(strict=True, ge=1, le=MOST_PATTERNS)] = 512
    """Number of patterns; each is one number, and matches the publications that contain it."""
    publications: PatternPublications
    """Generated publishers."""
    subscriptions: PatternSubscriptions = PatternSubscriptions()
    """Generated subscribers."""
    operations: tuple[OperationItem, ...] = ()
    """Operations written out one by one, besides the generated ones."""

    @model_validator(mode="after")
    def _has_enough_patterns(self) -> PatternsWorkload:
        if self.subscriptions.per_subscriber > self.patterns:
            raise ValueError(
                f"subscriptions.per_subscriber is {self.subscriptions.per_subscriber}, but there are {self.patterns} "
                "patterns"
            )
        return self

    def publishers_on(self, brokers: int) -> int:
        return brokers

    def subscribers_on(self, brokers: int) -> int:
        return brokers
