"""The kind of topology in which radio range decides which brokers are linked."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from scenario.sections.section import FilePath
from scenario.sections.topology.kind import TopologyKind
from scenario.sections.units import AreaSides, Length
from topology.link_properties import BrokerId, OverlayError
from topology.mobility import Area, Trajectory, unit_disk
from topology.mobility.movement_files import load_movements
from topology.mobility.trajectories import Point
from topology.mobility.unit_disk import place
from topology.model import LARGEST_MESH, Overlay


class UnitDiskTopology(TopologyKind):
    """Brokers in a plane, each linked to all within radio range; with `motion`, they move."""

    kind: Literal["unit-disk"]
    brokers: Annotated[int, Field(strict=True, ge=1, le=LARGEST_MESH)] | None = None
    """Number of brokers, B1, B2, ..., at random places; all places are drawn again until the overlay is connected."""
    area: AreaSides | None = None
    """The side of the square in which they are placed, or width and height: `2km`, `[2km, 500m]`."""
    range: Length
    """Greatest distance of two linked brokers."""
    positions: FilePath | None = None
    """Instead of `brokers` and `area`, a movement file of BonnMotion or ns-2: its nodes are the brokers, at their first
    positions. Relative to the scenario's directory."""

    @model_validator(mode="after")
    def _has_places(self) -> UnitDiskTopology:
        if self.positions is None and (self.brokers is None or self.area is None):
            raise ValueError("needs `brokers` and `area` for random places, or a file of `positions`")
        if self.positions is not None and (self.brokers is not None or self.area is not None):
            raise ValueError("leave `brokers` and `area` out: the file of `positions` determines them")
        if self.range <= 0 or (self.area is not None and min(self.area) <= 0):
            raise ValueError("`range` and `area` are more than 0")
        return self

    def build(self, name: str, seed: int) -> Overlay:
        if self.positions is not None:
            places = {broker: way.at(0.0) for broker, way in self.trajectories().items()}
        else:
            places = self.places(seed)
        return unit_disk(name, places, self.range, self.link_source(name, seed))

    def places(self, seed: int) -> dict[BrokerId, Point]:
        """Random places. Raises `OverlayError` for a topology with a file of positions."""
        if self.brokers is None or self.area is None:
            raise OverlayError(
                "brokers that start at random places need `brokers` and `area` instead of a file of `positions`"
            )
        drawn = place(self.brokers, Area(*self.area), self.range, random.Random(f"{seed}:places"))
        return {f"B{number}": point for number, point in enumerate(drawn, start=1)}

    def trajectories(self) -> dict[BrokerId, Trajectory]:
        """The movements in the file of positions. Raises `OverlayError`."""
        if self.positions is None:
            raise OverlayError(
                "brokers that move by a trace need a file of `positions` instead of `brokers` and `area`"
            )
        try:
            return load_movements(Path(self.positions))
        except OSError as error:
            raise OverlayError(f"{self.positions}: cannot be read: {error.strerror}") from error
