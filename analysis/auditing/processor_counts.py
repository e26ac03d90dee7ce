"""The sampler's processor times of brokers, held against what the brokers themselves count.

A broker logs once a second how long its process ran. The sampler reads the same of the threads that it found to be the
broker's, from outside: where it has more, it took threads of others for the broker's, and their waits as well; where it
has much less, it missed threads, or it counted at other times, and what it missed is in no budget. Threads that live
for less than its search interval may be missed.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from analysis.auditing.evidence import Evidence
from analysis.auditing.finding import none_allowed, unmeasured
from analysis.reading.gauges import LoadedBroker
from analysis.run_files.processor_times import ProcessorTimes
from record.fidelity import Check
from record.manifest import PhaseName
from record.time_units import MILLISECOND, SECOND
from record.wording import count_of

NAME = "processor times of brokers, by their own counts"
_MORE, _LESS = 1.1, 0.7
"""The most and the least share of a broker's own count that the sampler may have."""
_ALLOWANCE = 50 * MILLISECOND
"""Nanoseconds by which it may be wrong besides, because looks and records of the log do not come together."""


def processor_counts(evidence: Evidence) -> Iterable[Check]:
    """The check of one variant."""
    found = [
        (broker, *counts)
        for broker, times in sorted(evidence.processors.items())
        if (counts := _counts(broker, times, evidence)) is not None
    ]
    if not found:
        yield unmeasured(NAME, "brokers", "no broker was sampled that logged its processor time")
        return
    wrong = [
        f"{broker}: {_seconds(sampled)} by the sampler, {_seconds(own)} by its own count"
        for broker, own, sampled in found
        if not _LESS * own - _ALLOWANCE <= sampled <= _MORE * own + _ALLOWANCE
    ]
    yield none_allowed(
        NAME,
        "brokers",
        wrong,
        meaning="the sampler took threads of others for theirs or missed some, and with them waits for a processor",
        otherwise=f"the sampler has for {count_of(len(found), 'broker')} what they count themselves",
    )


def _counts(broker: str, times: ProcessorTimes, evidence: Evidence) -> tuple[int, int] | None:
    """The nanoseconds for which a broker ran in the run phase, by its own count and by the sampler; None for a node
    that logged none."""
    shown = evidence.logs.traffic.loads.by_key.get(LoadedBroker(evidence.number, broker))
    run = evidence.variant.phase(PhaseName.RUN)
    if shown is None or run is None or times.running is None:
        return None
    rows = np.frombuffer(shown, dtype=np.int64).reshape(-1, 4)
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    former, latter = rows[:-1], rows[1:]
    both = (former[:, 0] == latter[:, 0]) & (former[:, 1] >= run.start) & (latter[:, 1] <= run.end)
    if not both.any():
        return None
    own = int((latter[both, 2] - former[both, 2]).sum())
    return own, round(float(times.running.waited_in(former[both, 1], latter[both, 1]).sum()))


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds / SECOND:.2f} s"
