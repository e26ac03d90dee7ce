"""Join points at one broker: those of the moment, which may pass their units on, and former ones.

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
    Cease,
    CompositeUnit,
    Detect,
    RecordPlacement,
    Send,
    SetTimer,
)
from broker_service.routing.tid.placement.confirmation import Confirmations, Join
from broker_service.routing.tid.placement.decision.choice import Decision
from broker_service.routing.tid.placement.messages import (
    ComposeHeader,
    PartRates,
    UnitLeft,
    UnitNews,
    UnitPlaced,
    UnitReturned,
    UnitWithdrawn,
)
from broker_service.routing.tid.placement.movement import MovementRules
from broker_service.routing.tid.placement.overlap import Overlap
from broker_service.routing.tid.placement.prospects import Prospects
from broker_service.routing.tid.placement.rows import Ending, UnitRow
from broker_service.routing.tid.placement.seen_sets import SeenSets
from broker_service.routing.tid.placement.sub_units import SubUnit
from broker_service.routing.tid.placement.unit_rows import UnitRows
from broker_service.routing.tid.routes import TreeId
from record.log import SUB_UNIT, Event
from record.time_units import SECOND

LEAST_WAIT = 0.001
"""Seconds: a timer may run out a rounding error before the time that it was set for."""


class PlacementTick(msgspec.Struct, frozen=True):
    """The key of the timer after which join points decide again."""


class OverlapEnd(msgspec.Struct, frozen=True):
    """The key of the timer after which a former join point ceases."""

    unit: str


class JoinPoints:
    """Makes this broker a join point and a former one. The rows are those of `Units`."""

    def __init__(
        self,
        home: Home,
        rows: UnitRows,
        *,
        prospects: Prospects,
        rules: MovementRules,
        confirmations: Confirmations,
        now: Callable[[], float],
        lateness: float,
    ) -> None:
        """`now` and `lateness` are in seconds; see `overlap`."""
        self._home = home
        self._rows = rows
        self._prospects = prospects
        self._rules = rules
        self._confirmations = confirmations
        self._now = now
        self._lateness = lateness
        self._ticking = False
        self._seen = SeenSets()

    @property
    def notified_sets(self) -> SeenSets | None:
        """The memory of a home; None where one join point reports a set once, because units neither move nor have
        sub-units, which repeat a publication when they are placed anew."""
        return self._seen if self._rules.units_move or self._prospects.makes_sub_units else None

    def _span(self, unit: CompositeUnit) -> float:
        """Seconds for which a detector keeps a match of a unit."""
        return (unit.composite.within or 0) / SECOND + self._lateness

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
        actions += self._report(row, None)
        if self._may_move(row):
            actions += self._attend(row)
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
            actions += self._attend(row)
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

    # Trees that know of a join point

    def _attend(self, row: UnitRow) -> list[Action]:
        """Asks for statistics of the trees of a unit, and, since a move, for their confirmation."""
        trees = self._prospects.trees(row.unit.composite.pattern)
        actions = self._prospects.want_statistics(row, trees)
        if not row.move and row.unit.parent is None:
            return actions
        row.trees = {tid: row.trees.get(tid, False) or self._confirmations.is_certain(tid) for tid in trees}
        join = Join(row.unit.id, row.epoch, row.move)
        actions += self._confirmations.ask(join, [tid for tid, confirmed in row.trees.items() if not confirmed])
        return actions + self._report_confirmed(row)

    def confirm(self, tree: TreeId, join: Join) -> list[Action]:
        """The root of a tree knows of a join point here, which may have moved on since."""
        row = self._rows.get(join.unit)
        if row is None or not row.joins or (row.epoch, row.move) != (join.epoch, join.move) or tree not in row.trees:
            return []
        row.trees[tree] = True
        return self._report_confirmed(row)

    def _report_confirmed(self, row: UnitRow) -> list[Action]:
        """Reports that all trees are confirmed, at sub-units, too, once that is so."""
        trees = tuple(row.trees)
        if trees == row.reported or not all(row.trees.values()) or not all(map(self._is_confirmed, row.sub_units)):
            return []
        row.reported = trees
        return self._report(row, trees)

    def _is_confirmed(self, sub_unit: str) -> bool:
        row = self._rows[sub_unit]
        return row.confirmed is not None and self._prospects.trees(row.unit.composite.pattern).keys() <= row.confirmed

    def _report(self, row: UnitRow, confirmed: tuple[TreeId, ...] | None) -> list[Action]:
        path = (*row.path, self._home)
        placed = UnitPlaced(row.unit.id, row.epoch, row.move, path, confirmed)
        actions: list[Action] = [to(neighbour, placed) for neighbour in row.upstream_and_former]
        return actions + self.learn_at_home(row, placed) if row.previous is None else actions

    def learn_at_home(self, row: UnitRow, placed: UnitPlaced) -> list[Action]:
        """The home of a unit learns of the join point; that of a sub-unit is a join point that may wait for this."""
        row.whole_path = placed.path
        self._rows.note(row)
        if placed.confirmed is None or row.unit.parent is None:
            return []
        row.confirmed = frozenset(placed.confirmed)
        waiting = self._rows[row.unit.parent]
        return self._report_confirmed(waiting) if waiting.joins and waiting.trees else []

    # Former join points

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


def _sub_row(unit: CompositeUnit, name: str, sub_unit: SubUnit) -> UnitRow:
    """The row of a new sub-unit at its home."""
    composite = CompositeSubscription(sub_unit.pattern, unit.composite.within)
    return UnitRow(CompositeUnit(name, unit.client, unit.name, composite), 1, ())


def to(neighbour: BrokerId, message: UnitNews) -> Send:
    """A control message about a unit."""
    return Send(neighbour, Message(Kind.CONTROL, message.unit, b"", encode_header(message)))
