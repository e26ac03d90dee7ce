"""Composite subscriptions that a protocol routes as a whole, and the actions by which it places their detection."""

from __future__ import annotations

import msgspec

from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.messages import BrokerId, ClientId, ConstituentPublication, StampedPublication
from record.log import SUB_UNIT, Event, PlacementRecord


class CompositeUnit(msgspec.Struct, frozen=True):
    """A composite subscription that the protocol routes as a whole."""

    id: str
    """Name of the unit in the whole overlay; for a part of a unit that is a unit itself, `<that unit>/<name>`."""
    client: ClientId
    name: str
    """The client's own name for the whole composite subscription."""
    composite: CompositeSubscription
    """The composite subscription, which has a window."""

    @property
    def parent(self) -> str | None:
        """The unit of which this one is a part; None for a whole composite subscription."""
        return self.id.rpartition(SUB_UNIT)[0] or None


class Detect(msgspec.Struct, frozen=True):
    """Detect a unit at this broker from now on: its parts become subscriptions of this broker, in calls of
    `Router.subscribe`, and what they complete is passed to `RoutesComposites.detected`."""

    unit: CompositeUnit
    elsewhere: frozenset[int] = frozenset()
    """Parts, counted from 0 on the left, that are detected elsewhere. The broker does not subscribe to them; their
    publications come in sets (`Contribute`)."""


class Contribute(msgspec.Struct, frozen=True):
    """Pass a set of publications, which were detected together elsewhere, to the detector of a unit at this broker.

    What they complete is passed to `RoutesComposites.detected`. Has no effect on a unit that is not detected here, nor
    when the set came before.
    """

    unit: str
    publications: tuple[StampedPublication, ...]


class Cease(msgspec.Struct, frozen=True):
    """Detect a unit no more; its parts are withdrawn. Has no effect for one that is not detected here."""

    unit: str


class RecordPlacement(msgspec.Struct, frozen=True):
    """Log an event in the life of a unit: `joined`, `moved` or `left`."""

    event: Event
    unit: CompositeUnit
    placement: PlacementRecord
    """The latest decision about its place that was made at this broker."""
    reason: str
    peer: BrokerId | None = None


class Notify(msgspec.Struct, frozen=True):
    """Notify a client of this broker of a detection; has no effect when it is attached no more."""

    unit: CompositeUnit
    publications: tuple[ConstituentPublication, ...]
