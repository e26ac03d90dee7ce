"""`brokers.service_time`: one time, a range of equally likely times, or a distribution written out.

The other times of this kind have the same forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag, model_validator

from record.service_time import Distribution, ServiceTime
from scenario.sections.section import Section
from scenario.sections.units import Duration, DurationRange
from topology.links import Range


class ServiceTimeDistribution(Section):
    """Distribution of the service times of a broker's messages; each broker draws from the scenario's seed."""

    mean: Duration
    """Mean service time of a message."""
    distribution: Literal["constant", "uniform", "exponential", "lognormal"] = "constant"
    """Shape of the distribution."""
    deviation: Duration = 0.0
    """Half the width of `uniform`, or the standard deviation of `lognormal`; the other shapes take none."""

    @model_validator(mode="after")
    def _is_possible(self) -> ServiceTimeDistribution:
        self.service_time()
        return self

    def service_time(self) -> ServiceTime:
        """Raises `ValueError`, which names the field that does not fit the distribution."""
        return ServiceTime(mean=self.mean, distribution=Distribution(self.distribution), deviation=self.deviation)


def _form(value: Any) -> str:
    return "distribution" if isinstance(value, Mapping | ServiceTimeDistribution) else "range"


ServiceTimeField = Annotated[
    Annotated[DurationRange, Tag("range")] | Annotated[ServiceTimeDistribution, Tag("distribution")],
    Discriminator(_form),
]


SendTimeField = Annotated[
    Annotated[Duration, Tag("range")] | Annotated[ServiceTimeDistribution, Tag("distribution")],
    Discriminator(_form),
]
"""The send time of links that exist: no range, because each link would have to draw its own."""


def service_time(field: Range | ServiceTimeDistribution) -> ServiceTime:
    """The service time that the field stands for, in either form."""
    if isinstance(field, ServiceTimeDistribution):
        return field.service_time()
    if field.low == field.high:
        return ServiceTime(mean=field.low)
    return ServiceTime(
        mean=(field.low + field.high) / 2,
        distribution=Distribution.UNIFORM,
        deviation=(field.high - field.low) / 2,
    )
