"""Timers of a MEDYM server by their keys."""

from __future__ import annotations

import enum
from typing import NamedTuple

from broker_service.messages import BrokerId


class Timer(enum.Enum):
    """Timers of which a server has one each."""

    ANNOUNCEMENT = enum.auto()
    """Timer at whose end further changes of this server's state are announced."""
    PASSING_ON = enum.auto()
    """Timer at whose end further announcements are sent."""
    STATUS = enum.auto()
    """Timer at whose end round trips and load are looked at."""
    EXCHANGE = enum.auto()
    """Timer at whose end further subscriptions and confirmations are sent."""
    REPETITION = enum.auto()
    """Timer at whose end subscriptions that have not been confirmed are sent again."""

    # The inherited hash is a Python call on every look whether a timer runs.
    __hash__ = object.__hash__


class Asking(NamedTuple):
    """Timer at whose end a neighbour is asked for states."""

    neighbour: BrokerId
