"""The base of all kinds of workload, and the fields and bounds that several kinds share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, WithJsonSchema, model_validator

from scenario.sections.section import BrokerName, Section
from scenario.sections.units import SIZE, MessageRateRange, Size
from scenario.sections.workload.course import Profile, SubscriberChurn
from scenario.sections.workload.operations import OperationItem
from topology.links import Range

MOST_PUBLISHERS = 100_000
MOST_SYMBOLS = 100_000
MOST_ADVERTISEMENTS = 1_000_000
MOST_SUBSCRIPTIONS = 1_000_000
MOST_PUBLICATIONS = 100_000_000
"""Bounds on a whole workload, because larger ones would fill the memory or the disk."""

LARGEST_CONTENT = 1 << 20
"""Bytes to which the content of a publication can be padded."""

Placement = Literal["uniform", "spread"] | tuple[BrokerName, ...]
Arrivals = Literal["periodic", "poisson"]
ContentSize = Annotated[Size, Field(ge=1, le=LARGEST_CONTENT), WithJsonSchema(SIZE.schema() | {"exclusiveMinimum": 0})]


class WorkloadKind(Section):
    """A workload of some kind, whose random choices all come from the seed."""

    profile: Profile | None = None
    """Pace of the publications over the run phase; always the usual one without it."""
    churn: SubscriberChurn | None = None
    """Subscribers that unsubscribe and subscribe again during the run phase: `{share: 30%, every: 20s, away: 2s}`."""

    def with_operations(self, operations: Sequence[OperationItem]) -> Self:
        """This workload, with these operations written out and no others."""
        return self.model_copy(update={"operations": tuple(operations)})

    def publishers_on(self, brokers: int) -> int:
        """Number of generated publishers, P1, P2, ..., on an overlay of this many brokers."""
        raise NotImplementedError

    def subscribers_on(self, brokers: int) -> int:
        """Number of generated subscribers, S1, S2, ..., on an overlay of this many brokers."""
        raise NotImplementedError


def require_rate(rate: Range) -> None:
    """Raises `ValueError` for a rate that may be 0."""
    if rate.low <= 0:
        raise ValueError("rate must be more than 0")


class GeneratedPublications(Section):
    """Fields of publications that every kind except quotes has."""

    rate: MessageRateRange
    """Publications of each publisher: `60/min`, or a range from which each publisher draws its own."""
    arrivals: Arrivals = "periodic"
    """Evenly spaced from a random phase, or with exponential gaps."""
    size: ContentSize | None = None
    """Encoded size to which each publication's content is padded, a few bytes less where a length changes its own."""

    @model_validator(mode="after")
    def _publishes(self) -> GeneratedPublications:
        require_rate(self.rate)
        return self
