"""Join points at one broker, which may pass their units on, as movement rules say.

A unit that is split may have sub-units (`sub_units`). The broker that detects a unit is the home of its sub-units.
These are placed and move as all units do, and end when the broker ceases to detect the unit, so that each join point of
a unit that moves has its own. A sub-unit sends each publication once, with the first set that the publication
completes, because the unit's detector keeps it as long as one that arrives alone. So a sub-unit never costs more
messages than its parts would. The trees of a sub-unit are confirmed at a join point when they are confirmed at the
sub-unit's own.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import msgspec

from broker_service.language.composite import Atomic
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.composite_wire import encode_composite
from broker_service.messages import BrokerId, Kind, Message
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.common.identifiers import Home
from broker_service.routing.interface import (
    Action,
    CancelTimer,
    CompositeUnit,
    Detect,
    RecordPlacement,
    Send,
    SetTimer,
)
from broker_service.routing.tid.placement.decision.choice import Decision
from broker_service.routing.tid.placement.endings import OverlapEnd
from broker_service.routing.tid.placement.messages import (
    ComposeHeader,
    PartRates,
    UnitReturned,
    to,
)
from broker_service.routing.tid.placement.movement import MovementRules
from broker_service.routing.tid.placement.overlap import Overlap
from broker_service.routing.tid.placement.prospects import Prospects
from broker_service.routing.tid.placement.reports import Reports
from broker_service.routing.tid.placement.rows import UnitRow
from broker_service.routing.tid.placement.seen_sets import SeenSets
from broker_service.routing.tid.placement.sub_units import SubUnit
from broker_service.routing.tid.placement.unit_rows import UnitRows
from record.log import SUB_UNIT, Event


class PlacementTick(msgspec.Struct, frozen=True):
    """The key of the timer after which join points decide again."""


class JoinPoints:
    """Makes this broker a join point, and passes units on. The rows are those of `Units`."""

    def __init__(
        self,
        home: Home,
        rows: UnitRows,
        *,
        prospects: Prospects,
        rules: MovementRules,
        reports: Reports,
        now: Callable[[], float],
    ) -> None:
        """`now` is in seconds."""
        self._home = home
        self._rows = rows
        self._prospects = prospects
        self._rules = rules
        self._reports = reports
        self._now = now
        self._ticking = False
        self._seen = SeenSets()

    @property
    def notified_sets(self) -> SeenSets | None:
        """The memory of a home; None where one join point reports a set once, because units neither move nor have
        sub-units, which repeat a publication when they are placed anew."""
        return self._seen if self._rules.units_move or self._prospects.makes_sub_units else None

    def pass_on(self, row: UnitRow, destination: BrokerId, parts: PartRates) -> Send:
        """Sends a unit to the next broker on its path."""
        unit = row.unit
        row.next_hop = destination
        row.former.pop(destination, None)
        self._rows.note(row)
        path = (*row.path, self._home)
        header = ComposeHeader(unit.client, unit.name, row.epoch, row.move, row.former_place, path, parts)
        body = encode_composite(unit.composite)
        row.sent = Message(Kind.COMPOSE, unit.id, body, encode_header(header), len(path))
        return Send(destination, row.sent)

    def join(self, row: UnitRow, decision: Decision, parts: PartRates, reason: str) -> list[Action]:
        """Makes this broker the join point of a unit, which may be a former one that still detects.

        `decision` was made here, with the rates of these parts. A former join point keeps the sub-units that it has.
        """
        assert row.placement is not None
        actions: list[Action] = [] if row.detecting else self._detect(row, decision, parts)
        if row.overlap is not None:
            actions.append(CancelTimer(OverlapEnd(row.unit.id)))
        row.next_hop, row.sent = None, None
        row.detecting, row.overlap, row.joined_at = True, None, self._now()
        row.trees, row.reported = {}, None
        actions.append(RecordPlacement(Event.JOINED, row.unit, row.placement, reason, row.former_place))
        actions += self._reports.report(row, None)
        if self._may_move(row):
            actions += self._reports.attend(row)
            if not self._ticking:
                self._ticking = True
                actions.append(SetTimer(PlacementTick(), self._rules.interval))
        return actions

    def _detect(self, row: UnitRow, decision: Decision, parts: PartRates) -> list[Action]:
        """Has a unit detected here, with the sub-units that it is split into."""
        elsewhere: set[int] = set()
        sent: list[Action] = []
        numbers = count(1)
        for sub_unit in self._prospects.sub_units(decision):
            name = f"{row.unit.id}{SUB_UNIT}{row.epoch}.{row.move}.{next(numbers)}"
            rates = tuple(parts[number] for number in sub_unit.parts)
            sub_row = _sub_row(row.unit, name, sub_unit)
            alone = self._prospects.decide_on_arrival(sub_row, rates)
            if alone.destinations != {sub_unit.destination}:
                continue  # it costs less here, since its detections need not go on to where the unit came from
            self._rows[name] = sub_row
            row.sub_units = (*row.sub_units, name)
            self._prospects.note(sub_row, alone, rates)
            sent.append(self.pass_on(sub_row, sub_unit.destination, rates))
            elsewhere.update(sub_unit.parts)
            written = ", ".join(str(number + 1) for number in sub_unit.parts)
            row.explanation += f"\nparts {written} -> {sub_unit.destination} together, as {name}"
        if row.unit.parent is not None:
            row.passed_on = self._seen
        return [Detect(row.unit, frozenset(elsewhere)), *sent]

    def tick(self) -> list[Action]:
        """An interval has ended: units are passed on where that is worth it."""
        actions: list[Action] = []
        joined = [row for row in self._rows.values() if row.joins and self._may_move(row)]
        for row in joined:
            actions += self._reports.attend(row)
            if self._rules.is_due(row, self._now()):
                actions += self._decide_again(row)
        self._ticking = bool(joined)
        return [*actions, SetTimer(PlacementTick(), self._rules.interval)] if joined else actions

    def _may_move(self, row: UnitRow) -> bool:
        """False for a single part, too, which its home detects."""
        return self._rules.units_move and not isinstance(row.unit.composite.pattern, Atomic)

    def _decide_again(self, row: UnitRow) -> list[Action]:
        parts = self._prospects.rates(row.unit.composite.pattern)
        decision = self._prospects.decide_again(row, parts)
        destination = self._rules.destination(decision, row.former_place)
        if destination is None:
            return []
        self._prospects.note(row, decision, parts)
        return self.move(row, destination, parts, decision.reason.value)

    def move(self, row: UnitRow, destination: BrokerId, parts: PartRates, reason: str) -> list[Action]:
        """Passes a unit on, or returns it; this broker detects it until the overlap ends."""
        assert row.placement is not None
        row.move += 1
        row.overlap, row.former_place = Overlap(), self._home.broker
        row.placement = msgspec.structs.replace(row.placement, move=row.move)
        actions: list[Action] = [RecordPlacement(Event.MOVED, row.unit, row.placement, reason, destination)]
        if destination == row.previous:
            actions.append(to(destination, UnitReturned(row.unit.id, row.epoch, row.move, parts)))
        else:
            actions.append(self.pass_on(row, destination, parts))
        return actions + self._prospects.unwant_statistics(row) if row.path else actions


def _sub_row(unit: CompositeUnit, name: str, sub_unit: SubUnit) -> UnitRow:
    """The row of a new sub-unit at its home."""
    composite = CompositeSubscription(sub_unit.pattern, unit.composite.within)
    return UnitRow(CompositeUnit(name, unit.client, unit.name, composite), 1, ())
