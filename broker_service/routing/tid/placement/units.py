"""Composite subscriptions that are routed as units (section 4), at one broker.

1. The subscriber's broker, the *home* of a unit, matches each part with the advertisements, once. It estimates the
   part's matches by tree, and both travel with the unit.
2. Each broker that has the unit chooses its destination (`choice`). A neighbour gets it as a whole, and the brokers
   that the unit has been at with it. The broker that chooses itself is the join point: the parts become subscriptions
   of its own, so that they follow the trees, and are bound to later ones, as all subscriptions do.
3. Every broker on the way keeps a row. Detections go back along the path, which dynamic publication routing does not
   change, and so does a report of the whole path to the home.
4. A withdrawal follows the path. What is in flight then ends at the first broker that does not know the unit any more.
5. A broker that was restarted has lost its rows, and its matches. Those behind it on the path drop the unit as soon as
   they know (`Restarted` is broadcast). The home withdraws the unit along the part of the path before that broker and
   routes it again under the next *epoch*; messages of another epoch are ignored. While the home does not know the path,
   any broker may have been on it. A neighbour that was restarted is sent again what its link has dropped.

The home asks for statistics of the trees (`exchange`) as long as the unit stands, and before it has any, it guesses.
A unit whose parts match no advertisement stays at its home until it is made again.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isinf

import msgspec

from broker_service.errors import MalformedMessageError
from broker_service.language import ContentError, Subscription
from broker_service.language.composite import Atomic
from broker_service.language.composite_subscription import MAX_PARTS, CompositeSubscription, parts_of, relaxed
from broker_service.language.composite_wire import decode_composite, encode_composite
from broker_service.messages import BrokerId, ConstituentPublication, Kind, Message
from broker_service.routing.common.decoding import encode_header, header_decoder
from broker_service.routing.common.identifiers import Home, split_id
from broker_service.routing.interface import Action, Cease, CompositeUnit, Detect, Notify, RecordPlacement, Send
from broker_service.routing.tid.placement.cardinality import Matches, PartMatches, Source, matches_of
from broker_service.routing.tid.placement.choice import Choice, Decision
from broker_service.routing.tid.placement.cost import Surroundings
from broker_service.routing.tid.placement.exchange import Exchange, OwnUnit
from broker_service.routing.tid.placement.explanation import explain
from broker_service.routing.tid.placement.measurement import Measurement
from broker_service.routing.tid.placement.messages import (
    ComposeHeader,
    DetectionHeader,
    UnitPlaced,
    UnitWithdrawn,
    decode_compose,
    decode_detection,
)
from broker_service.routing.tid.placement.queueing import GUESSED_TIMES
from broker_service.routing.tid.placement.statistics import guess
from broker_service.routing.tid.reconciliation import KnownIncarnations
from broker_service.routing.tid.routes import TreeId
from broker_service.routing.tid.tables import AdvertisementRow, SubscriptionRoutingTable
from record.log import Event, PlaceCost, PlacementRecord

TreeRate = tuple[TreeId, float]
"""A tree that a part is bound to, and the part's matches a second in its publications."""

_encode_bodies = msgspec.msgpack.Encoder().encode
_decode_bodies = header_decoder(tuple[bytes, ...])


class Ending(enum.Enum):
    """Reason for which a unit is detected at a broker no more."""

    WITHDRAWN = "withdrawn"
    ROUTED_ANEW = "routed anew"
    PATH_BROKEN = "a broker on its path was restarted"


@dataclass(slots=True)
class UnitRow:
    """A unit that was made at this broker, or came to it."""

    unit: CompositeUnit
    epoch: int
    path: tuple[Home, ...]
    """The brokers that it has been at before, its home first, each with its incarnation; empty at the home."""
    wanted: tuple[TreeId, ...] = ()
    """At the home: trees whose statistics are asked for on its behalf."""
    next_hop: BrokerId | None = None
    """The neighbour that it was sent to; None where it is detected."""
    sent: Message | None = None
    """The message that took it there."""
    explanation: str = ""
    placement: PlacementRecord | None = None
    """The decision about its destination here, for the log."""
    whole_path: tuple[Home, ...] | None = None
    """At the home: the brokers from the home to the join point; None while it is not known."""

    @property
    def previous(self) -> BrokerId | None:
        """The neighbour that it came from; None at the home."""
        return self.path[-1].broker if self.path else None


class Units:
    """The units at one broker. The router owns the advertisements and performs the actions."""

    def __init__(
        self,
        home: Home,
        choice: Choice,
        *,
        advertisements: SubscriptionRoutingTable,
        incarnations: KnownIncarnations,
        intersects: Callable[[AdvertisementRow, Subscription], bool],
        exchange: Exchange,
        measurement: Measurement,
    ) -> None:
        self._home = home
        self._choice = choice
        self._advertisements = advertisements
        self._incarnations = incarnations
        self._intersects = intersects
        self.exchange = exchange
        self._measurement = measurement
        self._rows: dict[str, UnitRow] = {}

    # Operations of clients, and detections at this broker

    def compose(self, unit: CompositeUnit) -> list[Action]:
        """A client of this broker makes a composite subscription."""
        return self._place_at_home(UnitRow(unit, 1, ()))

    def decompose(self, unit: str) -> list[Action]:
        """A client of this broker withdraws a composite subscription."""
        row = self._rows[unit]
        actions = self._remove(row, Ending.WITHDRAWN)
        for tid in row.wanted:
            actions += self.exchange.unwant(tid, OwnUnit(unit))
        return actions

    def detected(self, unit: str, publications: tuple[ConstituentPublication, ...]) -> list[Action]:
        """Publications fulfil a unit that is detected here."""
        row = self._rows[unit]
        if row.previous is None:
            return [Notify(row.unit, publications)]
        header = DetectionHeader(row.epoch, tuple(publication.id for publication in publications))
        body = _encode_bodies([publication.body for publication in publications])
        return [Send(row.previous, Message(Kind.DETECTION, unit, body, encode_header(header), 1))]

    # Messages of neighbours

    def receive_unit(self, neighbour: BrokerId, message: Message) -> list[Action]:
        """A unit has come to this broker."""
        header = decode_compose(message.header)
        home, _ = split_id(message.id)
        if not header.path or header.path[0] != home or header.path[-1].broker != neighbour:
            raise MalformedMessageError(f"the path of a unit from {neighbour} is {header.path}")
        if any(passed.broker == self._home.broker for passed in header.path):
            raise MalformedMessageError("the unit has been here before")
        composite = _decode(message.body)
        if len(header.parts) != len(parts_of(composite.pattern)):
            raise MalformedMessageError(f"a pattern with {len(header.parts)} parts has others")
        if any(map(self._incarnations.is_former, header.path)):
            return []
        actions: list[Action] = []
        known = self._rows.get(message.id)
        if known is not None:
            if known.epoch >= header.epoch:
                return []
            actions += self._remove(known, Ending.ROUTED_ANEW)
        unit = CompositeUnit(message.id, header.client, header.name, composite)
        row = self._rows[unit.id] = UnitRow(unit, header.epoch, header.path)
        return actions + self._place(row, header.parts, message.hops)

    def receive_news(self, neighbour: BrokerId, news: UnitPlaced | UnitWithdrawn) -> list[Action]:
        """A unit has been placed, or ends."""
        if isinstance(news, UnitPlaced):
            return self._receive_report(neighbour, news)
        return self._receive_withdrawal(neighbour, news)

    def _receive_withdrawal(self, neighbour: BrokerId, withdrawn: UnitWithdrawn) -> list[Action]:
        row = self._rows.get(withdrawn.unit)
        if row is None or row.epoch != withdrawn.epoch or row.previous != neighbour:
            return []
        return self._remove(row, Ending.WITHDRAWN)

    def _receive_report(self, neighbour: BrokerId, placed: UnitPlaced) -> list[Action]:
        """The path of a unit is known, to its join point."""
        row = self._rows.get(placed.unit)
        if row is None or row.epoch != placed.epoch or row.next_hop != neighbour:
            return []
        if row.previous is None:
            row.whole_path = placed.path
            return []
        return [_control(row.previous, placed.unit, placed)]

    def receive_detection(self, neighbour: BrokerId, message: Message) -> list[Action]:
        """Publications fulfil a unit; they are passed on towards its home."""
        header = decode_detection(message.header)
        row = self._rows.get(message.id)
        if row is None or row.epoch != header.epoch or row.next_hop != neighbour:
            return []
        if row.previous is not None:
            onward = Message(Kind.DETECTION, message.id, message.body, message.header, message.hops + 1)
            return [Send(row.previous, onward)]
        bodies: tuple[bytes, ...] = _decode_bodies(message.body)
        if len(bodies) != len(header.publications) or not 0 < len(bodies) <= MAX_PARTS:
            raise MalformedMessageError(f"{len(header.publications)} publications with {len(bodies)} contents")
        return [Notify(row.unit, tuple(map(ConstituentPublication, header.publications, bodies)))]

    def renew(self, neighbour: BrokerId) -> list[Send]:
        """The link to a restarted neighbour is up: units that were meant for it go there again, because the link has
        dropped what waited for its former incarnation. It ignores a unit that it has."""
        rows = self._rows.values()
        return [Send(neighbour, row.sent) for row in rows if row.sent is not None and row.next_hop == neighbour]

    def restarted(self) -> list[Action]:
        """A later incarnation of some broker is known; see rule 5."""
        actions: list[Action] = []
        for row in tuple(self._rows.values()):
            if any(map(self._incarnations.is_former, row.path)):
                actions += self._drop(row, Ending.PATH_BROKEN)
            elif row.previous is None and row.next_hop is not None and self._is_broken(row.whole_path):
                actions += self._remove(row, Ending.PATH_BROKEN)
                actions += self._place_at_home(UnitRow(row.unit, row.epoch + 1, (), row.wanted))
        return actions

    def _is_broken(self, path: tuple[Home, ...] | None) -> bool:
        return path is None or any(map(self._incarnations.is_former, path))

    def tables(self) -> dict[str, list[str]]:
        """The grounds of each unit's destination here, for people."""
        return {id: row.explanation.splitlines() for id, row in self._rows.items()}

    def __len__(self) -> int:
        return len(self._rows)

    def _place_at_home(self, row: UnitRow) -> list[Action]:
        """Matches the parts of a unit with advertisements, whose statistics are asked for, and chooses its place."""
        self._rows[row.unit.id] = row
        parts = [list(self._tree_rates(part)) for part in parts_of(row.unit.composite.pattern)]
        actions = self._place(row, parts)
        if not self._choice.compares_costs:
            return actions
        for tid in dict.fromkeys(tid for part in parts for tid, _ in part):
            if tid not in row.wanted:
                row.wanted += (tid,)
                actions += self.exchange.want(tid, OwnUnit(row.unit.id))
        return actions

    def _place(self, row: UnitRow, parts: Sequence[Sequence[TreeRate]], hops: int = 0) -> list[Action]:
        """Chooses a unit's destination, and sends it there or has it detected here."""
        decision = self._decide(row, parts)
        row.explanation = explain(decision, self._home.broker)
        unit, here = row.unit, self._home.broker
        path = (*row.path, self._home)
        row.placement = _record(row, path, decision, parts)
        destination = min(decision.destinations, default=here)
        if isinstance(unit.composite.pattern, Atomic) or destination == here:
            detecting: list[Action] = [
                Detect(unit),
                RecordPlacement(Event.JOINED, unit, row.placement, decision.reason.value),
            ]
            if row.previous is not None:
                detecting.append(_control(row.previous, unit.id, UnitPlaced(unit.id, row.epoch, path)))
            return detecting
        row.next_hop = destination
        header = ComposeHeader(unit.client, unit.name, row.epoch, path, tuple(map(tuple, parts)))
        body = encode_composite(unit.composite)
        row.sent = Message(Kind.COMPOSE, unit.id, body, encode_header(header), hops + 1)
        return [Send(destination, row.sent)]

    def _decide(self, row: UnitRow, parts: Sequence[Sequence[TreeRate]]) -> Decision:
        measured, visited = self._measurement.latest, frozenset(passed.broker for passed in row.path)
        times = measured.times if measured.times.handling else GUESSED_TIMES
        around = Surroundings(self._home.broker, times, measured.outputs, self.exchange.times, row.previous, visited)
        return self._choice.decide(row.unit.composite.pattern, [self._seen_from_here(part) for part in parts], around)

    def _tree_rates(self, part: Atomic) -> Iterator[TreeRate]:
        """The trees that a part intersects, with its matches a second in each."""
        subscription = relaxed(part)
        for row in self._advertisements:
            if self._intersects(row, subscription):
                statistics = self.exchange.statistics(row.id) or guess(row.advertisement)
                yield row.id, matches_of(part, [Source(self._home.broker, statistics)]).matches.rate

    def _seen_from_here(self, part: Sequence[TreeRate]) -> PartMatches:
        """A part's matches by next hop, in the trees that are known here."""
        flows: dict[BrokerId, float] = {}
        for tid, rate in part:
            if tid in self._advertisements:
                next_hop = self._advertisements.last_hop(tid) or self._home.broker
                flows[next_hop] = flows.get(next_hop, 0.0) + rate
        return PartMatches(Matches(sum(flows.values()), {}), flows)

    def _remove(self, row: UnitRow, ending: Ending) -> list[Action]:
        """Removes a unit, here and along the rest of its path."""
        if row.next_hop is None:
            return self._drop(row, ending)
        del self._rows[row.unit.id]
        return [_control(row.next_hop, row.unit.id, UnitWithdrawn(row.unit.id, row.epoch))]

    def _drop(self, row: UnitRow, ending: Ending) -> list[Action]:
        """Removes a unit here alone."""
        del self._rows[row.unit.id]
        if row.next_hop is not None or row.placement is None:
            return []
        return [Cease(row.unit.id), RecordPlacement(Event.LEFT, row.unit, row.placement, ending.value)]


def _decode(body: bytes) -> CompositeSubscription:
    try:
        composite = decode_composite(body)
    except ContentError as error:
        raise MalformedMessageError(str(error)) from None
    if composite.within is None:
        raise MalformedMessageError("a unit without a window")
    return composite


def _record(
    row: UnitRow, path: Sequence[Home], decision: Decision, parts: Sequence[Sequence[TreeRate]]
) -> PlacementRecord:
    return PlacementRecord(
        unit=row.unit.id,
        epoch=row.epoch,
        path=tuple([passed.broker for passed in path]),
        matches=decision.matches.rate,
        parts=tuple(sum(rate for _, rate in part) for part in parts),
        costs=tuple(PlaceCost(cost.place, None if isinf(cost.total) else cost.total) for cost in decision.costs),
    )


def _control(neighbour: BrokerId, id: str, message: UnitPlaced | UnitWithdrawn) -> Send:
    return Send(neighbour, Message(Kind.CONTROL, id, b"", encode_header(message)))
