"""Waiting for a processor, as the kernel counts it: which nodes waited, and how much of each turn at a broker it was.

It is a figure and no verdict: how much of it a run bears depends on what the run measures.
"""

from __future__ import annotations

from collections.abc import Iterable

from analysis.auditing.evidence import Evidence
from analysis.auditing.finding import unmeasured
from analysis.auditing.hops.readings import TurnTimes
from analysis.run_files.processor_times import NodeTimes
from record.fidelity import Check, FidelityVerdict
from record.time_units import MILLISECOND, SECOND

TURNS = "from arrival to turn, by the messages"
_NAMED = 3


def processor_waits(evidence: Evidence) -> Iterable[Check]:
    """The parts of the time from arrival to turn, of all brokers of a variant together."""
    turns = sum(
        (reading.turns for reading in evidence.hops.services if reading.variant == evidence.number), TurnTimes()
    )
    if not turns.messages:
        yield unmeasured(TURNS, "ms", "no broker logged when messages from neighbours arrived")
        return
    yield Check(
        name=TURNS, value=_mean(turns.whole, turns), unit="ms", limit=None, verdict=FidelityVerdict.VALID,
        detail=_turns_in_words(turns, evidence),
    )  # fmt: skip


def waits_in_words(nodes: NodeTimes) -> str:
    """The nodes that waited longest for a processor; empty where that was not sampled."""
    longest = sorted(((times.waited, node) for node, times in nodes.items() if times.waited), reverse=True)
    return ", ".join(f"{node} {waited / SECOND:.1f} s" for waited, node in longest[:_NAMED])


def _turns_in_words(turns: TurnTimes, evidence: Evidence) -> str:
    rest = turns.whole - turns.earlier - turns.service - turns.waiting
    waiting = f"{_mean(turns.waiting, turns):.2f} ms waiting for a processor"
    if not evidence.modelled and not evidence.processors:
        waiting = "waiting for a processor is not known"
    named = waits_in_words(evidence.processors)
    return (
        f"{_mean(turns.whole, turns):.2f} ms a message, of which {_mean(turns.earlier, turns):.2f} ms behind the "
        f"broker's own earlier work, {_mean(turns.service, turns):.2f} ms modelled service, {waiting}, "
        f"{_mean(rest, turns):.2f} ms the rest" + (f"; waited longest in the whole variant: {named}" if named else "")
    )


def _mean(total: float, turns: TurnTimes) -> float:
    return total / turns.messages / MILLISECOND
