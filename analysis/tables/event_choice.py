"""The choice whether an analysis writes the table `events`. It is apart, because the command line needs it at once."""

from __future__ import annotations

import enum


class EventTable(enum.StrEnum):
    """The records of the logs that become rows of the table."""

    ALL = "all"
    """Every record of the run's variants."""
    NONE = "none"
    """There is no table; one of an earlier analysis is removed."""
