"""Reports of a join point towards the home of its unit: of the path to it, and of the trees whose roots know of it.

A unit that has moved is detected by its former join point, too, until all trees are confirmed (`confirmation`). The
trees of a sub-unit are confirmed at the sub-unit's own join point, which reports them to the home of the sub-unit. That
home is the join point of the whole unit, and reports when its own trees and those of all sub-units are confirmed.
"""

from __future__ import annotations

from broker_service.routing.common.identifiers import Home
from broker_service.routing.interface import Action
from broker_service.routing.tid.placement.confirmation import Confirmations, Join
from broker_service.routing.tid.placement.messages import UnitPlaced, to
from broker_service.routing.tid.placement.prospects import Prospects
from broker_service.routing.tid.placement.rows import UnitRow
from broker_service.routing.tid.placement.unit_rows import UnitRows
from broker_service.routing.tid.routes import TreeId


class Reports:
    """The reports that one broker makes as a join point, and those that it gets as a home."""

    def __init__(self, home: Home, rows: UnitRows, prospects: Prospects, confirmations: Confirmations) -> None:
        self._home = home
        self._rows = rows
        self._prospects = prospects
        self._confirmations = confirmations

    def report(self, row: UnitRow, confirmed: tuple[TreeId, ...] | None) -> list[Action]:
        path = (*row.path, self._home)
        placed = UnitPlaced(row.unit.id, row.epoch, row.move, path, confirmed)
        actions: list[Action] = [to(neighbour, placed) for neighbour in row.upstream_and_former]
        return actions + self.learn(row, placed) if row.previous is None else actions

    def attend(self, row: UnitRow) -> list[Action]:
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
        return self.report(row, trees)

    def _is_confirmed(self, sub_unit: str) -> bool:
        row = self._rows[sub_unit]
        return row.confirmed is not None and self._prospects.trees(row.unit.composite.pattern).keys() <= row.confirmed

    def learn(self, row: UnitRow, placed: UnitPlaced) -> list[Action]:
        """The home of a unit learns of the join point; that of a sub-unit is a join point that may wait for this."""
        row.whole_path = placed.path
        self._rows.note(row)
        if placed.confirmed is None or row.unit.parent is None:
            return []
        row.confirmed = frozenset(placed.confirmed)
        waiting = self._rows[row.unit.parent]
        return self._report_confirmed(waiting) if waiting.joins and waiting.trees else []
