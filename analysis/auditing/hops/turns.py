"""Turns of brokers at messages that came over links, as rows for the audit of backlogs."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import pyarrow as pa

from analysis.auditing.hops.table import Hops, Numbers
from record.time_units import SECOND
from topology.link_properties import LinkProperties


class TurnColumn(IntEnum):
    """The columns of a turn. Times in nanoseconds."""

    BROKER = 0
    TURN = 1
    DUE = 2
    """The time at which the link as asked was through with the message, had nothing been ahead of it."""
    ARRIVED = 3
    """The time at which the receiver had it, as logged."""


TURNS = pa.schema(
    [
        pa.field("variant", pa.int32(), nullable=False),
        ("turns", pa.list_(pa.int64())),
        ("passed", pa.list_(pa.int64())),
    ]
)
"""Turns of variants: of messages that came over links, and of publications, row after row."""


def turns_of(broker: int, hops: Hops, link: LinkProperties) -> Numbers:
    """The rows of one direction to a broker."""
    rows = np.empty((len(hops), len(TurnColumn)), dtype=np.int64)
    rows[:, TurnColumn.BROKER], rows[:, TurnColumn.TURN] = broker, hops.turn
    rows[:, TurnColumn.DUE] = hops.written + round(link.delay * SECOND)
    rows[:, TurnColumn.ARRIVED] = hops.arrived
    return rows
