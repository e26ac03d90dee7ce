"""Broken handling of sub-units, each wrong in one way, to see that the properties notice."""

from __future__ import annotations

from typing import Any

from broker_service.detection import Detection, Detector
from broker_service.messages import BrokerId, StampedPublication
from broker_service.routing.interface import Action
from broker_service.routing.tid.placement.detections import Detections
from broker_service.routing.tid.placement.endings import Endings
from broker_service.routing.tid.placement.join_points import JoinPoints
from broker_service.routing.tid.placement.rows import Ending, UnitRow
from broker_service.routing.tid.placement.units import Units
from tests.properties.composites.movement_mutants import endings

_move, _cease, _detected, _contribute = JoinPoints.move, Endings.cease, Detections.detected, Detector.contribute


def ends_sub_units_at_once(self: JoinPoints, row: UnitRow, *arguments: Any) -> list[Action]:
    """A join point that passes its unit on detects it further, and its sub-units end."""
    actions = _move(self, row, *arguments)
    for sub_unit in row.sub_units:
        actions += endings(self).remove(self._rows[sub_unit], Ending.TAKEN_OVER)
    row.sub_units = ()
    return actions


def leaves_sub_units(self: Endings, row: UnitRow, ending: Ending) -> list[Action]:
    row.sub_units = ()
    return _cease(self, row, ending)


def passes_on_the_last_alone(self: Detections, unit: str, publications: tuple[StampedPublication, ...]) -> list[Action]:
    """A sub-unit passes on the last publication of each set."""
    part = self._rows[unit].unit.parent is not None
    return _detected(self, unit, publications[-1:] if part else publications)


def stamps_on_arrival(self: Detector, composite: str, id: str, stamp: int, body: bytes) -> list[Detection]:
    """Publications of a sub-unit count as published when they come."""
    return _contribute(self, composite, id, self._clock(), body)


def leaves_broken_paths(self: Units, broker: BrokerId) -> list[Action]:
    """A restart on the path of a unit leaves it as it is at the brokers behind."""
    return []
