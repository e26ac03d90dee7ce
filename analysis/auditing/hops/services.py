"""The reading of one broker's work from the turns of its messages.

A broker is one server: it takes up a piece of work when that has come and the one before is done, and a message has its
turn when its piece is done. A piece is one message where messages take a service time, and otherwise the messages of
one source that have their turn at one time. A piece that came while another was served shows its time as the distance
of the two turns; one that found the broker idle shows it as the time since its arrival, with whatever passes between
a link and a broker.
"""

from __future__ import annotations

import numpy as np

from analysis.auditing.hops.asked import AskedVariant, untouched
from analysis.auditing.hops.links import spread_of
from analysis.auditing.hops.readings import ServiceReading, TurnTimes
from analysis.auditing.hops.table import Turns
from analysis.reading.publication_events import UNKNOWN


def service_reading(variant: int, broker: str, turns: Turns, asked: AskedVariant) -> ServiceReading:
    """The reading of a broker."""
    costs = asked.costs
    work = np.array([costs.work.get(kind, 0) for kind in turns.kinds], dtype=np.int64)[turns.kind]
    first = np.arange(len(turns))
    cost = work
    if not asked.service_mean:
        new = np.ones(len(turns), dtype=np.bool_)
        new[1:] = (np.diff(turns.time) != 0) | (np.diff(turns.source) != 0)
        first = np.flatnonzero(new)
        cost = costs.frame + np.add.reduceat(work, first)
    time, arrived = turns.time[first], turns.arrived[first]
    before = np.concatenate(([0], time[:-1]))
    known = (arrived != UNKNOWN) & untouched(arrived, time, asked.struck.get(broker, ()))
    known[:1] = False
    busy = known & (arrived + costs.longest <= before)
    idle = known & (arrived > before)
    return ServiceReading(
        variant=variant,
        broker=broker,
        busy=spread_of((time - before - cost)[busy].astype(np.float64)),
        idle=spread_of((time - arrived - cost)[idle].astype(np.float64)),
        turns=_turn_times(broker, turns, asked),
    )


def _turn_times(broker: str, turns: Turns, asked: AskedVariant) -> TurnTimes:
    """The parts of the time from arrival to turn. The kernel's waits come first, so that no time is in two parts."""
    known = (turns.arrived != UNKNOWN) & untouched(turns.arrived, turns.time, asked.struck.get(broker, ()))
    before = np.concatenate((turns.time[:1] * 0, turns.time[:-1]))
    time, arrived = turns.time[known], turns.arrived[known]
    begun = np.clip(before[known], arrived, np.maximum(arrived, time))
    times = asked.processors.get(broker)
    waited_before, waited_after = (
        (np.zeros(len(time)), np.zeros(len(time)))
        if times is None
        else (times.waited_in(arrived, begun), times.waited_in(begun, np.maximum(begun, time)))
    )
    return TurnTimes(
        messages=len(time),
        whole=float((time - arrived).sum()),
        earlier=float((begun - arrived - waited_before).sum()),
        service=float(np.minimum(asked.service_mean, time - begun - waited_after).sum()),
        waiting=float((waited_before + waited_after).sum()),
    )
