"""The `motion` section: changes of an overlay while it runs.

Motion is not a fault: it lasts until the end of the run, and nothing heals it. Every kind resolves to
one evolution, which follows from the section, the topology and the seed alone.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from scenario.sections.section import BrokerName, Count, Section
from scenario.sections.topology import TopologyKind, UnitDiskTopology
from scenario.sections.units import Duration, DurationRange, SpeedRange
from topology.evolutions.evolution import Appears, Change, Evolution, ReappearingLinks, Vanishes
from topology.evolutions.rewiring import Rewiring, Toward, rewired
from topology.link_properties import BrokerId, OverlayError
from topology.links import Range
from topology.mobility import Area, Trajectory, Walk, moving, random_direction, random_waypoint
from topology.mobility.models import Model
from topology.mobility.unit_disk import at_positions
from topology.model import Overlay


class MotionKind(Section):
    """Changes of some kind, whose random choices all come from the seed."""

    begins: Literal["join", "run"] = "run"
    """The phase with which changes begin; they go on until the drain phase ends."""
    partitions: Literal["refused", "allowed"] = "refused"
    """`allowed`: there may be moments in which the overlay is in several parts."""

    def evolution(self, topology: TopologyKind, name: str, seed: int, end: float) -> Evolution:
        """The start and all changes until `end` seconds after the motion begins. Raises `OverlayError`."""
        raise NotImplementedError

    def movements(self, topology: TopologyKind, seed: int, end: float) -> Mapping[BrokerId, Trajectory]:
        """The trajectories of brokers, in order, until `end` seconds after the motion begins; none where they stay in
        place."""
        return {}

    def moment(self, topology: TopologyKind, name: str, seed: int, time: float) -> Overlay:
        """The overlay `time` seconds after the motion begins, for a drawing. Raises `OverlayError`."""
        return self.evolution(topology, name, seed, time).at(time)

    def _judged(self, evolution: Evolution) -> Evolution:
        """The evolution, checked for moments in several parts unless they are allowed."""
        start = replace(evolution.start, may_be_partitioned=self.partitions == "allowed")
        return Evolution(start, evolution.changes)

    def _start(self, topology: TopologyKind, name: str, seed: int) -> Overlay:
        return replace(topology.build(name, seed), may_be_partitioned=self.partitions == "allowed")


class RewireMotion(MotionKind):
    """Every so often a link vanishes, and some time later another one appears elsewhere."""

    kind: Literal["rewire"]
    every: Duration
    """Time from one lost link to the next."""
    repaired_after: Duration = 0.1
    """Time from a lost link to the one that replaces it."""
    degree: Count
    """Wanted number of links of a broker: only brokers with as many or more lose a link, and only those with as many or
    fewer get one."""
    toward: Literal["below-degree"] | None = None
    """`below-degree`: one end of a new link at least has fewer links than `degree`, while there is such a broker. By
    default any two that may get a link are joined."""
    burn_in: Duration = 0.0
    """Time of rewiring before the start, so that degrees at the start are as mixed as later."""

    def evolution(self, topology: TopologyKind, name: str, seed: int, end: float) -> Evolution:
        toward = Toward.AT_MOST_DEGREE if self.toward is None else Toward(self.toward)
        rewiring = Rewiring(self.every, self.repaired_after, self.degree, toward)
        start = self._start(topology, name, seed)
        links = ReappearingLinks(start, topology.link_source(name, seed))
        evolution = rewired(start, rewiring, links, self.burn_in + end, random.Random(f"{seed}:motion"))
        return evolution.since(self.burn_in) if self.burn_in else evolution


class _Mobility(MotionKind):
    """The base of all kinds in which brokers move and radio range links them."""

    def ways(self, topology: UnitDiskTopology, seed: int, end: float) -> dict[BrokerId, Trajectory]:
        """The trajectory of each broker."""
        raise NotImplementedError

    def movements(self, topology: TopologyKind, seed: int, end: float) -> Mapping[BrokerId, Trajectory]:
        return self.ways(_unit_disk(topology), seed, end)

    def evolution(self, topology: TopologyKind, name: str, seed: int, end: float) -> Evolution:
        disk = _unit_disk(topology)
        return self._judged(moving(name, self.ways(disk, seed, end), disk.range, disk.link_source(name, seed), end))

    def moment(self, topology: TopologyKind, name: str, seed: int, time: float) -> Overlay:
        disk = _unit_disk(topology)
        end = time + 1.0  # contacts need some time to be in
        ways = self.ways(disk, seed, end)
        evolution = moving(name, ways, disk.range, disk.link_source(name, seed), end)
        return at_positions(evolution.at(time), ways, time)


class _RandomMobility(_Mobility):
    speed: SpeedRange
    """Speed of each leg: `2m/s`, or a range such as `1m/s..3m/s`."""
    pause: DurationRange = Range(0.0, 0.0)
    """Time between two legs."""

    @model_validator(mode="after")
    def _moves(self) -> _RandomMobility:
        if self.speed.low <= 0:
            raise ValueError("`speed` is more than 0")
        return self

    def ways(self, topology: UnitDiskTopology, seed: int, end: float) -> dict[BrokerId, Trajectory]:
        places = topology.places(seed)
        area, walk, model = Area(*topology.area or (0.0, 0.0)), Walk(self.speed, self.pause), self._model()
        return {
            broker: model(place, area, walk, end, random.Random(f"{seed}:motion:{broker}"))
            for broker, place in places.items()
        }

    def _model(self) -> Model:
        raise NotImplementedError


class RandomDirectionMotion(_RandomMobility):
    """Brokers of a `unit-disk` topology move straight to an edge of its area, and on in another random direction."""

    kind: Literal["random-direction"]

    def _model(self) -> Model:
        return random_direction


class RandomWaypointMotion(_RandomMobility):
    """Brokers of a `unit-disk` topology move straight to a random point of its area, and on to another."""

    kind: Literal["random-waypoint"]

    def _model(self) -> Model:
        return random_waypoint


class TraceMotion(_Mobility):
    """Brokers of a `unit-disk` topology move as its file of `positions` states; its time 0 is the motion's start."""

    kind: Literal["trace"]

    def ways(self, topology: UnitDiskTopology, seed: int, end: float) -> dict[BrokerId, Trajectory]:
        return topology.trajectories()


class ScriptedChange(Section):
    """One change of a link: its time, and either `appear` or `vanish`."""

    at: Duration
    """Time since the motion's start."""
    appear: tuple[BrokerName, BrokerName] | None = None
    """Two brokers that get a link."""
    vanish: tuple[BrokerName, BrokerName] | None = None
    """Two brokers that lose their link."""

    @model_validator(mode="after")
    def _is_one_change(self) -> ScriptedChange:
        if (self.appear is None) == (self.vanish is None):
            raise ValueError("give either `appear` or `vanish`, with two brokers: `{at: 1s, vanish: [B1, B2]}`")
        return self


class ScriptMotion(MotionKind):
    """Changes of links one by one."""

    kind: Literal["script"]
    changes: tuple[ScriptedChange, ...]
    """The changes, in order of time: `[{at: 1s, vanish: [B1, B2]}, {at: 1100ms, appear: [B1, B7]}]`."""

    def evolution(self, topology: TopologyKind, name: str, seed: int, end: float) -> Evolution:
        start = self._start(topology, name, seed)
        links = ReappearingLinks(start, topology.link_source(name, seed))
        known = {broker.id for broker in start.brokers}
        changes: list[Change] = []
        for item in self.changes:
            for broker in (*(item.appear or ()), *(item.vanish or ())):
                if broker not in known:
                    raise OverlayError(f"change at {item.at:g} s: the overlay has no broker {broker!r}")
            if item.appear is not None:
                changes.append(Appears(item.at, links.between(*item.appear)))
            elif item.vanish is not None:
                changes.append(Vanishes(item.at, *item.vanish))
        return Evolution(start, tuple(changes))


def _unit_disk(topology: TopologyKind) -> UnitDiskTopology:
    if not isinstance(topology, UnitDiskTopology):
        raise OverlayError("brokers that move need a topology of kind unit-disk, which has places and a radio range")
    return topology


AnyMotion = RewireMotion | RandomDirectionMotion | RandomWaypointMotion | TraceMotion | ScriptMotion
MotionSection = Annotated[AnyMotion, Field(discriminator="kind")]

MOTIONS: Mapping[str, type[MotionKind]] = {
    get_args(model.model_fields["kind"].annotation)[0]: model for model in get_args(AnyMotion)
}
"""The section of each kind, by its name."""
