"""`brokers.service_time`: one time, a range of equally likely times, or a distribution written out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag, model_validator

from broker_service.service_time import Distribution, ServiceTime
from emulation.scenario.section import Section
from emulation.scenario.units import Duration, DurationRange
from topology import Range


class ServiceTimeDistribution(Section):
    """How the service times of a broker's messages are spread; each broker draws its own from the scenario's seed."""

    mean: Duration
    """Mean time of a message."""
    distribution: Literal["constant", "uniform", "exponential", "lognormal"] = "constant"
    """Their shape."""
    deviation: Duration = 0.0
    """Half the width of `uniform`, the standard deviation of `lognormal`; the other shapes have none of their own."""

    @model_validator(mode="after")
    def _is_possible(self) -> ServiceTimeDistribution:
        self.service_time()
        return self

    def service_time(self) -> ServiceTime:
        """Raises `ValueError` naming the field that fits no such distribution."""
        return ServiceTime(mean=self.mean, distribution=Distribution(self.distribution), deviation=self.deviation)


def _form(value: Any) -> str:
    return "distribution" if isinstance(value, Mapping | ServiceTimeDistribution) else "range"


ServiceTimeField = Annotated[
    Annotated[DurationRange, Tag("range")] | Annotated[ServiceTimeDistribution, Tag("distribution")],
    Discriminator(_form),
]


def service_time(field: Range | ServiceTimeDistribution) -> ServiceTime:
    """What the field's value means, whichever way it is written."""
    if isinstance(field, ServiceTimeDistribution):
        return field.service_time()
    if field.low == field.high:
        return ServiceTime(mean=field.low)
    return ServiceTime(
        mean=(field.low + field.high) / 2,
        distribution=Distribution.UNIFORM,
        deviation=(field.high - field.low) / 2,
    )
