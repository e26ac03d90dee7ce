"""Units at one broker by their names, and by the brokers that they depend on.

A message of 30 bytes may say that a broker was restarted. Only the units that may have lost something by that are
looked at: those with the broker on their path or among the neighbours that have returned them, and those that are on
their way to a join point which their home does not know yet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from broker_service.messages import BrokerId
from broker_service.routing.tid.placement.rows import UnitRow


class UnitRows(dict[str, UnitRow]):
    """Rows of the units at one broker, by the units' names. Every change of a row's brokers must be followed by
    `note`."""

    def __init__(self) -> None:
        super().__init__()
        self._at: defaultdict[BrokerId, set[str]] = defaultdict(set)
        """Names of units that depend on a broker, or did."""
        self._brokers: dict[str, set[BrokerId]] = {}
        """Brokers that each unit depends on, or did."""
        self._unreported: set[str] = set()
        """Units with their home here that were sent to a join point which is not known, or were."""
        self._numbers: dict[str, int] = {}
        self._next = 0

    def __setitem__(self, unit: str, row: UnitRow) -> None:
        self._forget(unit)
        super().__setitem__(unit, row)
        self._numbers[unit] = self._next
        self._next += 1
        self.note(row)

    def __delitem__(self, unit: str) -> None:
        super().__delitem__(unit)
        self._forget(unit)

    def note(self, row: UnitRow) -> None:
        """Records the brokers that a unit depends on."""
        unit = row.unit.id
        whole = row.whole_path or ()
        brokers = {*(home.broker for home in (*row.path, *whole)), *row.former}
        for broker in brokers:
            self._at[broker].add(unit)
        self._brokers.setdefault(unit, set()).update(brokers)
        if not row.path and row.next_hop is not None and row.whole_path is None:
            self._unreported.add(unit)
        else:
            self._unreported.discard(unit)

    def concerned(self, broker: BrokerId) -> Sequence[UnitRow]:
        """Units that a restart of a broker may concern, in the order in which they came."""
        units = self._unreported | self._at.get(broker, set())
        return [self[unit] for unit in sorted(units, key=self._numbers.__getitem__)]

    def _forget(self, unit: str) -> None:
        self._unreported.discard(unit)
        self._numbers.pop(unit, None)
        for broker in self._brokers.pop(unit, ()):
            units = self._at[broker]
            units.discard(unit)
            if not units:
                del self._at[broker]
