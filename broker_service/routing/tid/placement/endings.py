"""Ends of units at one broker: of their detection, and of their rows.

A former join point ceases when its overlap with the present one ends (`overlap`). A unit that is withdrawn, or routed
anew, ends at all brokers to which it went from here, and so do its sub-units. A broker that has returned a unit keeps
its row as long as it has something to send.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from broker_service.routing.interface import Action, CancelTimer, Cease, CompositeUnit, RecordPlacement, SetTimer
from broker_service.routing.tid.placement.messages import UnitLeft, UnitPlaced, UnitWithdrawn, to
from broker_service.routing.tid.placement.overlap import Overlap
from broker_service.routing.tid.placement.prospects import Prospects
from broker_service.routing.tid.placement.rows import Ending, UnitRow
from broker_service.routing.tid.placement.unit_rows import UnitRows
from record.log import Event
from record.time_units import SECOND

LEAST_WAIT = 0.001
"""Seconds: a timer may run out a rounding error before the time that it was set for."""


class OverlapEnd(msgspec.Struct, frozen=True):
    """The key of the timer after which a former join point ceases."""

    unit: str


class Endings:
    """Ends units at one broker. The rows are those of `Units`."""

    def __init__(self, rows: UnitRows, prospects: Prospects, *, now: Callable[[], float], lateness: float) -> None:
        """`now` and `lateness` are in seconds; see `overlap`."""
        self._rows = rows
        self._prospects = prospects
        self._now = now
        self._lateness = lateness

    def learn(self, row: UnitRow, placed: UnitPlaced) -> list[Action]:
        """A former join point learns of the present one."""
        if row.overlap is None or placed.confirmed is None:
            return []
        row.overlap.report(placed.move, placed.confirmed, self._now())
        return self._end_overlap(row, row.overlap)

    def overlap_ends(self, unit: str) -> list[Action]:
        """The timer of a former join point has run out."""
        row = self._rows.get(unit)
        return [] if row is None or row.overlap is None else self._end_overlap(row, row.overlap)

    def _end_overlap(self, row: UnitRow, overlap: Overlap) -> list[Action]:
        ends_at = overlap.ends_at(self._prospects.trees(row.unit.composite.pattern), self._span(row.unit))
        if ends_at is None:
            return []
        if ends_at > self._now():
            return [SetTimer(OverlapEnd(row.unit.id), max(ends_at - self._now(), LEAST_WAIT))]
        return [*self.cease(row, Ending.TAKEN_OVER), *self.dismiss(row)]

    def _span(self, unit: CompositeUnit) -> float:
        """Seconds for which a detector keeps a match of a unit."""
        return (unit.composite.within or 0) / SECOND + self._lateness

    def cease(self, row: UnitRow, ending: Ending) -> list[Action]:
        """Ends the detection of a unit here; has no effect where it is not detected."""
        if not row.detecting:
            return []
        assert row.placement is not None
        actions: list[Action] = [Cease(row.unit.id), RecordPlacement(Event.LEFT, row.unit, row.placement, ending.value)]
        if row.overlap is not None:
            actions.append(CancelTimer(OverlapEnd(row.unit.id)))
        row.detecting, row.overlap = False, None
        for sub_unit in row.sub_units:
            actions += self.remove(self._rows[sub_unit], ending)
        row.sub_units = ()
        return actions

    def remove(self, row: UnitRow, ending: Ending) -> list[Action]:
        """Removes a unit, here and at all brokers to which it went from here."""
        del self._rows[row.unit.id]
        actions = self.cease(row, ending)
        if row.path or row.unit.parent is not None:
            actions += self._prospects.unwant_statistics(row)
        behind = row.former if row.next_hop is None else {row.next_hop: None, **row.former}
        withdrawn = UnitWithdrawn(row.unit.id, row.epoch)
        return [*actions, *(to(neighbour, withdrawn) for neighbour in behind)]

    def dismiss(self, row: UnitRow) -> list[Action]:
        """Removes the row of a broker that has returned a unit, once it has nothing more to send."""
        if not row.is_idle:
            return []
        assert row.previous is not None
        del self._rows[row.unit.id]
        return [to(row.previous, UnitLeft(row.unit.id, row.epoch))]
