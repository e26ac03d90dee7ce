"""The message ahead of each, in records that are made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis.budget.records import Records
from analysis.reading.publication_events import UNKNOWN
from record.service_time import SendingOrder

_NOTHING = np.zeros(6, dtype=np.int64)
_SENT = replace(
    Records(*(_NOTHING,) * 8),
    node=np.array([0, 0, 0, 0, 1, 1]),
    peer=np.array([1, 1, 2, 2, 0, 0]),
    time=np.array([10, 40, 20, 30, 15, 25]),
    link_time=np.array([20, 50, 30, 40, 16, 26]),
)
"""Messages that two brokers sent: the first of them in turn to two neighbours, in the order of directions and times."""


@pytest.mark.parametrize(
    ("order", "ahead"),
    [
        (SendingOrder.SIDE_BY_SIDE, [UNKNOWN, 20, UNKNOWN, 30, UNKNOWN, 16]),
        (SendingOrder.IN_TURN, [UNKNOWN, 40, 20, 30, UNKNOWN, 16]),
    ],
)
def test_the_message_ahead_is_on_the_same_link_or_at_the_same_broker(order: SendingOrder, ahead: list[int]) -> None:
    assert _SENT.free_before(order).tolist() == ahead
