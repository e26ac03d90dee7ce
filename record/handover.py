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


MoveCosts = Mapping[Handover, MoveCost]

CLIENTS_MOVE_ALONE: MoveCosts = {
    Handover.UNANNOUNCED: MoveCost(),
    Handover.ANNOUNCED: MoveCost(),
    Handover.MAKE_BEFORE_BREAK: MoveCost(doubles=True),
}
"""The cost to a protocol that knows nothing of moves: the old broker keeps nothing for a client that has left, and the
new one serves it as any client that subscribes. A publication passes each broker once, so that one which the old broker
has delivered was past the new one before the client came there, unless the client had both sessions."""


class PlannedMoves(msgspec.Struct, frozen=True, kw_only=True):
    """The terms of the moves of a variant's clients."""

    old_session_ends_within: float
    """Seconds after which a broker has ended the session of a client that left it without a word."""
    costs: dict[Handover, MoveCost]
