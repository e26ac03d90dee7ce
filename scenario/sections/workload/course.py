"""Profiles of load and churn: the course of any kind of workload over the run phase."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

from pydantic import Field, model_validator

from scenario.sections.section import Section
from scenario.sections.units import Duration, PositiveDuration, PositiveShare

Pace = Annotated[float, Field(ge=0, le=1e6)]
"""A factor of the workload's usual rate."""


class PaceStep(Section):
    """A change of pace that lasts until the next one."""

    at: Duration
    """Time of the change, counted from the start of the run phase."""
    pace: Pace
    """Factor of the usual rate from then on; 0 for silence."""


class Ramp(Section):
    """A pace that changes evenly during the whole run phase."""

    begin: Pace
    """Factor of the usual rate at the start of the run phase."""
    end: Pace
    """Factor of the usual rate at its end."""


class Day(Section):
    """A pace that rises and falls as a cosine, from its least at the start of the run phase."""

    period: Duration
    """Length of a day in the run."""
    least: Pace = 0.2
    """Factor of the usual rate at night."""
    most: Pace = 1.8
    """Factor of the usual rate at noon."""

    @model_validator(mode="after")
    def _rises(self) -> Day:
        if self.period <= 0:
            raise ValueError("period must be more than 0")
        if self.most < self.least:
            raise ValueError(f"most ({self.most:g}) is less than least ({self.least:g})")
        return self


class PaceBurst(Section):
    """Some time at another pace."""

    at: Duration
    """Start, counted from the start of the run phase."""
    lasts: PositiveDuration
    """Duration of the burst."""
    pace: Pace
    """Factor of the usual rate meanwhile."""
    every: Duration | None = None
    """Time from one start to the next, for a burst that comes again until the run phase ends; once by default."""

    @model_validator(mode="after")
    def _ends_before_it_comes_again(self) -> PaceBurst:
        if self.every is not None and self.every < self.lasts:
            raise ValueError(f"every ({self.every:g} s) must not be less than lasts ({self.lasts:g} s)")
        return self


class Profile(Section):
    """The pace of a workload over the run phase, by one of four shapes. At the pace 2 everything is published in half
    the time."""

    steps: tuple[PaceStep, ...] = ()
    """Changes of pace, the usual one before the first: `[{at: 20s, pace: 3}, {at: 40s, pace: 1}]`."""
    ramp: Ramp | None = None
    """A pace that changes evenly: `{begin: 0.5, end: 3}`."""
    day: Day | None = None
    """A pace that rises and falls: `{period: 60s, least: 0.2, most: 1.8}`."""
    bursts: tuple[PaceBurst, ...] = ()
    """Bursts, with the usual pace between them: `[{at: 10s, lasts: 2s, pace: 10, every: 30s}]`."""

    @model_validator(mode="after")
    def _has_one_shape(self) -> Profile:
        given = [name for name in ("steps", "ramp", "day", "bursts") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError(f"needs exactly one of steps, ramp, day, bursts; got {', '.join(given) or 'none'}")
        for former, latter in pairwise(self.steps):
            if latter.at <= former.at:
                raise ValueError(f"steps: the one at {latter.at:g} s does not come after the one at {former.at:g} s")
        return self


class Churn(Section):
    """Subscribers that unsubscribe and subscribe again."""

    every: Duration
    """Time from one unsubscription of a subscriber to its next; the first comes at a random time within the first."""
    away: Duration = 0.0
    """Time from an unsubscription to the new subscription, which has an id of its own."""

    @model_validator(mode="after")
    def _comes_back(self) -> Churn:
        if self.every <= 0:
            raise ValueError("`every` must be more than 0")
        if self.away >= self.every:
            raise ValueError(f"`away` ({self.away:g} s) must be less than `every` ({self.every:g} s)")
        return self


class SubscriberChurn(Churn):
    """Churn among all subscribers of a workload, with all subscriptions that they have from the join phase on."""

    share: PositiveShare = 1.0
    """Share of the subscribers that come and go, drawn by the seed."""
