"""Waiting for a processor while messages were on a link: what the host did to them, and the link did not.

A host adds to the time from writing to arrival in four places: the sender, after it took the time of writing; the
relay, when it reads a frame and when it passes it on; the receiver, before it takes the time of arrival. All are next
to one of the two times, so a message is *undisturbed* where nobody waited close to them, however long the link is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.auditing.hops.asked import AskedVariant
from analysis.auditing.hops.table import Numbers
from analysis.run_files.processor_times import ProcessorTimes
from record.time_units import MILLISECOND

_CLOSE = MILLISECOND
"""Real nanoseconds around writing and arrival in which sender, relay and receiver have to do with a message."""
_NEXT_TO_NOTHING = MILLISECOND // 10
"""Real nanoseconds of waiting close to writing or arrival up to which a message counts as undisturbed; the tolerance of
a delay is 1 ms."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Waiting for a processor at the ends of messages' ways over one link direction."""

    at_most: Numbers
    """The most of the time from writing to arrival that can have been waiting."""
    disturbed: NDArray[np.bool_]
    """True where sender, relay or receiver waited close to writing or arrival."""


def waits_of(source: str, target: str, written: Numbers, arrived: Numbers, asked: AskedVariant) -> Waits:
    """The waits of messages that were written and arrived at these times."""
    close = round(_CLOSE / asked.time_dilation)
    at_most = np.zeros(len(written), dtype=np.int64)
    nearby = np.zeros(len(written), dtype=np.int64)
    departures, arrivals = (written, written + close), (arrived - close, arrived)
    relays = dict.fromkeys((asked.relay_of(source), asked.relay_of(target)), (departures, arrivals))
    senders = dict.fromkeys(asked.sending_at(source), (departures,))
    receivers = dict.fromkeys(asked.receiving_at(target), (arrivals,))
    for node, spans in {**senders, **relays, **receivers}.items():
        times = asked.processors.get(node)
        if times is None:
            continue
        at_most += _in_spans(times, written, arrived)
        for begin, end in spans:
            nearby += times.touched_by_waits(begin, end)
    return Waits(np.minimum(at_most, np.maximum(arrived - written, 0)), nearby > _NEXT_TO_NOTHING / asked.time_dilation)


def _in_spans(times: ProcessorTimes, begin: Numbers, end: Numbers) -> Numbers:
    """Waiting in spans, of which those that end before they begin are empty."""
    return times.waited_at_most(begin, np.maximum(begin, end))
