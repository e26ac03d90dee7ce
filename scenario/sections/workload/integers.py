"""The `workload` section of kind `integers`: one number in each publication, and subscriptions to single numbers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from scenario.sections.section import Section
from scenario.sections.units import PositiveShare
from scenario.sections.workload.kind import GeneratedPublications, WorkloadKind
from scenario.sections.workload.operations import OperationItem

MOST_VALUES = 1_000_000
MOST_PEAKS = 1000


class IntegerPublications(GeneratedPublications):
    """Publishers of integers: one at each publishing broker."""

    brokers: PositiveShare = 1.0
    """Share of the brokers with a publisher, drawn by the seed; one at least."""
    advertised: PositiveShare = 1.0
    """Share of the values that each publisher advertises and publishes: an interval, which may go on at the other end
    of the values. With `distribution: regional` a publisher advertises the values of its own broker instead."""


class IntegerSubscriptions(Section):
    """Subscribers to integers: one at every broker, with a subscription for each value that its broker wants."""

    matching_ratio: PositiveShare
    """Probability that a publication matches some subscription of a broker; the mean over publications and brokers."""


class IntegersWorkload(WorkloadKind):
    """Publications of one integer and subscriptions to single integers, as in MEDYM, section 5.1."""

    kind: Literal["integers"]
    values: Annotated[int, Field(strict=True, ge=1, le=MOST_VALUES)] = 2000
    """Number of values: publications hold an integer from 0 to one less."""
    distribution: Literal["uniform", "zipf", "multimodal", "regional"] = "uniform"
    """Popularity of values: all alike; Zipf among subscriptions only; Gaussian peaks among subscriptions and
    publications; or each broker's values the more wanted, the nearer the subscriber."""
    exponent: Annotated[float, Field(strict=True, gt=0, le=10)] = 1.2
    """For `zipf`: the value of rank r is wanted in proportion to 1 / r ** exponent."""
    peaks: Annotated[int, Field(strict=True, ge=2, le=MOST_PEAKS)] = 5
    """For `multimodal`: number of peaks; their standard deviation is a quarter of the mean gap between neighbours."""
    decay: Annotated[float, Field(strict=True, gt=0, le=10)] = 1.0
    """For `regional`: a broker wants another's values with a probability in proportion to 1 / round trip ** decay."""
    publications: IntegerPublications
    """Generated publishers."""
    subscriptions: IntegerSubscriptions
    """Generated subscribers."""
    operations: tuple[OperationItem, ...] = ()
    """Operations written out one by one, besides the generated ones."""

    @model_validator(mode="after")
    def _advertises_whole_regions(self) -> IntegersWorkload:
        if self.distribution == "regional" and self.publications.advertised < 1:
            raise ValueError(
                "publications.advertised must be 100% with `distribution: regional`, because a publisher advertises "
                "the values of its own broker: leave it out"
            )
        return self

    def publishers_on(self, brokers: int) -> int:
        return max(1, round(self.publications.brokers * brokers))

    def subscribers_on(self, brokers: int) -> int:
        return brokers
