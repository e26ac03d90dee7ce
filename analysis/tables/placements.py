"""Table of the places of composite subscriptions that are routed as units.

Runs without such units do not have this table.
"""

from __future__ import annotations

from msgspec import Struct

from record.log import SUB_UNIT


class Placement(Struct, frozen=True, kw_only=True):
    """One row per variant, unit and broker, for each time that the broker was its join point and detected it."""

    variant: str
    client: str
    composite: str
    """The client's name for its composite subscription."""
    unit: str
    """The unit's name in the overlay. `<unit>/<name>` is a part of a unit that is detected by itself, whose detections
    go to the join point of that unit."""
    epoch: int
    """Number of times that the client's broker had routed the unit; of such a part, the join point of its unit."""
    broker: str
    """The join point."""
    former: str | None
    """The join point from which the unit moved here; null for the first of an epoch."""
    path: list[str]
    """The brokers from the client's, or from the join point of the unit of which this is a part, to this one."""
    joined_ns: int
    left_ns: int | None
    """Time until which the broker detected the unit; null where it did so to the end of the run, or until it
    crashed."""
    joined_s: float | None
    """Time from which the broker detected the unit, in seconds from the start of the run phase."""
    left_s: float | None
    reason: str
    """The reason for the place."""
    ending: str | None
    """The reason for which the broker left the unit."""
    cost: float | None
    """Total routing cost of this place, as estimated when it was chosen; null where none was computed, or where some
    broker would be saturated."""
    estimated_per_s: float
    """Detections a second, as estimated when the place was chosen."""
    detections: int
    """Detections that the broker made."""
    detected_per_s: float | None
    """Detections that the broker made, a second, over the part of the run phase in which it was the join point; null
    where there is none."""

    @property
    def name(self) -> str:
        """The composite subscription, for people, with the name of the part where that is detected by itself."""
        _, _, part = self.unit.partition(SUB_UNIT)
        return f"{self.client} {self.composite}" + (f", part {part}" if part else "")
