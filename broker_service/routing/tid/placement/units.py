"""Composite subscriptions that are routed as units (section 4), at one broker.

1. The subscriber's broker, the *home* of a unit, matches each part with the advertisements, once. It estimates the
   part's matches by tree, and both travel with the unit.
2. Each broker that has the unit chooses its destination (`choice`). A neighbour gets it as a whole, and the brokers
   that the unit has been at with it. The broker that chooses itself is the join point: the parts become subscriptions
   of its own, so that they follow the trees, and are bound to later ones, as all subscriptions do.
3. Every broker on the way keeps a row. Detections go back along the path, which dynamic publication routing does not
   change, and so does a report of the whole path to the home.
4. The join point decides again at intervals (`movement`). It passes the unit on as in 2, or returns it to the neighbour
   that it came from, which is the join point from then on. The former join point goes on for a while (`overlap`). Its
   detections take the way to the home from where it is, so rows form a tree: the path, and brokers that have returned
   the unit. The home notifies its client of each set once.
5. A withdrawal follows the path, and reaches those brokers, too. It cannot overtake the unit. What is in flight then
   ends at the first broker that does not know the unit any more.
6. A broker that was restarted has lost its rows, and its matches. Those behind it drop the unit as soon as they know
   (`Restarted` is broadcast). The home withdraws the unit along the part of the path before that broker and routes it
   again under the next *epoch*; messages of another epoch are ignored. While the home does not know the path, any
   broker may have been on it; it may learn of a path only after a broker on it was restarted. A neighbour that was
   restarted is sent again what its link has dropped.

A unit that DCSR splits may have sub-units (`join_points`), whose home is its join point: there they contribute to the
detection of the unit instead of notifying a client. Rules 2 to 6 hold for them, too.

Moves are numbered within an epoch. Only the join point moves a unit, so a higher number is news wherever it comes from.
The home asks for statistics of the trees (`exchange`) as long as the unit stands, and so does the join point. Before
there are any, rates are guessed. A unit whose parts match no advertisement stays at its home until one of them does.
"""

from __future__ import annotations

from collections.abc import Iterator

from broker_service.language import ContentError
from broker_service.language.composite import Atomic
from broker_service.language.composite_subscription import CompositeSubscription, parts_of
from broker_service.language.composite_wire import decode_composite
from broker_service.messages import BrokerId, Message
from broker_service.routing.common.identifiers import Home, split_id
from broker_service.routing.interface import (
    Action,
    CompositeUnit,
    MalformedMessageError,
    Send,
    TimerKey,
)
from broker_service.routing.tid.placement.confirmation import BindingAsked, BindingConfirmed, Confirmations
from broker_service.routing.tid.placement.decision.choice import Reason
from broker_service.routing.tid.placement.detections import Detections
from broker_service.routing.tid.placement.endings import Endings, OverlapEnd
from broker_service.routing.tid.placement.exchange import Exchange, Tick
from broker_service.routing.tid.placement.join_points import JoinPoints, PlacementTick
from broker_service.routing.tid.placement.messages import (
    ComposeHeader,
    PartRates,
    PlacementMessage,
    UnitLeft,
    UnitNews,
    UnitPlaced,
    UnitReturned,
    UnitWithdrawn,
    decode_compose,
    to,
)
from broker_service.routing.tid.placement.prospects import Prospects
from broker_service.routing.tid.placement.reports import Reports
from broker_service.routing.tid.placement.rows import Ending, UnitRow
from broker_service.routing.tid.placement.unit_rows import UnitRows
from broker_service.routing.tid.reconciliation import KnownIncarnations
from record.log import SUB_UNIT

_UNIT_BYTES = 256
"""Bytes of memory for each broker on the path of a unit, about."""


class Units:
    """The units at one broker. The router owns the advertisements and performs the actions."""

    def __init__(
        self,
        home: Home,
        rows: UnitRows,
        *,
        join_points: JoinPoints,
        reports: Reports,
        endings: Endings,
        prospects: Prospects,
        confirmations: Confirmations,
        exchange: Exchange,
        detections: Detections,
        incarnations: KnownIncarnations,
    ) -> None:
        self._home = home
        self._rows = rows
        self._join_points = join_points
        self._reports = reports
        self._endings = endings
        self._prospects = prospects
        self._confirmations = confirmations
        self.exchange = exchange
        self.detections = detections
        self._incarnations = incarnations

    # Operations of clients, timers

    def compose(self, unit: CompositeUnit) -> list[Action]:
        """A client of this broker makes a composite subscription."""
        return self._place_at_home(UnitRow(unit, 1, (), notified=self._join_points.notified_sets))

    def decompose(self, unit: str) -> list[Action]:
        """A client of this broker withdraws a composite subscription."""
        row = self._rows[unit]
        return self._endings.remove(row, Ending.WITHDRAWN) + self._prospects.unwant_statistics(row)

    def timer(self, key: TimerKey) -> list[Action]:
        """A timer that an action of this package set has run out."""
        if isinstance(key, Tick):
            return self.exchange.tick()
        if isinstance(key, PlacementTick):
            return self._join_points.tick()
        assert isinstance(key, OverlapEnd)
        return self._endings.overlap_ends(key.unit)

    # Messages of neighbours

    def receive_unit(self, neighbour: BrokerId, message: Message) -> list[Action]:
        """A unit has come to this broker."""
        header = decode_compose(message.header)
        whole, _, part = message.id.partition(SUB_UNIT)
        home, _ = split_id(whole)
        if not header.path or (header.path[0] != home and not part) or header.path[-1].broker != neighbour:
            raise MalformedMessageError(f"the path of a unit from {neighbour} is {header.path}")
        if any(passed.broker == self._home.broker for passed in header.path):
            raise MalformedMessageError("the unit has been here before")
        composite = _decode(message.body)
        if len(header.parts) != len(parts_of(composite.pattern)):
            raise MalformedMessageError(f"a pattern with {len(header.parts)} parts has others")
        if any(map(self._incarnations.is_former, header.path)):
            return []
        actions: list[Action] = []
        row = self._rows.get(message.id)
        if row is not None and row.previous is None:
            raise MalformedMessageError("the unit has its home here")
        if row is not None and (row.epoch, row.move) >= (header.epoch, header.move):
            return []
        if row is not None and row.epoch < header.epoch:
            actions += self._endings.remove(row, Ending.ROUTED_ANEW)
            row = None
        if row is None:
            unit = CompositeUnit(message.id, header.client, header.name, composite)
            row = self._rows[unit.id] = UnitRow(unit, header.epoch, header.path)
        else:
            actions += self._come_back(row, header)
        row.move, row.former_place = header.move, header.former_place
        return actions + self._place(row, header.parts)

    def _come_back(self, row: UnitRow, header: ComposeHeader) -> list[Action]:
        """A unit that this broker has returned comes back, maybe by another path."""
        former = row.previous
        row.path = header.path
        self._rows.note(row)
        assert former is not None
        assert row.previous is not None
        row.former.pop(row.previous, None)
        return [] if former == row.previous else [to(former, UnitLeft(row.unit.id, row.epoch))]

    def receive_control(self, neighbour: BrokerId, message: PlacementMessage) -> list[Action]:
        """News of a unit, or a message of the exchange."""
        match message:
            case BindingAsked():
                return [*self._confirmations.receive_question(neighbour, message)]
            case BindingConfirmed():
                return [*self._confirmations.pass_on(message), *self._reports.confirm(message.tid, message.join)]
            case UnitWithdrawn() | UnitPlaced() | UnitReturned() | UnitLeft():
                row = self._rows.get(message.unit)
                if row is None or row.epoch != message.epoch:
                    return []
                return self._receive_news(neighbour, row, message)
            case _:
                return self.exchange.receive(neighbour, message)

    def _receive_news(self, neighbour: BrokerId, row: UnitRow, news: UnitNews) -> list[Action]:
        match news:
            case UnitWithdrawn():
                return self._endings.remove(row, Ending.WITHDRAWN) if neighbour == row.previous else []
            case UnitPlaced():
                return self._receive_report(neighbour, row, news)
            case UnitReturned():
                return self._receive_returned(neighbour, row, news)
            case UnitLeft():
                row.former.pop(neighbour, None)
                return self._endings.dismiss(row)

    def _receive_report(self, neighbour: BrokerId, row: UnitRow, placed: UnitPlaced) -> list[Action]:
        """The path of a unit is known, to its join point."""
        if neighbour not in (row.next_hop, row.previous) or placed.move < row.move:
            return []
        row.move = placed.move
        actions: list[Action] = [to(other, placed) for other in row.upstream_and_former if other != neighbour]
        actions += self._endings.learn(row, placed)
        if row.previous is None:
            actions += self._reports.learn(row, placed)
            actions += self._mend(row)
        return actions

    def _receive_returned(self, neighbour: BrokerId, row: UnitRow, returned: UnitReturned) -> list[Action]:
        """The join point behind this broker found that this one is better."""
        if neighbour != row.next_hop or returned.move <= row.move:
            return []
        if len(returned.parts) != len(parts_of(row.unit.composite.pattern)):
            raise MalformedMessageError(f"a unit comes back with {len(returned.parts)} parts")
        row.move, row.former_place = returned.move, neighbour
        row.former[neighbour] = None
        self._rows.note(row)
        decision = self._prospects.decide_again(row, returned.parts)
        self._prospects.note(row, decision, returned.parts)
        row.explanation = f"joined here, because {neighbour} found that cheaper; as seen from here:\n{row.explanation}"
        return self._join_points.join(row, decision, returned.parts, Reason.RETURNED.value)

    # Restarts

    def renew(self, neighbour: BrokerId) -> list[Send]:
        """The link to a restarted neighbour is up: units that were meant for it go there again, because the link has
        dropped what waited for its former incarnation. It ignores a unit that it has."""
        rows = self._rows.values()
        return [Send(neighbour, row.sent) for row in rows if row.sent is not None and row.next_hop == neighbour]

    def restarted(self, broker: BrokerId) -> list[Action]:
        """A later incarnation of some broker is known; see rule 6."""
        actions: list[Action] = []
        for row in self._rows.concerned(broker):
            if self._rows.get(row.unit.id) is not row:
                continue  # a sub-unit that has ended with its unit
            if any(map(self._incarnations.is_former, row.path)):
                actions += self._endings.remove(row, Ending.PATH_BROKEN)
                continue
            if broker in row.former:
                del row.former[broker]
                actions += self._endings.dismiss(row)
            if row.previous is None:
                actions += self._mend(row)
        return actions

    def _mend(self, row: UnitRow) -> list[Action]:
        """At the home: routes a unit anew if a broker on its path has lost it, or may have."""
        path = row.whole_path
        if row.next_hop is None or (path is not None and not any(map(self._incarnations.is_former, path))):
            return []
        actions = self._endings.remove(row, Ending.PATH_BROKEN)
        anew = UnitRow(row.unit, row.epoch + 1, (), wanted=row.wanted, notified=row.notified)
        return actions + self._place_at_home(anew)

    # Tables

    def declared(self) -> Iterator[int]:
        """Bytes of each unit that came from a neighbour."""
        return (_UNIT_BYTES * len(row.path) for row in self._rows.values() if row.path)

    def tables(self) -> dict[str, list[str]]:
        """The grounds of each unit's destination here, for people."""
        return {id: row.explanation.splitlines() for id, row in self._rows.items()}

    def __len__(self) -> int:
        return len(self._rows)

    def _place_at_home(self, row: UnitRow) -> list[Action]:
        """Matches the parts of a unit with advertisements, whose statistics are asked for, and chooses its place."""
        self._rows[row.unit.id] = row
        parts = self._prospects.rates(row.unit.composite.pattern)
        trees = dict.fromkeys(tid for part in parts for tid, _ in part)
        return [*self._place(row, parts), *self._prospects.want_statistics(row, trees)]

    def _place(self, row: UnitRow, parts: PartRates) -> list[Action]:
        """Chooses a unit's destination, and sends it there or has it detected here."""
        decision = self._prospects.decide_on_arrival(row, parts)
        self._prospects.note(row, decision, parts)
        here = self._home.broker
        destination = min(decision.destinations, default=here)
        if isinstance(row.unit.composite.pattern, Atomic) or destination == here:
            return self._join_points.join(row, decision, parts, decision.reason.value)
        return [self._join_points.pass_on(row, destination, parts)]


def _decode(body: bytes) -> CompositeSubscription:
    try:
        composite = decode_composite(body)
    except ContentError as error:
        raise MalformedMessageError(str(error)) from None
    if composite.within is None:
        raise MalformedMessageError("a unit without a window")
    return composite
