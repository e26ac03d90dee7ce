"""Broken movements of join points, each wrong in one way, to see that the properties notice."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from unittest import mock

from broker_service.core.composites import INTERNAL
from broker_service.messages import BrokerId, ConstituentPublication, Message
from broker_service.routing.interface import Action, Notify
from broker_service.routing.tid.bindings import Bindings
from broker_service.routing.tid.placement.detections import Detections
from broker_service.routing.tid.placement.endings import Endings
from broker_service.routing.tid.placement.join_points import JoinPoints
from broker_service.routing.tid.placement.overlap import Overlap
from broker_service.routing.tid.placement.rows import Ending, UnitRow
from broker_service.routing.tid.routes import TreeId
from broker_service.routing.tid.tables import AdvertisementRow

_move, _remove, _receive = JoinPoints.move, Endings.remove, Detections.receive
_ends_at, _bind_local = Overlap.ends_at, Bindings.bind_local


def endings(join_points: JoinPoints) -> Endings:
    """Endings at the broker of these join points."""
    return Endings(join_points._rows, join_points._prospects, now=join_points._now, lateness=0.0)


def stops_at_once(self: JoinPoints, row: UnitRow, *arguments: Any) -> list[Action]:
    return [*_move(self, row, *arguments), *endings(self).cease(row, Ending.TAKEN_OVER)]


def notifies_of_all(self: Detections, row: UnitRow, publications: tuple[ConstituentPublication, ...]) -> list[Action]:
    return [Notify(row.unit, publications)]


def is_deaf_to_former_join_points(self: Detections, neighbour: BrokerId, message: Message) -> list[Action]:
    row = self._rows.get(message.id)
    if row is not None:
        row.former.clear()
    return _receive(self, neighbour, message)


def withdraws_along_the_path_alone(self: Endings, row: UnitRow, ending: Ending) -> list[Action]:
    row.former.clear()
    return _remove(self, row, ending)


def withdraws_at_a_former_join_point_alone(self: Endings, row: UnitRow, ending: Ending) -> list[Action]:
    if row.overlap is not None:
        row.next_hop = None
    return _remove(self, row, ending)


def binds_no_part_late(self: Bindings, row: AdvertisementRow) -> list[Action]:
    """Subscriptions of clients only, and not those of composite subscriptions, are bound to a tree that is new."""
    by_home = self._subscriptions.by_home
    of_clients = {
        number: entry
        for number, entry in by_home.get(self._home_name, {}).items()
        if not entry.client.startswith(INTERNAL)
    }
    with mock.patch.dict(by_home, {self._home_name: of_clients}):
        return _bind_local(self, row)


def forgets_the_window(self: Overlap, trees: Collection[TreeId], span: float) -> float | None:
    return _ends_at(self, trees, 0.0)


def never_ends(self: Overlap, trees: Collection[TreeId], span: float) -> float | None:
    return None
