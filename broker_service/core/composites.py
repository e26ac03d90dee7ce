"""Composite subscriptions of one broker's clients: split here, routed in parts, and detected here.

This is the simple routing of Li, Muthusamy, Jacobsen (Middleware 2008, section 5, "Dynamic CS Routing"), over any
routing protocol:

1. A composite subscription is split at its subscriber's broker. Each different part is a subscription of an *internal
   client*, whose name begins with `INTERNAL`. Routers do not distinguish it from other clients.
2. A publication that the router delivers to internal clients fills the parts that these stand for. One that completes
   nothing ends here.
3. An internal client has no session, does not count as a client or as a notification, and is not logged.
4. A composite subscription has started when all of its parts have, as far as the router announces that.
5. Nothing is kept of a composite subscription that is withdrawn. One that is made again has other internal clients, so
   that publications which are still in flight do not reach it.

A protocol that routes units (`CompositeUnit`) has them detected at a broker of its choice in the same way. It may have
parts of a unit detected elsewhere. Those have no internal clients here; their publications come in sets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from broker_service.config import Limits
from broker_service.core.router_timers import ScheduledCall
from broker_service.core.surroundings import Surroundings
from broker_service.detection import Detection, DetectionLimits, Detector, Loss
from broker_service.language import ContentError, Subscription
from broker_service.language.canonical import routed_form
from broker_service.language.composite import Composite
from broker_service.language.composite_subscription import CompositeSubscription, parts_of
from broker_service.messages import (
    ClientEvent,
    ClientId,
    ConstituentPublication,
    Kind,
    Message,
    Outcome,
    StampedPublication,
)
from broker_service.routing.interface import CompositeUnit, SetTimer
from record.log import Event
from record.time_units import SECOND

INTERNAL: Final = "\0"
"""First character of the names of internal clients, which no other client's name begins with."""

COMPOSITE_SUBSCRIPTIONS: Final = "composite_subscriptions"
PARTIAL_MATCHES: Final = "partial_matches"
"""Names of the counts in `Composites.sizes`."""

_DETECTION_WORD: Final = Kind.DETECTION.word
_EXPIRY: Final = "expiry of partial matches"


class RoutedPart(NamedTuple):
    """A part of a composite subscription, as the router has it."""

    client: ClientId
    """The internal client."""
    id: str
    """The identifier in the overlay."""
    subscription: Subscription


class PartPlace(NamedTuple):
    """Place of a part: the composite subscription, as the detector calls it, and the number of the part there."""

    composite: str
    number: int


@dataclass(slots=True)
class StandingComposite:
    """A composite subscription that is in force."""

    client: ClientId
    name: str
    """The client's name for the composite subscription."""
    parts: Sequence[RoutedPart]
    """The parts to which this broker has subscribed."""
    unit: CompositeUnit | None = None
    """The unit that receives the detections; None where the client does, which is one of this broker then."""
    started: set[ClientId] = field(default_factory=set)
    """Internal clients of the parts whose start was announced."""


class UnitDetection(NamedTuple):
    """Publications that fulfil a unit, in the order of their publishing."""

    unit: str
    publications: tuple[StampedPublication, ...]


class Composites:
    """All composite subscriptions of one broker's clients."""

    def __init__(self, surroundings: Surroundings) -> None:
        limits = surroundings.limits
        self.lost = 0
        """Matches and detections that bounds have cost."""
        self._surroundings = surroundings
        self._recorder = surroundings.recorder
        self._window = round(limits.detection_window * SECOND)
        self._detector = Detector(
            surroundings.clock, self._report_lost, _detection_limits(limits), surroundings.comparisons.decode
        )
        self._expiry: ScheduledCall | None = None
        self._numbered = 0
        self._ids: dict[tuple[ClientId, str], str] = {}
        """The detector's identifiers, by client and name."""
        self._standing: dict[str, StandingComposite] = {}
        """Composite subscriptions by the detector's identifiers."""
        self._units: dict[str, str] = {}
        """The detector's identifiers of units, by theirs."""
        self._places: dict[ClientId, PartPlace] = {}
        """Parts by their internal clients."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Numbers of composite subscriptions, and of the matches of publications and parts that are kept."""
        return {COMPOSITE_SUBSCRIPTIONS: len(self._standing), PARTIAL_MATCHES: self._detector.matches}

    def add(self, client: ClientId, name: str, composite: CompositeSubscription) -> Sequence[RoutedPart]:
        """Detects a composite subscription from now on. Returns its parts; the router is to be subscribed to them."""
        id, parts = self._split(composite, ())
        self._standing[id] = StandingComposite(client, name, parts)
        self._ids[client, name] = id
        return parts

    def remove(self, client: ClientId, name: str) -> Sequence[RoutedPart]:
        """Detects a composite subscription no more. Returns its parts; the router is to be unsubscribed from them."""
        return self._remove(self._ids.pop((client, name)))

    def part_started(self, part: ClientId) -> StandingComposite | None:
        """Notes that the start of an internal client's part is announced. Returns the composite subscription when that
        was the last of its parts; None also for a part that is withdrawn."""
        place = self._places.get(part)
        if place is None:
            return None
        standing = self._standing[place.composite]
        standing.started.add(part)
        return standing if len(standing.started) == len(standing.parts) else None

    def owner_of(self, client: ClientId) -> ClientId:
        """The client whose composite subscription an internal client serves; any other client itself."""
        place = self._places.get(client)
        return client if place is None else self._standing[place.composite].client

    def make_unit(self, id: str, client: ClientId, name: str, composite: CompositeSubscription) -> CompositeUnit:
        """The unit of a composite subscription, whose window is this broker's when it has none."""
        within = self._window if composite.within is None else composite.within
        return CompositeUnit(id, client, name, CompositeSubscription(composite.pattern, within))

    def add_unit(self, unit: CompositeUnit, elsewhere: Collection[int]) -> Sequence[RoutedPart]:
        """Detects a unit from now on, as `add` does; `elsewhere` is that of `Detect`."""
        id, parts = self._split(unit.composite, elsewhere)
        self._standing[id] = StandingComposite(unit.client, unit.name, parts, unit)
        self._units[unit.id] = id
        return parts

    def remove_unit(self, unit: str) -> Sequence[RoutedPart]:
        """Detects a unit no more, as `remove` does; returns nothing for one that is not detected."""
        id = self._units.pop(unit, None)
        return () if id is None else self._remove(id)

    def _split(self, composite: CompositeSubscription, elsewhere: Collection[int]) -> tuple[str, Sequence[RoutedPart]]:
        """Has a composite subscription detected. Returns the detector's identifier of it, and the parts to route."""
        self._numbered += 1
        id = f"{INTERNAL}composite/{self._numbered}"
        within = self._window if composite.within is None else composite.within
        left_out = _needed_only_by(elsewhere, composite.pattern)
        parts: list[RoutedPart] = []
        for number, subscription in enumerate(self._detector.add(id, composite.pattern, within)):
            if subscription not in left_out:
                part = RoutedPart(f"{id}/{number}", self._surroundings.new_id(), subscription)
                parts.append(part)
                self._places[part.client] = PartPlace(id, number)
        if self._expiry is None:
            self._expire_later()
        return id, parts

    def _remove(self, id: str) -> Sequence[RoutedPart]:
        parts = self._standing.pop(id).parts
        for part in parts:
            del self._places[part.client]
        self._detector.remove(id)
        return parts

    def arrive(self, message: Message, clients: Sequence[ClientId]) -> Iterator[ClientEvent | UnitDetection]:
        """Takes a publication that the router delivers to these clients; all but internal ones are passed over.

        Returns the detections that it completes: a notification for a client of this broker each, or for a unit.
        """
        filled: dict[str, list[int]] = {}
        for client in clients:
            place = self._places.get(client)
            if place is not None:
                filled.setdefault(place.composite, []).append(place.number)
        if not filled:
            return iter(())
        try:
            detections = self._detector.arrive(message.id, message.published, message.body, filled)
        except ContentError as error:
            self._surroundings.report_dropped(message, f"malformed: {error}")
            return iter(())
        return map(self._notification, detections)

    def contribute(
        self, unit: str, publications: Iterable[StampedPublication]
    ) -> Iterator[ClientEvent | UnitDetection]:
        """Takes publications that were detected together elsewhere, for a unit. Returns as `arrive` does."""
        id = self._units.get(unit)
        if id is not None:
            for publication in publications:
                try:
                    found = self._detector.contribute(id, publication.id, publication.stamp, publication.body)
                except ContentError as error:
                    message = Message(Kind.DETECTION, publication.id, publication.body)
                    self._surroundings.report_dropped(message, f"malformed: {error}")
                else:
                    yield from map(self._notification, found)

    def cancel_timer(self) -> None:
        """Ends the timer, because the broker ends."""
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    def _notification(self, detection: Detection) -> ClientEvent | UnitDetection:
        """Logs a detection, and returns it in the form for its receiver."""
        standing, arrivals = self._standing[detection.composite], detection.publications
        unit = standing.unit
        self._recorder.note(
            Event.DETECTED,
            kind=_DETECTION_WORD,
            id=standing.name,
            client=standing.client,
            duration=arrivals[-1].stamp - arrivals[0].stamp,
            publications=[arrival.id for arrival in arrivals],
            text=None if unit is None or unit.parent is None else unit.id,
        )
        if unit is not None:
            return UnitDetection(
                unit.id, tuple([StampedPublication(arrival.id, arrival.body, arrival.stamp) for arrival in arrivals])
            )
        publications = tuple([ConstituentPublication(arrival.id, arrival.body) for arrival in arrivals])
        return ClientEvent(Outcome.NOTIFIED, (standing.client,), id=standing.name, publications=publications)

    def _report_lost(self, loss: Loss) -> None:
        self.lost += loss.lost
        standing = self._standing[loss.composite]
        self._surroundings.report_lost_detections(
            standing.client, standing.name, loss.publication, loss.reason.value, loss.lost
        )

    def _expire_later(self) -> None:
        after = self._surroundings.limits.detection_lateness
        self._expiry = self._surroundings.schedule(SetTimer(_EXPIRY, after), self._expire)

    def _expire(self) -> None:
        """Drops what has been kept long enough, as long as there are composite subscriptions."""
        self._expiry = None
        with self._surroundings.defects.handling("the expiry of partial matches"):
            self._detector.expire()
        if self._standing:
            self._expire_later()


def _needed_only_by(numbers: Collection[int], pattern: Composite) -> Set[Subscription]:
    """The subscriptions that these parts of a pattern need, and none of its other parts does."""
    if not numbers:
        return frozenset()
    forms = [routed_form(part) for part in parts_of(pattern)]
    return {forms[number] for number in numbers} - {form for number, form in enumerate(forms) if number not in numbers}


def _detection_limits(limits: Limits) -> DetectionLimits:
    return DetectionLimits(
        partial_matches=limits.partial_matches,
        partial_match_bytes=limits.partial_match_bytes,
        lateness=round(limits.detection_lateness * SECOND),
        detections_at_once=limits.detections_at_once,
        candidates_at_once=limits.candidates_at_once,
    )
