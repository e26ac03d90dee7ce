"""Measures of the TID paper's claims on composite subscriptions (section 4, and "Dynamic CS Routing" in section 5).

A run has variants for the routings of composite subscriptions (`routing.composites`) and of publications. The
**messages of a composite subscription** are its detections, and the publications of each publisher that has at least
one publication in a detection. **Steady state** is that of `analysis.claims.papers.tid`; a detection belongs to the
second in which the last of its publications was due, and a mean delay counts from that time, as in Fig. 8.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from statistics import fmean

import msgspec

from analysis.claims.measure import Measure
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.papers.tid import STEADY_FROM
from analysis.claims.quantities import Curve, Curves, Quantity, of_variant
from analysis.claims.verdict import Measurement
from broker_service.messages import Kind
from record.log import Event, TraceRecord
from record.time_units import SECOND
from topology.link_properties import BrokerId

COMPOSITES = "routing.composites"
PUBLICATIONS = "routing.publications"
FASTER = "B1"
"""Broker of the faster publisher in Fig. 4, at which DCSR detects."""
SLOWER = "B2"
"""Broker of the slower publisher."""
FORK = "B4"
"""Broker at which the paths to the publishers part, and topology-based routing detects."""
HOME = "B6"
"""Broker of the subscriber, at which simple routing detects."""
DOWNSTREAM = ("B3", "B4", "B5", "B6")
"""Brokers between the join point of DCSR and the subscriber."""
JOIN_POINTS: Mapping[str, BrokerId] = {"simple": HOME, "topology": FORK, "dcsr": FASTER}
"""Broker at which each routing detects, and ends what completes nothing (Fig. 7)."""

Window = tuple[float, float]
"""Begin and end, as shares of the phase `run`."""
STEADY: Window = (STEADY_FROM, 1.0)


@dataclass(slots=True)
class Traffic:
    """Messages of a composite subscription at one broker."""

    arrived: int = 0
    """Publications and detections received from clients and neighbours."""
    left: int = 0
    """Publications and detections sent to neighbours, and detections delivered to clients."""


def traffic_at_join_point(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Messages that leave the broker of the faster publisher with DCSR over those with simple routing, minus 1."""
    traffic = _steady_traffic(run, [FASTER])
    simple, dcsr = (traffic[FASTER, _named(run, name).name].left for name in ("simple", "dcsr"))
    return Measurement(values=(dcsr / simple - 1 if simple else None,))


def traffic_downstream(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins by which fewer messages arrive with DCSR than with simple routing, at each broker of `DOWNSTREAM`."""
    return Measurement(values=_savings(run, "simple", "dcsr", DOWNSTREAM))


def traffic_of_topology(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins by which fewer messages arrive with topology-based than with simple routing, at B5 and B6."""
    return Measurement(values=_savings(run, "simple", "topology", ("B5", "B6")))


def detection_delay(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean detection delay in steady state with dynamic publication routing, DCSR over topology-based, minus 1."""
    return Measurement(values=(_relative(_named(run, "topology"), _named(run, "dcsr")),))


def detection_delay_by_publication_routing(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean detection delay in steady state with DCSR, dynamic over fixed publication routing, minus 1."""
    return Measurement(values=(_relative(_named(run, "dcsr", "fixed"), _named(run, "dcsr")),))


def detection_delay_order(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Two margins with dynamic publication routing (Fig. 8): detections of topology-based routing are faster than those
    of simple routing, and those of DCSR faster than those of topology-based routing."""
    steps = pairwise(_named(run, name) for name in ("simple", "topology", "dcsr"))
    return Measurement(values=tuple(_negated(_relative(slower, faster)) for slower, faster in steps))


def place_of_detection(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Publications of the steady state that end at another broker than the one of `JOIN_POINTS` (Fig. 7).

    A publication ends at a broker that receives it and sends it to no neighbour, either filtered or as a part of
    detections. One that ends at several brokers is a violation, too.
    """
    violations = checked = 0
    example = ""
    ends = _ends(run, STEADY)
    for variant in run.variants:
        expected = [JOIN_POINTS[str(variant.settings[COMPOSITES])]]
        for publication, places in ends[variant.name].items():
            checked += 1
            if places != expected:
                violations += 1
                example = example or f"{variant.name}: {publication} ended at {', '.join(places)}, not at {expected[0]}"
    return Measurement(values=(float(violations),), checked=checked, example=example)


def balance(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Messages that prevent the bars of Fig. 7 from adding up, where received = sent + filtered.

    A violation is a publication that leaves a broker twice or without having come there, and a detection by which more
    leave a broker than came to it or were made there. All publications and detections at each broker count as checked.
    """
    arrived: defaultdict[tuple[BrokerId, str], Counter[str]] = defaultdict(Counter)
    left: defaultdict[tuple[BrokerId, str], Counter[str]] = defaultdict(Counter)
    for record in _messages(run, run.brokers):
        counted = arrived if record.event in (Event.RECEIVED, Event.DETECTED) else left
        message = (record.id or "") if record.kind == Kind.PUBLISH.word else _DETECTION
        counted[record.node, record.variant][message] += 1
    violations = 0
    example = ""
    for (broker, variant), departures in left.items():
        if unbalanced := departures - _allowed(arrived[broker, variant]):
            violations += unbalanced.total()
            example = example or f"{variant}: {min(unbalanced)} left {broker} more often than it may"
    checked = sum(arrivals.total() for arrivals in arrived.values())
    return Measurement(values=(float(violations),), checked=checked, example=example)


def following_rates(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Three margins for publishers that exchange their rates (sections 4.1 and 4.4): the join point is at the broker of
    the publisher that is faster before, it is at that of the other one afterwards, no detection is defective.

    `arguments` are begin and end, in seconds of the phase `run`, of the two intervals that are compared. The margin is
    the share of publications that end at the broker minus the share of those that end elsewhere.
    """
    (variant,) = run.variants
    begin, end, begin_after, end_after = (second / variant.run_seconds for second in recipe.arguments)
    figures = variant.detection_figures
    faultless = figures is not msgspec.UNSET and not figures.lost + figures.duplicate + figures.spurious
    return Measurement(
        values=(
            _at(FASTER, _ends(run, (begin, end))[variant.name]),
            _at(SLOWER, _ends(run, (begin_after, end_after))[variant.name]),
            1.0 if faultless else -1.0,
        )
    )


def saving_by_length(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Two margins: DCSR saves more the longer the path of detections is, in messages and in detection delay.

    The variants differ in the path's length, in ascending order, and in the routing of composite subscriptions. What
    is saved is the difference between simple routing and DCSR in the messages over all links in steady state and in
    the mean delay. The margin is the smallest growth from one length to the next, relative to the largest saving.
    """
    lengths = dict.fromkeys(_without_composites(variant) for variant in run.variants)
    messages = _over_links(run, run.variants)
    saved: list[float] = []
    sooner: list[float | None] = []
    for length in lengths:
        of_length = [variant for variant in run.variants if _without_composites(variant) == length]
        simple, dcsr = (_one_of(run, of_length, name) for name in ("simple", "dcsr"))
        saved.append(messages[simple.name] - messages[dcsr.name])
        before, after = _mean_delay(simple), _mean_delay(dcsr)
        sooner.append(None if before is None or after is None else before - after)
    return Measurement(values=(_growth(saved), _growth(sooner)))


MEASURES: Mapping[str, Measure] = {
    "traffic at the join point": traffic_at_join_point,
    "traffic downstream": traffic_downstream,
    "traffic of topology-based routing": traffic_of_topology,
    "detection delay": detection_delay,
    "detection delay by publication routing": detection_delay_by_publication_routing,
    "order of detection delays": detection_delay_order,
    "place of detection": place_of_detection,
    "balance of traffic": balance,
    "following rates": following_rates,
    "saving by length": saving_by_length,
}
"""Measures by the names that recipes use."""


def _messages_of_brokers(run: MeasuredRun, _: Sequence[float]) -> Iterator[Curve]:
    """Messages of the composite subscription that leave each broker on its path in steady state (Fig. 7)."""
    brokers = (FASTER, *DOWNSTREAM)
    traffic = _steady_traffic(run, brokers)
    for variant in run.variants:
        left = [float(traffic[broker, variant.name].left) for broker in brokers]
        yield Curve(name=variant.name, x=list(brokers), y=list(left))


CURVES: Mapping[str, Curves] = {
    "messages of a composite subscription": Curves("broker", "outgoing messages", _messages_of_brokers)
}
"""Curves by the names that figures use."""

_COUNTED = frozenset((Event.RECEIVED, Event.SENT, Event.DETECTED, Event.DELIVERED))
_DETECTION = "detection"
"""Key of all detections, in counts of messages by id."""


def _named(run: MeasuredRun, composites: str, publications: str = "dynamic") -> MeasuredVariant:
    """The one variant with these routings. Raises `ClaimsError` when there is not exactly one."""
    routed = [variant for variant in run.variants if variant.settings.get(PUBLICATIONS) == publications]
    return _one_of(run, routed, composites)


def _one_of(run: MeasuredRun, variants: Iterable[MeasuredVariant], composites: str) -> MeasuredVariant:
    found = [variant for variant in variants if variant.settings.get(COMPOSITES) == composites]
    if len(found) != 1:
        raise ClaimsError(f"{run.directory}: {len(found)} variants with {composites} routing; one is needed")
    return found[0]


def _without_composites(variant: MeasuredVariant) -> frozenset[tuple[str, str]]:
    return frozenset((path, repr(value)) for path, value in variant.settings.items() if path != COMPOSITES)


def _messages(run: MeasuredRun, brokers: Iterable[BrokerId]) -> Iterator[TraceRecord]:
    """Records of these brokers about the messages of the composite subscription, of all variants: arrivals, departures,
    detections."""
    kinds = (*(f'"id":"{publisher}:'.encode() for publisher in _publishers(run)), b'"kind":"detection"')
    for broker, kind in product(brokers, kinds):
        yield from (record for record in run.records(broker, kind) if record.event in _COUNTED)


def _publishers(run: MeasuredRun) -> list[str]:
    """The publishers of whose publications some were detected; a publication's id begins with its publisher's name."""
    rows = (row for variant in run.variants for row in variant.detections)
    return sorted({publication.rpartition(":")[0] for row in rows for publication in row.publications})


def _falls_in(window: Window, variant: MeasuredVariant, time: int) -> bool:
    begin, end = window
    return begin <= (time - variant.run_began_ns) / SECOND / variant.run_seconds < end


def _steady_traffic(run: MeasuredRun, brokers: Sequence[BrokerId]) -> Mapping[tuple[BrokerId, str], Traffic]:
    """Messages of the steady state, by broker and variant."""
    by_name = {variant.name: variant for variant in run.variants}
    traffic: defaultdict[tuple[BrokerId, str], Traffic] = defaultdict(Traffic)
    for record in _messages(run, brokers):
        if _falls_in(STEADY, by_name[record.variant], record.time):
            at_broker = traffic[record.node, record.variant]
            at_broker.arrived += record.event is Event.RECEIVED
            at_broker.left += record.event in (Event.SENT, Event.DELIVERED)
    return traffic


def _savings(run: MeasuredRun, former: str, latter: str, brokers: Sequence[BrokerId]) -> tuple[float | None, ...]:
    """Share of the messages that arrive at each broker with one routing and do not with the other."""
    names = [_named(run, name).name for name in (former, latter)]
    traffic = _steady_traffic(run, brokers)
    margins: list[float | None] = []
    for broker in brokers:
        before, after = (traffic[broker, name].arrived for name in names)
        margins.append(1 - after / before if before else None)
    return tuple(margins)


def _over_links(run: MeasuredRun, variants: Sequence[MeasuredVariant]) -> Counter[str]:
    """Messages that arrive from neighbours in steady state, over all brokers, by variant."""
    by_name = {variant.name: variant for variant in variants}
    return Counter(
        record.variant
        for record in _messages(run, run.brokers)
        if record.event is Event.RECEIVED and record.peer is not None and record.variant in by_name
        if _falls_in(STEADY, by_name[record.variant], record.time)
    )


def _ends(run: MeasuredRun, window: Window) -> dict[str, dict[str, list[BrokerId]]]:
    """Brokers at which each publication ended that publishers handed in within the window, by variant."""
    by_name = {variant.name: variant for variant in run.variants}
    received: defaultdict[tuple[str, str], set[BrokerId]] = defaultdict(set)
    sent: defaultdict[tuple[str, str], set[BrokerId]] = defaultdict(set)
    made: set[tuple[str, str]] = set()
    for record in _messages(run, run.brokers):
        key = (record.variant, record.id or "")
        if record.kind != Kind.PUBLISH.word:
            continue
        if record.event is Event.SENT:
            sent[key].add(record.node)
            continue
        received[key].add(record.node)
        if record.peer is None and _falls_in(window, by_name[record.variant], record.time):
            made.add(key)
    ends: dict[str, dict[str, list[BrokerId]]] = {name: {} for name in by_name}
    for variant, publication in sorted(made):
        places = received[variant, publication] - sent[variant, publication]
        ends[variant][publication] = sorted(places)
    return ends


def _at(broker: BrokerId, ends: Mapping[str, Sequence[BrokerId]]) -> float | None:
    """Share of the publications that end at a broker, minus the share of those that end elsewhere."""
    return fmean(1.0 if places == [broker] else -1.0 for places in ends.values()) if ends else None


def _allowed(arrived: Counter[str]) -> Counter[str]:
    """Departures that arrivals permit: one of each publication, and as many detections as there are."""
    return Counter({id: count if id == _DETECTION else 1 for id, count in arrived.items()})


def _steady_delays(variant: MeasuredVariant) -> dict[tuple[str, str, tuple[str, ...]], float]:
    """Delays of the sets in steady state, in milliseconds, by client, composite subscription and publications."""
    return {
        (row.client, row.composite, tuple(row.publications)): row.delay_ms or 0.0
        for row in variant.detections
        if row.second is not None and STEADY_FROM * variant.run_seconds <= row.second < variant.run_seconds
    }


def _mean_delay(variant: MeasuredVariant) -> float | None:
    delays = _steady_delays(variant).values()
    return fmean(delays) if delays else None


def _relative(reference: MeasuredVariant, variant: MeasuredVariant) -> float | None:
    """Mean detection delay of the variant over the reference's, minus 1, over the sets that both have."""
    before, after = _steady_delays(reference), _steady_delays(variant)
    common = before.keys() & after.keys()
    total = sum(before[key] for key in common)
    return sum(after[key] for key in common) / total - 1 if total else None


def _negated(relative: float | None) -> float | None:
    return None if relative is None else -relative


def _growth(savings: Sequence[float | None]) -> float | None:
    """Smallest step from one saving to the next, relative to the largest saving; None where one is missing."""
    known = [saving for saving in savings if saving is not None]
    largest = max(map(abs, known), default=0.0)
    if len(known) < len(savings) or not largest:
        return None
    return min(after - before for before, after in pairwise(known)) / largest


QUANTITIES: Mapping[str, Quantity] = {"detection delay": of_variant("mean detection delay, ms", _mean_delay)}
"""Quantities by the names that figures use."""
