"""Units at one broker: what it knows of each composite subscription that was made there, or came there."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from broker_service.messages import BrokerId, Message
from broker_service.routing.common.identifiers import Home
from broker_service.routing.interface import CompositeUnit
from broker_service.routing.tid.placement.overlap import Overlap
from broker_service.routing.tid.placement.seen_sets import SeenSets
from broker_service.routing.tid.routes import TreeId
from record.log import PlacementRecord


class Ending(enum.Enum):
    """Reason for which a unit is detected at a broker no more."""

    WITHDRAWN = "withdrawn"
    ROUTED_ANEW = "routed anew"
    PATH_BROKEN = "a broker on its path was restarted"
    TAKEN_OVER = "another broker has taken over"


@dataclass(slots=True)
class UnitRow:
    """A unit at a broker: its home, a broker on its path, its join point, or a former one that still detects it."""

    unit: CompositeUnit
    epoch: int
    path: tuple[Home, ...]
    """The brokers, each with its incarnation, that the unit visited before this one, its home first; empty at the
    home."""
    move: int = 0
    """The latest move in this epoch that is known here."""
    wanted: tuple[TreeId, ...] = ()
    """Trees whose statistics the unit's home and its join point have asked for."""
    next_hop: BrokerId | None = None
    """The neighbour towards the join point; None at the join point, and at a broker that has returned the unit."""
    sent: Message | None = None
    """The message that carried the unit to the next hop."""
    former: dict[BrokerId, None] = field(default_factory=dict)
    """Neighbours that have returned the unit, and may still send detections."""
    detecting: bool = False
    """True at a broker that detects the unit."""
    overlap: Overlap | None = None
    """At a former join point, the time for which it still detects the unit; None elsewhere."""
    former_place: BrokerId | None = None
    """At a join point that the unit has moved to, the join point before it."""
    joined_at: float = 0.0
    """Seconds at which this broker became the join point."""
    trees: dict[TreeId, bool] = field(default_factory=dict)
    """At a join point that the unit has moved to: the trees of its parts, True once confirmed (`confirmation`)."""
    reported: tuple[TreeId, ...] | None = None
    """Trees that were reported as confirmed last; None before the first report."""
    explanation: str = ""
    placement: PlacementRecord | None = None
    """The latest decision about its place here, for the log."""
    whole_path: tuple[Home, ...] | None = None
    """At the home: the brokers from the home to the join point; None while it is not known."""
    notified: SeenSets | None = None
    """At the home of a whole unit: the sets that clients were notified of; None where units neither move nor have
    sub-units."""
    sub_units: tuple[str, ...] = ()
    """Sub-units whose home is this broker, which detects the unit."""
    confirmed: frozenset[TreeId] | None = None
    """At the home of a sub-unit: the trees that were confirmed to its join point; None before they are."""
    passed_on: SeenSets | None = None
    """Publications that homes of sub-units were sent by this broker, which detects this one."""

    @property
    def previous(self) -> BrokerId | None:
        """The neighbour that it came from; None at the home."""
        return self.path[-1].broker if self.path else None

    @property
    def upstream_and_former(self) -> list[BrokerId]:
        """Neighbours that a report goes to: the one towards the home, and those that have returned the unit."""
        return [*(() if self.previous is None else (self.previous,)), *self.former]

    @property
    def joins(self) -> bool:
        """True at the join point."""
        return self.detecting and self.overlap is None

    @property
    def is_idle(self) -> bool:
        """True where the unit is neither detected nor passed on, nor expected to be; never at its home."""
        return bool(self.path) and self.next_hop is None and not self.detecting and not self.former
