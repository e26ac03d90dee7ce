"""Disturbances: shares of the messages on a link that are lost, repeated or held back."""

from __future__ import annotations

import msgspec


class Disturbance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Chances of each message that comes over a link. A message has at most one of the three fates."""

    lose: float = 0.0
    """Share that is lost, 0 to 1, as are the other two."""
    repeat: float = 0.0
    """Share of the messages that comes twice."""
    hold: float = 0.0
    """Share that is held back, so that later messages overtake it."""
    held_for: float = 0.0
    """Seconds for which a message is held back."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for shares that are none or exceed 1 together, and for a hold without its time."""
        shares = (self.lose, self.repeat, self.hold)
        if not all(0.0 <= share <= 1.0 for share in shares) or sum(shares) > 1.0:
            raise ValueError("lose, repeat and hold are shares from 0 to 1, and 1 together at most")
        if not 0.0 <= self.held_for < float("inf") or (self.hold and not self.held_for):
            raise ValueError("messages are held back for a time above 0")

    def __bool__(self) -> bool:
        return bool(self.lose or self.repeat or self.hold)
