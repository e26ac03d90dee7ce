"""The checks that nothing failed by itself: links and brokers went down only while a fault explains it.

1. A broker logs when the stream of a link breaks. A fault on the link, on one of its directions or on a broker at its
   ends explains that, from its begin until the overlay has had its time to recover from it; so does a change of the
   overlay by which the link appears or vanishes. Links that lose frames by request may break between real brokers
   without a fault, because heartbeats get lost, and are left out.
2. A broker starts once, and once more for each record of a restart.

A variant that was interrupted, or whose broker failed by a defect, is not judged, because that ends brokers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from analysis.auditing.evidence import Evidence
from analysis.auditing.finding import none_allowed, unmeasured
from analysis.reading.intervals import Intervals
from analysis.reading.log_events import NeighbourChange
from analysis.reading.outages import lasting, link_ends, outages, separate_targets
from record.faults import HealKind
from record.fidelity import Check
from record.manifest import PhaseName
from record.time_units import SECOND
from record.wording import count_of

LINKS, BROKERS = "links that went down by themselves", "brokers that started again by themselves"
Link = frozenset[str]


def unplanned(evidence: Evidence) -> Iterable[Check]:
    """The checks of one variant."""
    if evidence.variant.interrupted or any(defect.variant == evidence.number for defect in evidence.logs.defects):
        for name, unit in ((LINKS, "links"), (BROKERS, "brokers")):
            yield unmeasured(name, unit, "the variant was ended early, which ends brokers and links")
        return
    yield _links(evidence)
    yield _brokers(evidence)


def _links(evidence: Evidence) -> Check:
    explained, broken = _explained(evidence), defaultdict[Link, list[NeighbourChange]](list)
    left_out = set() if evidence.modelled else _lossy(evidence)
    for change in _broke(evidence):
        link = frozenset((change.node, change.neighbour))
        if link not in left_out and not any(
            explained[struck].overlaps(change.at.time, change.at.time)
            for struck in (link, Link({change.node}), Link({change.neighbour}))
        ):
            broken[link].append(change)
    begin = _begin(evidence)
    wrong = [
        f"{'-'.join(sorted(link))} broke {count_of(len(changes), 'time')} by the logs of its ends, first at "
        f"{(min(change.at.time for change in changes) - begin) / SECOND:.1f} s"
        for link, changes in sorted(broken.items(), key=lambda item: sorted(item[0]))
    ]
    return none_allowed(
        LINKS, "links", wrong,
        meaning="no fault explains that, so the overlay was another one than was asked for",
        otherwise="whenever the stream of a link broke, a fault or a change of the overlay explains it",
    )  # fmt: skip


def _brokers(evidence: Evidence) -> Check:
    brokers = {broker.id for broker in evidence.overlay.brokers}
    starts = Counter(
        found.node
        for found in evidence.logs.extents.incarnations()
        if found.variant == evidence.number and found.node in brokers
    )
    restarts = Counter(
        event.target
        for event in evidence.logs.outages
        if event.variant == evidence.number and not event.node and event.kind == HealKind.RESTART
    )
    wrong = [
        f"{broker} started {count_of(times, 'time')} with {count_of(restarts[broker], 'restart')} on record"
        for broker, times in sorted(starts.items())
        if times > 1 + restarts[broker]
    ]
    return none_allowed(
        BROKERS, "brokers", wrong,
        meaning="what these brokers held was lost without a fault that explains it",
        otherwise=f"all starts of {len(starts):,} brokers are on record",
    )  # fmt: skip


def _broke(evidence: Evidence) -> Iterator[NeighbourChange]:
    """The changes by which links went down while the workload lasted."""
    begin, stop = _begin(evidence), evidence.variant.end
    for change in evidence.logs.neighbours:
        during = begin <= change.at.time and (stop is None or change.at.time < stop)
        if during and change.variant == evidence.number and not change.up:
            yield change


def _begin(evidence: Evidence) -> int:
    join = evidence.variant.phase(PhaseName.JOIN)
    return 0 if join is None else join.start


def _lossy(evidence: Evidence) -> set[Link]:
    return {Link({link.a, link.b}) for link in evidence.overlay.links if link.forward.loss or link.backward.loss}


def _explained(evidence: Evidence) -> Mapping[Link, Intervals]:
    """Times in which a broken stream is no wonder, by a broker alone, or by both ends of a link."""
    brokers = frozenset(broker.id for broker in evidence.overlay.brokers)
    recovery = round(evidence.variant.recovery * SECOND)
    found: dict[Link, list[tuple[int, int]]] = defaultdict(list)
    faults = [event for event in evidence.logs.outages if event.variant == evidence.number and not event.node]
    for outage in outages(faults, brokers):
        for target in separate_targets(outage.target, brokers):
            found[Link(target.split("->"))].append(lasting(outage, recovery))
    for change in evidence.logs.changes:
        ends = link_ends(change.link, brokers)
        if change.variant == evidence.number and ends is not None:
            found[Link(ends)].append((change.intended - recovery, change.at.time + recovery))
    return defaultdict(lambda: Intervals.of(()), {link: Intervals.of(times) for link, times in found.items()})
