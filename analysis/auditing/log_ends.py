"""The checks that the log of every node is whole: from each start to its end, without a line or a record missing.

1. A node that starts to log ends its log, unless a fault killed it. Restarts are numbered, so none is missing.
2. The last record of a node states how many it wrote since its start. Its file holds that many.
3. A line that cannot be read is the last of a node that was killed. Any other was damaged afterwards.
4. A broker that was killed states no number. It logs its load once a second, so its log has no gap before the kill.

A variant that was interrupted, or whose broker failed by a defect, is not judged by rule 1, because nodes are ended
then without regard to their logs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import UNSET

from analysis.auditing.evidence import Evidence
from analysis.auditing.finding import none_allowed, unmeasured
from analysis.reading.gauges import LoadedBroker
from analysis.reading.log_events import OutageEvent
from analysis.reading.log_extents import Incarnation
from record.faults import FaultKind
from record.fidelity import Check
from record.log import EMULATOR
from record.time_units import SECOND
from record.wording import count_of

ENDS, COUNTS, LINES, GAUGES = (
    "logs that break off",
    "records missing from logs",
    "damaged log lines",
    "gaps in the logs of killed brokers",
)
LONGEST_GAP = 4 * SECOND
"""Nanoseconds between two records of a broker's load, at most: three of them are missing then."""


def log_ends(evidence: Evidence) -> Iterable[Check]:
    """The checks of one variant."""
    logged = [found for found in evidence.logs.extents.incarnations() if found.variant == evidence.number]
    faults = [fault for fault in evidence.logs.outages if fault.variant == evidence.number and not fault.node]
    killed = Counter(fault.target for fault in faults if fault.begins and fault.kind == FaultKind.KILL)
    yield _ends(evidence, logged, killed)
    yield _counts(logged, evidence.logs.extents.strays())
    yield _lines(evidence, killed)
    yield _gauges(evidence, logged, faults)


def _ends(evidence: Evidence, logged: Sequence[Incarnation], killed: Counter[str]) -> Check:
    if evidence.variant.interrupted or any(defect.variant == evidence.number for defect in evidence.logs.defects):
        return unmeasured(ENDS, "nodes", "the variant was ended early, without regard to logs")
    open_ended = Counter(found.node for found in logged if found.stopped is None)
    open_ended.subtract(killed)
    unended = [f"{node} has no end" for node, times in sorted(open_ended.items()) if times > 0]
    return none_allowed(
        ENDS, "nodes", [*unended, *_restarts_missing(logged)],
        meaning="what these nodes did is known in part, so losses cannot be told from missing records",
        otherwise=f"all {len(logged):,} of all nodes have an end, or a fault that killed the node",
    )  # fmt: skip


def _restarts_missing(logged: Sequence[Incarnation]) -> Iterator[str]:
    numbers: dict[str, set[int]] = {}
    for found in logged:
        numbers.setdefault(found.node, set()).add(found.number)
    for node, known in sorted(numbers.items()):
        for former, latter in pairwise([0, *sorted(known)]):
            if latter - former == 2:
                yield f"{node} has no start number {former + 1} of {max(known)}"
            elif latter - former > 2:
                yield f"{node} has no starts number {former + 1} to {latter - 1} of {max(known)}"


def _counts(logged: Sequence[Incarnation], strays: Mapping[str, int]) -> Check:
    stating = [found for found in logged if found.stated is not None]
    if not stating:
        return unmeasured(COUNTS, "nodes", "no node states how many records it wrote")
    wrong = [_difference(found) for found in stating if found.records != found.stated]
    for node in sorted({found.node for found in stating}):
        if strays.get(node):
            wrong.append(f"{node} has {count_of(strays[node], 'record')} outside of its starts and ends")
    return none_allowed(
        COUNTS, "nodes", wrong,
        meaning="records were removed from these logs, or added to them, after they were written",
        otherwise=f"{count_of(sum(found.records for found in stating), 'record')}, as many as nodes state",
    )  # fmt: skip


def _difference(found: Incarnation) -> str:
    of_start = f" since its start number {found.number}" if found.number > 1 else ""
    return f"{found.node} wrote {count_of(found.stated or 0, 'record')}{of_start} and its log holds {found.records:,}"


def _lines(evidence: Evidence, killed: Counter[str]) -> Check:
    extents = evidence.logs.extents
    torn = extents.torn()
    torn.subtract(killed)
    damaged = {node: lines for node, lines in sorted((extents.damaged() + torn).items()) if lines > 0}
    return none_allowed(
        LINES, "nodes", [f"{node}, {count_of(lines, 'line')}" for node, lines in damaged.items()],
        meaning="lines amid these logs are no records, so records are missing there",
        otherwise="every line is a record, or the last of a node that was killed",
    )  # fmt: skip


def _gauges(evidence: Evidence, logged: Sequence[Incarnation], faults: Sequence[OutageEvent]) -> Check:
    """The check on brokers that were killed and had no other fault meanwhile, which may hold their gauges up."""
    ends = {(found.node, found.number): found for found in logged if found.stopped is None}
    gaps, looked_at = [], 0
    for (node, number), found in sorted(ends.items()):
        kill = next((fault.at.time for fault in _of(node, faults) if fault.at.time >= found.started), None)
        others = [fault for fault in faults if fault.target == node and fault.kind != FaultKind.KILL]
        if kill is None or node.startswith(EMULATOR) or any(fault.at.time <= kill for fault in others):
            continue
        times = [time for time in _load_times(evidence, node, number) if time <= kill]
        if not times and evidence.variant.foreign is not UNSET:  # whose brokers need not log their load
            continue
        looked_at += 1
        for former, latter in pairwise([found.started, *times, kill]):
            if latter - former > LONGEST_GAP:
                gaps.append(f"{node} for {(latter - former) / SECOND:.1f} s before it was killed")
    return none_allowed(
        GAUGES, "gaps", gaps,
        meaning="these brokers ran and logged nothing, so their records of that time are missing",
        otherwise=f"none in the logs of {count_of(looked_at, 'incarnation')}" if looked_at else "no broker was killed",
    )  # fmt: skip


def _of(node: str, faults: Sequence[OutageEvent]) -> Iterator[OutageEvent]:
    """The kills of a broker, in order of time."""
    kills = [fault for fault in faults if fault.target == node and fault.begins and fault.kind == FaultKind.KILL]
    return iter(sorted(kills, key=lambda fault: fault.at.time))


def _load_times(evidence: Evidence, node: str, incarnation: int) -> list[int]:
    """The times at which an incarnation of a broker logged its load."""
    shown = evidence.logs.traffic.loads.by_key.get(LoadedBroker(evidence.number, node), ())
    return sorted(time for number, time in zip(shown[::4], shown[1::4], strict=True) if number == incarnation)
