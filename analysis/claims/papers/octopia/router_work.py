"""Measures of router work on this host: matching and path selection (OctopiA, figures 14 and 16).

Brokers log the time of the router's work on a publication, and the part of it that compared content. *Matching delay*
is the time of one comparison at one broker; *path-selection time* is the rest of the router's work on a publication at
one broker: reading the header and choosing next hops (`analysis.judging.journeys.router_work`). Both are times of the
process that ran the broker's code: processor time where `brokerlab reproduce` simulates, elapsed time for real brokers.
Therefore no two runs measure the same. The slowest `SLOWEST_LEFT_OUT` of each variant do not count, because they
include other work of the host.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from analysis.claims.measured_run import MeasuredRun
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.papers.octopia.control_traffic import by_size
from analysis.claims.verdict import Measurement
from analysis.judging.journeys.router_work import Arrival, Comparison, path_selections
from record.log import Event

SLOWEST_LEFT_OUT = 0.02
"""Share of the times that do not count."""


def matching_delay(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean matching delay, OctopiA over PADRES, minus 1; the mean over sizes."""
    times = run.once(matching_times)
    ratios = [_over(times.get(octopia.name, ()), times.get(padres.name, ())) for octopia, padres in by_size(run)]
    if any(ratio is None for ratio in ratios):
        return Measurement(values=(None,))
    return Measurement(values=(fmean(ratio for ratio in ratios if ratio is not None),))


def path_selection(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean path-selection time: TID-D over IDR, TID-D over TID-S and IDR over SPR, each minus 1."""
    times = run.once(selection_times)
    missing = [name for name in ("SPR", "IDR", "TID-S", "TID-D") if name not in times]
    if missing:
        raise ClaimsError(f"{run.directory}: no publication was routed in a variant {missing[0]}")
    pairs = (("TID-D", "IDR"), ("TID-D", "TID-S"), ("IDR", "SPR"))
    return Measurement(values=tuple(_over(times[above], times[below]) for above, below in pairs))


def matching_times(run: MeasuredRun) -> dict[str, list[int]]:
    """Nanoseconds of each comparison at one broker, by variant."""
    times: dict[str, list[int]] = defaultdict(list)
    for broker in run.brokers:
        for record in run.records(broker, b'"event":"matched"'):
            times[record.variant].append(record.duration or 0)
    return times


def selection_times(run: MeasuredRun) -> dict[str, list[int]]:
    """Nanoseconds of path selection for each publication at each broker, by variant."""
    times: dict[str, list[int]] = defaultdict(list)
    for broker in run.brokers:
        arrivals: dict[tuple[str, str], list[tuple[int, Arrival]]] = defaultdict(list)
        comparisons: dict[tuple[str, str], list[Comparison]] = defaultdict(list)
        for record in run.records(broker, b'"kind":"publish"'):
            if record.id is None:
                continue
            if record.event is Event.RECEIVED:
                arrival = Arrival(broker, record.time, record.duration or 0)
                arrivals[record.variant, record.id].append((record.hops or 0, arrival))
            elif record.event is Event.MATCHED:
                comparisons[record.variant, record.id].append(Comparison(broker, record.time, record.duration or 0))
        for (variant, id), arrived in arrivals.items():
            in_order = [arrival for _, arrival in sorted(arrived)]
            times[variant] += [took for _, took in path_selections(in_order, comparisons[variant, id])]
    return times


def _over(times: Sequence[int], others: Sequence[int]) -> float | None:
    above, below = typical(times), typical(others)
    return above / below - 1 if above is not None and below else None


def typical(times: Sequence[int]) -> float | None:
    """The mean of all times but the slowest `SLOWEST_LEFT_OUT`; None without any."""
    kept = sorted(times)[: len(times) - int(SLOWEST_LEFT_OUT * len(times))]
    return fmean(kept) if kept else None
