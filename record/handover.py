"""Handovers: the ways in which clients change their broker, named alike in scenarios, plans and manifests.

A *hard* handover breaks with the old broker before it makes a session with the new one, a *soft* one makes before it
breaks.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

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


class MoveLoss(enum.StrEnum):
    """The notifications that a handover may cost the clients that move, and no others."""

    NOTHING = "nothing"
    UNSETTLED = "unsettled"
    """Notifications in flight when clients leave their old broker, and those of publications that are made until their
    subscriptions have settled at the new one."""


class MoveCost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of a handover by the promise of a routing protocol."""

    loses: MoveLoss = MoveLoss.UNSETTLED
    doubles: bool = False
    """True where a client may get a publication once from each of the two brokers."""
    reorders: bool = False
    """True where the promised order holds for what each of the two brokers delivers, and not for both together."""


MoveCosts = Mapping[Handover, MoveCost]

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


class PlannedMoves(msgspec.Struct, frozen=True, kw_only=True):
    """The terms of the moves of a variant's clients."""

    old_session_ends_within: float
    """Seconds after which a broker has ended the session of a client that left it without a word."""
    costs: dict[Handover, MoveCost]
