"""Measures of the claims of the TID paper (PADRES): adaptive routing on cyclic overlays.

**Steady state** is the second half of the phase `run`, because queues have had the first half to find their length.
`analysis.claims.measure` defines mean delays and margins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import networkx as nx

from analysis.claims.measure import Measure
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.quantities import DELAY_TITLE, Curve, Curves
from analysis.claims.verdict import Measurement
from analysis.reading.intervals import FOREVER
from analysis.tables.deliveries import Notification
from broker_service.messages import Kind
from record.faults import FaultKind
from record.log import EMULATOR, Event, TraceRecord

STEADY_FROM = 0.5
"""Share of the phase `run` after which it is steady."""
GROWTH = 1.0
"""Growth of the mean delay, from the first fifth of a run to its last, above which delays grow without bound. In a
queue that grows at a constant rate they become nine times as long; in a stable one they only follow the workload."""
SETTLED_FROM = 0.75
"""Share of the phase `run` after which a disturbed overlay has settled again."""
RECOVERED = 1.2
"""Factor of the settled delay within which a delay has recovered."""
RECOVERED_SECONDS = 3
"""Number of successive seconds within that factor that count as recovery."""
PEAK_OVER = 100
"""Notifications over which a delay is averaged to find its peak; single delays differ by more than failures change."""


def steady(variant: MeasuredVariant) -> tuple[Notification, ...]:
    """Notifications of the steady state."""
    return variant.between(STEADY_FROM * variant.run_seconds, variant.run_seconds)


def at_distance(
    variant: MeasuredVariant, rows: Iterable[Notification], distances: Iterable[float]
) -> Mapping[float, list[Notification]]:
    """The notifications between clients at each distance: the fewest links between their brokers."""
    far = dict(nx.all_pairs_shortest_path_length(variant.overlay.to_networkx()))
    grouped: dict[float, list[Notification]] = {distance: [] for distance in distances}
    for row in rows:
        if row.path and (distance := far[row.path[0]][row.path[-1]]) in grouped:
            grouped[distance].append(row)
    return grouped


def growth(variant: MeasuredVariant) -> float | None:
    """Mean delay of publications due in the last fifth of the run over that of the first fifth, minus 1."""
    run = variant.run_seconds
    first, last = _mean(variant.between(0, run / 5)), _mean(variant.between(4 * run / 5, run))
    return last / first - 1 if first and last is not None else None


def relative_delay(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean delay in steady state, dynamic over fixed, minus 1 (Fig. 5(a), (b), (d) and the fully connected overlay)."""
    fixed, dynamic = run.of("fixed"), run.of("dynamic")
    return Measurement(values=(_relative(steady(fixed), steady(dynamic)),))


def relative_delay_by_distance(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Relative delay for each distance in `arguments`: the fewest links between the two clients' brokers (Table 3).

    Table 3 has one publisher and one subscriber at each distance; here all pairs of clients at that distance count.
    """
    fixed, dynamic = run.of("fixed"), run.of("dynamic")
    before = at_distance(fixed, steady(fixed), recipe.arguments)
    after = at_distance(fixed, steady(dynamic), recipe.arguments)
    return Measurement(values=tuple(_relative(before[links], after[links]) for links in recipe.arguments))


def queueing_share(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Share of the delay that notifications spent in the output queues of the most overloaded broker (on Fig. 5(a))."""
    return Measurement(values=(queueing_share_of(run, run.of("fixed")),))


def queueing_share_of(run: MeasuredRun, fixed: MeasuredVariant) -> float | None:
    """The share of the delay for `queueing_share`; None without notifications through the most overloaded broker.

    The most overloaded broker is the one in whose output queues publications waited longest in total. The notifications
    that count are those that came through it, in steady state, with fixed routing.
    """
    rows = [row for row in steady(fixed) if row.path is not None]
    waits = {broker.id: _waits(run, fixed, broker.id) for broker in fixed.overlay.brokers}
    if not any(waits.values()):
        return 0.0 if rows else None
    broker = max(waits, key=lambda name: sum(waits[name].values()))
    waited = delayed = 0.0
    for row in rows:
        path = row.path or []
        if broker in path[:-1]:
            following = path[path.index(broker) + 1]
            waited += waits[broker][row.publication, following]
            delayed += row.delay_ms or 0.0
    return waited / delayed if delayed else None


def matching_share(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Comparisons of content over publication messages that brokers received, with dynamic routing ("Faster matching").

    The reference is one comparison for each message, which brokers would need if each matched the content again.
    """
    return Measurement(values=(run.of("dynamic").matching.share,))


def redundant_advertisements(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Share of redundant messages among the advertisement messages between brokers (introduction).

    Every broker but the first needs one message for each advertisement; the rest is redundant.
    """
    (variant,) = run.variants
    rows = [row for row in variant.messages if row.kind == Kind.ADVERTISE.word]
    received, made = sum(row.received for row in rows), sum(row.from_clients for row in rows)
    needed = made * (len(variant.overlay.brokers) - 1)
    return Measurement(values=(1 - needed / received if received else None,))


def overload(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Two margins (Fig. 5(c)): delays of fixed routing grow without bound, those of dynamic routing do not.

    An open-loop delay grows with the queues it waits in. Its growth, from the first fifth of the run to the last, is
    compared with `GROWTH`.
    """
    fixed, dynamic = growth(run.of("fixed")), growth(run.of("dynamic"))
    return Measurement(
        values=(None if fixed is None else fixed - GROWTH, None if dynamic is None else GROWTH - dynamic)
    )


def burst(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Three margins (Fig. 5(e)): dynamic routing's delay is smaller during the burst, recovers first, settles lower.

    `arguments` are begin and end of the burst in seconds of the phase `run`. Recovery lasts until the mean delay of a
    second is within `RECOVERED` of the settled one and stays there for `RECOVERED_SECONDS`.
    """
    begin, end = recipe.arguments
    fixed, dynamic = run.of("fixed"), run.of("dynamic")
    during = _relative(fixed.between(begin, end), dynamic.between(begin, end))
    settled = _relative(_settled(fixed), _settled(dynamic))
    return Measurement(
        values=(
            None if during is None else -during,
            _sooner(fixed, dynamic, end),
            None if settled is None else -settled,
        ),
    )


def settling(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Two margins (Fig. 5(f)): dynamic routing stabilises sooner, and has the smaller delay once both are stable.

    Publishers join while others already publish, and the delay is stable as it has recovered in `burst`: it is within
    `RECOVERED` of the settled delay and stays there. `arguments` holds the second of the phase `run` by which all
    clients have joined.
    """
    (joined,) = recipe.arguments
    fixed, dynamic = run.of("fixed"), run.of("dynamic")
    settled = _relative(_settled(fixed), _settled(dynamic))
    return Measurement(values=(_sooner(fixed, dynamic, joined), None if settled is None else -settled))


def overhead(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean processor time and mean memory of a broker during the phase `run`, dynamic over fixed, minus 1 ("Overhead").

    Both are of the brokers' processes, so a simulated run, whose brokers have none, gives no memory.
    """
    fixed, dynamic = run.of("fixed").loads, run.of("dynamic").loads
    processor = _mean_ratio([row.processor for row in fixed], [row.processor for row in dynamic])
    memory = _mean_ratio(
        [row.memory_bytes for row in fixed if row.memory_bytes is not None],
        [row.memory_bytes for row in dynamic if row.memory_bytes is not None],
    )
    return Measurement(values=(processor, memory))


def busiest_broker(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Share of the phase `run` for which the busiest broker works, and the mean of the others ("Overhead").

    The paper states both of dynamic routing. Of a simulated broker the modelled service counts.
    """
    variant = run.of("dynamic")
    by_broker: defaultdict[str, list[float]] = defaultdict(list)
    for row in variant.loads:
        by_broker[row.broker].append(row.processor)
    shares = sorted(fmean(shares) for shares in by_broker.values())
    if len(shares) < 2:
        return Measurement(values=(None, None))
    return Measurement(values=(shares[-1], fmean(shares[:-1])))


def failures(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Three increases of the mean delay, relative to the same run without failures (Fig. 6).

    The three are the peak between the first and the second kill, the peak after the second, and the settled level; a
    peak is the highest mean over `PEAK_OVER` successive notifications. The paper compares with the time before a
    failure; the comparison with a run of the same seed without failures leaves out other changes of the queues. Only
    notifications that arrive while the brokers are down count, not those that wait for a restart.
    """
    failing, undisturbed = _with_and_without_kills(run)
    first, second, healed = _kills_and_restart(run, failing)
    others = {_pair(row): row for row in undisturbed.notifications}
    dead = sorted(
        (row for row in failing.notifications if first <= row.notified_ns < healed and _pair(row) in others),
        key=lambda row: row.notified_ns,
    )

    def increase(rows: Sequence[Notification]) -> float | None:
        return _relative([others[_pair(row)] for row in rows], rows)

    def peak(rows: Sequence[Notification]) -> float | None:
        """The highest increase; a rest of fewer than `PEAK_OVER` notifications at the end does not count."""
        starts = range(0, len(rows) - PEAK_OVER + 1, PEAK_OVER)
        increases = (increase(rows[start : start + PEAK_OVER]) for start in starts)
        return max((found for found in increases if found is not None), default=None)

    settled_from = SETTLED_FROM * failing.run_seconds
    return Measurement(
        values=(
            peak([row for row in dead if row.notified_ns < second]),
            peak([row for row in dead if row.notified_ns >= second]),
            increase([row for row in dead if row.second is not None and row.second >= settled_from]),
        )
    )


MEASURES: Mapping[str, Measure] = {
    "relative delay": relative_delay,
    "relative delay by distance": relative_delay_by_distance,
    "queueing share": queueing_share,
    "matching share": matching_share,
    "redundant advertisements": redundant_advertisements,
    "overload": overload,
    "burst": burst,
    "settling": settling,
    "overhead": overhead,
    "busiest broker": busiest_broker,
    "failures": failures,
}
"""Measures by the names that recipes use."""


def _delays_by_distance(run: MeasuredRun, distances: Sequence[float]) -> Iterable[Curve]:
    """The mean delay in steady state between clients at each distance (Table 3)."""
    for variant in run.variants:
        grouped = at_distance(variant, steady(variant), distances)
        yield Curve(name=variant.name, x=list(distances), y=[_mean(grouped[distance]) for distance in distances])


CURVES: Mapping[str, Curves] = {
    "mean delay by distance": Curves("links between the clients' brokers", DELAY_TITLE, _delays_by_distance)
}
"""Curves by the names that figures use."""


def _settled(variant: MeasuredVariant) -> tuple[Notification, ...]:
    return variant.between(SETTLED_FROM * variant.run_seconds, variant.run_seconds)


def _relative(reference: Iterable[Notification], variant: Iterable[Notification]) -> float | None:
    """Mean delay of the variant over the reference's, minus 1, over the pairs that both have."""
    delays = {(row.publication, row.client): row.delay_ms or 0.0 for row in reference}
    pairs = [
        (delays[row.publication, row.client], row.delay_ms or 0.0)
        for row in variant
        if (row.publication, row.client) in delays
    ]
    total = sum(before for before, _ in pairs)
    return sum(after for _, after in pairs) / total - 1 if total else None


def _mean(rows: Iterable[Notification]) -> float | None:
    delays = [row.delay_ms or 0.0 for row in rows]
    return fmean(delays) if delays else None


def _sooner(fixed: MeasuredVariant, dynamic: MeasuredVariant, end: float) -> float | None:
    """Margin by which dynamic routing's delay recovers before that of fixed routing, relative to the later one."""
    slow, fast = _recovery(fixed, end), _recovery(dynamic, end)
    return None if slow is None or fast is None else (slow - fast) / max(slow, fast, 1.0)


def _mean_ratio(before: Sequence[float], after: Sequence[float]) -> float | None:
    """The mean after over the mean before, minus 1."""
    return fmean(after) / fmean(before) - 1 if before and after and any(before) else None


def _recovery(variant: MeasuredVariant, end: float) -> float | None:
    """Seconds from the end of the burst to the first of `RECOVERED_SECONDS` recovered ones, or to the run's end."""
    settled = _mean(_settled(variant))
    if settled is None:
        return None
    recovered = 0
    for second in range(int(end), int(variant.run_seconds)):
        mean = _mean(variant.between(second, second + 1))
        recovered = recovered + 1 if mean is None or mean <= RECOVERED * settled else 0
        if recovered == RECOVERED_SECONDS:
            return second + 1 - RECOVERED_SECONDS - end
    return variant.run_seconds - end


def _with_and_without_kills(run: MeasuredRun) -> tuple[MeasuredVariant, MeasuredVariant]:
    """The variant with kills of brokers, and the one without. Raises `ClaimsError` unless there is one of each."""
    killing = {record.variant for record in run.records(EMULATOR) if _is_kill(record)}
    failing = [variant for variant in run.variants if variant.name in killing]
    undisturbed = [variant for variant in run.variants if variant.name not in killing]
    if len(failing) != 1 or len(undisturbed) != 1:
        counted = f"{len(failing)} variants with kills and {len(undisturbed)} without"
        raise ClaimsError(f"{run.directory}: {counted}; one each is needed")
    return failing[0], undisturbed[0]


def _kills_and_restart(run: MeasuredRun, variant: MeasuredVariant) -> tuple[int, int, int]:
    """Times of the first kill, the last kill and the first restart. Raises `ClaimsError` for fewer than two kills."""
    records = [record for record in run.records(EMULATOR) if record.variant == variant.name]
    kills = [record.time for record in records if _is_kill(record)]
    if len(kills) < 2:
        raise ClaimsError(f"{run.directory}: one broker was killed; two, one after the other, are needed")
    return (
        min(kills),
        max(kills),
        min((record.time for record in records if record.event is Event.HEALED), default=FOREVER),
    )


def _is_kill(record: TraceRecord) -> bool:
    return record.event is Event.FAULT and record.text == FaultKind.KILL


def _pair(row: Notification) -> tuple[str, str]:
    return row.publication, row.client


def _waits(run: MeasuredRun, variant: MeasuredVariant, broker: str) -> Mapping[tuple[str, str], float]:
    """Milliseconds that each publication waited in a broker's output queue to each neighbour."""
    waits: dict[tuple[str, str], float] = defaultdict(float)
    for record in run.records(broker):
        if record.event is Event.SENT and record.kind == Kind.PUBLISH.word and record.variant == variant.name:
            waits[record.id or "", record.peer or ""] += (record.duration or 0) / 1e6
    return waits
