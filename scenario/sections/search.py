"""The `search` of a scenario: the highest load that still holds, for `brokerlab search`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import Field, WithJsonSchema, model_validator

from scenario.sections.expect import CORRECT, Correct
from scenario.sections.section import Section
from scenario.sections.units import SHARE, Duration, Share

MOST_SEEDS = 100
_LOAD = re.compile(r"(?P<number>\d{1,15}(?:\.\d{1,15})?)\s*(?P<unit>[^\d\s.].{0,15})?", re.ASCII)
_SIGNIFICANT = 4
"""Digits of a load that is tried."""


@dataclass(frozen=True, slots=True)
class Loads:
    """The loads between two ends, as numbers in the unit in which both are written."""

    least: float
    most: float
    unit: str
    whole: bool
    """True where only whole numbers are loads, because both ends are written as such, without a unit."""

    def written(self, load: float) -> str | int:
        """The load as a scenario's field takes it."""
        return int(load) if self.whole else f"{load:.12g}{self.unit}"

    def rounded(self, load: float) -> float:
        """The load as it is tried: of few digits, or whole."""
        return float(round(load)) if self.whole else float(f"{load:.{_SIGNIFICANT}g}")


class HoldsWhile(Section):
    """Conditions under which a load holds: correct deliveries and, where given, delays and a judged share."""

    delivery: Correct = CORRECT
    """Deliveries must be correct."""
    judged: Share | None = None
    """The least share of the owed notifications that is judged."""
    mean: Duration | None = None
    """The most that the mean delay may be."""
    p50: Duration | None = None
    """The most that the median delay may be."""
    p95: Duration | None = None
    """The most that the 95th percentile of the delay may be."""
    p99: Duration | None = None
    """The most that the 99th percentile of the delay may be."""


class Search(Section):
    """The load that `brokerlab search` raises, and what it must bear."""

    raised: Annotated[str, Field(strict=True, min_length=1, max_length=256, alias="raise")]
    """Dotted path of the field that is raised: `workload.publications.rate`."""
    least: Annotated[str | int, Field(alias="from")]
    """The least load: `5/s`, or a whole number."""
    most: Annotated[str | int, Field(alias="to")]
    """The greatest load, in the same unit."""
    holds_while: Annotated[HoldsWhile, Field(alias="while")] = HoldsWhile()
    """Conditions under which a load holds: `{p95: 200ms, delivery: correct}`."""
    seeds: Annotated[int, Field(strict=True, ge=1, le=MOST_SEEDS)] = 3
    """The number of seeds in which every load is tried, from the scenario's own on."""
    share: Annotated[Share, Field(gt=0), WithJsonSchema(SHARE.schema() | {"exclusiveMinimum": 0})] = 1.0
    """The share of the seeds in which a load must hold."""
    within: Annotated[Share, Field(ge=0.001), WithJsonSchema(SHARE.schema() | {"minimum": 0.001})] = 0.05
    """The search ends when the least load that does not hold is at most this much above the highest that does."""

    @model_validator(mode="after")
    def _ends_fit(self) -> Self:
        loads = self.loads
        if not 0 < loads.least < loads.most:
            raise ValueError(f"from {self.least} to {self.most}: `from` must be more than 0 and less than `to`")
        return self

    @property
    def loads(self) -> Loads:
        """The loads between both ends. Raises `ValueError` for ends in different units."""
        (least, unit), (most, other) = _parsed(self.least), _parsed(self.most)
        if unit != other:
            raise ValueError(f"from {self.least} to {self.most}: write both in the same unit")
        whole = isinstance(self.least, int) and isinstance(self.most, int)
        return Loads(least, most, unit, whole)


def _parsed(load: Any) -> tuple[float, str]:
    match = _LOAD.fullmatch(str(load).strip())
    if match is None:
        raise ValueError(f"expected a load such as 5/s or 100, got {load!r}")
    return float(match["number"]), match["unit"] or ""
