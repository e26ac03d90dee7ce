"""The section `clients.roaming`: moves of sites at a rate."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema, model_validator

from record.handover import Handover
from scenario.sections.faults import HostTexts, Texts, require_times_of_handover
from scenario.sections.section import Section
from scenario.sections.units import MOVE_RATE, Duration, DurationRange

ANY_BROKER, NEIGHBOURS = "any broker", "neighbours"
"""Destinations that depend on the broker at which a site is: all others, and those that are linked with it."""


def _rate(value: Any) -> float:
    rate = MOVE_RATE.parse(value)
    if not rate:
        raise ValueError("sites that never move do not roam; give a rate above 0, or remove `roaming`")
    return rate


MoveRate = Annotated[
    float, BeforeValidator(_rate), PlainSerializer(MOVE_RATE.format), WithJsonSchema(MOVE_RATE.schema())
]
Destinations = Annotated[
    Texts,
    WithJsonSchema(
        {"type": ["string", "array"], "minLength": 1, "items": {"type": "string", "minLength": 1}, "minItems": 1}
        | {"title": "brokers", "examples": [ANY_BROKER, NEIGHBOURS, ["B1", "B2"], "hub(3)"]}
    ),
]


class Roaming(Section):
    """Moves of sites that the seed draws for the run phase, each like a `move` in `faults`. Every site has its own
    course, which other sites and the rate do not alter: at twice the rate it comes through the same brokers earlier."""

    rate: MoveRate
    """Moves of each site in a time, `2/min`, while it is at a broker: the time until it goes on is exponential."""
    sites: HostTexts | None = None
    """Sites that roam, by name or as `random-site(3)`; without it, all that have clients."""
    to: Destinations = (ANY_BROKER,)
    """Brokers among which each move draws, evenly, one at which the site is not: `any broker`, `neighbours` (those with
    a link to its present broker at the begin of the run), names, or roles as in `faults`."""
    stays: Duration = 0.0
    """Least time for which a site stays at a broker."""
    handover: Handover | None = None
    """`unannounced` (without it), `announced` or `make before break`, as in `faults`."""
    away: DurationRange | None = None
    """Time without any network in each move, drawn evenly: `100ms..2s`; 0 without it."""
    overlap: DurationRange | None = None
    """For `make before break`: time for which clients have both sessions, drawn evenly; 1 s without it."""

    @model_validator(mode="after")
    def _moves_one_way(self) -> Roaming:
        require_times_of_handover(self.handover, self.away, self.overlap)
        return self
