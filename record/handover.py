"""Handovers and absences: the ways in which clients change their broker or are away, and what each may cost.
Scenarios, plans and manifests name them alike.

A *hard* handover breaks with the old broker before it makes a session with the new one, a *soft* one makes before it
breaks.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TypeVar

import msgspec


class Handover(enum.StrEnum):
    """The way in which clients change their broker."""

    UNANNOUNCED = "unannounced"
    """Hard: clients lose the network of their old broker without a word to it, whose session ends by silence."""
    ANNOUNCED = "announced"
    """Hard: clients end their sessions in order before they go, so that the old broker withdraws what they declared."""
    MAKE_BEFORE_BREAK = "make before break"
    """Soft: for a while clients have sessions with both brokers, and then end the old one in order."""

    @property
    def is_soft(self) -> bool:
        """True where clients have both sessions for a while."""
        return self is Handover.MAKE_BEFORE_BREAK


class Absence(enum.StrEnum):
    """The ways in which a client is away from its broker, to which it may come back."""

    CRASH = "crash"
    """The client ends, and its broker knows at once."""
    VANISH = "vanish"
    """The client ends, or loses its network, without a word."""


class MoveLoss(enum.StrEnum):
    """The notifications that a handover or an absence may cost its clients, and no others."""

    NOTHING = "nothing"
    UNSETTLED = "unsettled"
    """Notifications in flight when clients leave their broker, and those of publications that are made until their
    subscriptions have settled at the next one."""


class PublishingLoss(enum.StrEnum):
    """The publications that a handover or an absence of their publisher may cost everybody."""

    UNACCEPTED = "unaccepted"
    """Publications that the old broker had not acknowledged when the publisher left it."""
    UNSETTLED = "unsettled"
    """These, and those that are made until the publisher's advertisements have settled at the next broker."""


class AbsenceCost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of an absence by the promise of a routing protocol. It doubles nothing: the broker has passed on what it
    had before the client came back."""

    loses: MoveLoss = MoveLoss.UNSETTLED
    publishing: PublishingLoss = PublishingLoss.UNSETTLED


class MoveCost(AbsenceCost, frozen=True, kw_only=True):
    """The cost of a handover by the promise of a routing protocol."""

    doubles: bool = False
    """True where a client may get a publication once from each of the two brokers."""
    reorders: bool = False
    """True where the promised order holds for what each of the two brokers delivers, and not for both together."""


MoveCosts = Mapping[Handover, MoveCost]
AbsenceCosts = Mapping[Absence, AbsenceCost]

MATCHED_ON_ARRIVAL: MoveCosts = {
    Handover.UNANNOUNCED: MoveCost(doubles=True),
    Handover.ANNOUNCED: MoveCost(doubles=True),
    Handover.MAKE_BEFORE_BREAK: MoveCost(doubles=True, reorders=True),
}
"""The cost to a protocol that knows nothing of moves, and whose brokers match publications when these arrive: the old
broker keeps nothing for a client that has left, and the new one serves it as any client that subscribes. A client that
is at its new broker ahead of a publication that it has got already gets it again there."""
CHOSEN_BY_THE_FIRST_BROKER: MoveCosts = {
    Handover.UNANNOUNCED: MoveCost(),
    Handover.ANNOUNCED: MoveCost(),
    Handover.MAKE_BEFORE_BREAK: MoveCost(doubles=True, reorders=True),
}
"""The cost to a protocol that knows nothing of moves, and whose publications carry the subscriptions that they are for,
as the publisher's broker chose them: a subscription that is made at the new broker is for later publications alone, so
that none comes from both brokers unless the client had both subscriptions when it was made."""


NOTHING_IS_KEPT: AbsenceCosts = {Absence.CRASH: AbsenceCost(), Absence.VANISH: AbsenceCost()}
"""The cost to a protocol whose brokers keep nothing for a client without a session."""


_Cost = TypeVar("_Cost", bound=AbsenceCost)
_Way = TypeVar("_Way", Handover, Absence)


def without_advertisements(costs: Mapping[_Way, _Cost]) -> dict[_Way, _Cost]:
    """The cost to a protocol that routes without advertisements: a publication which the new broker has accepted goes
    where it has to."""
    return {way: msgspec.structs.replace(cost, publishing=PublishingLoss.UNACCEPTED) for way, cost in costs.items()}


class PlannedMoves(msgspec.Struct, frozen=True, kw_only=True):
    """The terms of the moves of a variant's clients."""

    old_session_ends_within: float
    """Seconds after which a broker has ended the session of a client that left it without a word."""
    costs: dict[Handover, MoveCost]
