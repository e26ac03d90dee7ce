"""The turn that caused the sending of each message.

It is the sender's last turn before the message came into the output queue, if that was the turn of the same message or
just before. Otherwise the router held the message back since its own turn, or a timer made it, which no turn caused.
"""

from __future__ import annotations

import numpy as np

from analysis.auditing.hops.table import Numbers
from analysis.budget.joining import places_of, turn_keys
from analysis.budget.replay.rows import HopColumn
from analysis.budget.waits import Waits, at_most
from analysis.reading.event_table import NOBODY
from record.time_units import MILLISECOND

_JUST_BEFORE = MILLISECOND
"""Nanoseconds in which a router does what a turn makes it do for other messages."""


def causes_of(hops: Numbers, waits: Waits, work: Numbers) -> tuple[Numbers, Numbers]:
    """The hop whose turn caused each sending, or `NOBODY`, and the time after that turn. That is `work`, or longer by
    what the sender's waiting for a processor does not explain. `hops` are in the order of their turns."""
    entered, sender = hops[:, HopColumn.ENTERED], hops[:, HopColumn.SENDER]
    last = _last_turns(hops)
    passed = entered - hops[last, HopColumn.TURN]
    same = hops[last, HopColumn.MESSAGE] == hops[:, HopColumn.MESSAGE]
    at_once = (last != NOBODY) & (same | (passed <= _JUST_BEFORE))
    cause = np.where(at_once, last, _own_turns(hops))
    turn = hops[cause, HopColumn.TURN]
    after = entered - turn
    after -= np.minimum(np.maximum(after - work, 0), waits.of(at_most, sender, turn, entered))
    return cause, np.where(cause == NOBODY, 0, after)


def _last_turns(hops: Numbers) -> Numbers:
    """The sender's last turn before each message entered its queue; `NOBODY` without any."""
    found = np.full(len(hops), NOBODY, dtype=np.int64)
    for sender in np.unique(hops[:, HopColumn.SENDER]).tolist():
        turns = np.flatnonzero(hops[:, HopColumn.BROKER] == sender)
        if sender == NOBODY or not len(turns):
            continue
        sent = np.flatnonzero(hops[:, HopColumn.SENDER] == sender)
        last = np.searchsorted(hops[turns, HopColumn.TURN], hops[sent, HopColumn.ENTERED], side="right") - 1
        found[sent] = np.where(last < 0, NOBODY, turns[last])
    return found


def _own_turns(hops: Numbers) -> Numbers:
    """The first turn of the same message at its sender, if it was before the message entered its queue."""
    never = np.zeros(len(hops), dtype=np.int64)
    at_broker = turn_keys(hops[:, HopColumn.MESSAGE], hops[:, HopColumn.BROKER], never)
    at_sender = turn_keys(hops[:, HopColumn.MESSAGE], hops[:, HopColumn.SENDER], never)
    found = places_of(at_sender, at_broker)
    own = (at_broker[found] == at_sender) & (hops[found, HopColumn.TURN] <= hops[:, HopColumn.ENTERED])
    return np.where(own, found, NOBODY)
