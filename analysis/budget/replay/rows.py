"""The rows that the replay of a variant is made of. All times are whole nanoseconds; contention is in none of them."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import pyarrow as pa

from analysis.auditing.hops.table import Numbers
from analysis.budget.at_rest import LatencyAtNodes
from analysis.budget.variant import BudgetedVariant


class HopColumn(IntEnum):
    """The columns of a message of any kind that a broker received."""

    BROKER = 0
    MESSAGE = 1
    """Number that stands for the message, as in `analysis.reading.hop_events`."""
    TURN = 2
    """The time of the message's turn at the receiver, as logged."""
    SENDER = 3
    """The sending broker; `NOBODY` for a message from a client, or whose sending is not in the log."""
    ENTERED = 4
    """The time at which the message entered the sender's output queue, as logged."""
    LEAVING = 5
    """Duration from entering the queue to leaving it, without waiting for the message ahead."""
    SENDING = 6
    """The link's send time for the message. The next message leaves the queue when it is over."""
    SERIALISED = 7
    """Duration of the message's transmission at the link's rate."""
    TRAVELLING = 8
    """The link's delay and jitter, within the bounds of what was asked for, and the end of the message's frame."""
    DUE = 9
    """The time at which the message had crossed the link, by what was logged."""
    READY = 10
    """Duration from `DUE` to the time from which the broker could handle the message."""
    OWN = 11
    """Duration for which the broker was occupied with the message before its turn: work, and modelled service."""
    ACKNOWLEDGED = 12
    """Duration from the writing of the message ahead to its acknowledgement, before which this one does not leave; 0
    where links have more than one message in flight."""


class PublishingColumn(IntEnum):
    """The columns of a publication's turn at the publisher's broker; of its `HopColumn`s, these are known better."""

    BROKER = 0
    MESSAGE = 1
    TURN = 2
    DUE = 3
    """The publication's intended time."""
    READY = 4
    OWN = 5


class EndColumn(IntEnum):
    """The columns of the end of a way: a client's first notification."""

    BROKER = 0
    MESSAGE = 1
    TURN = 2
    """The turn at the client's broker."""
    REST = 3
    """Duration from that turn to the client."""
    INTENDED = 4


REPLAY = pa.schema(
    [
        pa.field("variant", pa.int32(), nullable=False),
        ("hops", pa.list_(pa.int64())),
        ("publishings", pa.list_(pa.int64())),
        ("ends", pa.list_(pa.int64())),
    ]
)
"""Parts of the replays of variants, row after row."""


def handling(
    waited: Numbers, beyond: Numbers, fixed: Numbers, latency: LatencyAtNodes, variant: BudgetedVariant
) -> tuple[Numbers, Numbers]:
    """The columns `READY` and `OWN` of messages that `waited` for earlier work, and then took a `fixed` time for
    themselves and some time `beyond` that.

    Time beyond is the platform's latency as far as the calibration has seen it, and work where the latency was over
    long before. More than that has no explanation; then the latency is taken to have been the mean.
    """
    _, mean, most = latency.bounds
    if variant.draws_service:
        return np.minimum(mean, waited), fixed + beyond
    over = waited >= most
    ready = np.where((beyond > 0) & ~over, latency.plausible(waited + beyond), np.minimum(mean, waited))
    return ready, np.maximum(fixed + np.where(over | (beyond < 0), beyond, 0), 0)
