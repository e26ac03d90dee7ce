"""Measures of what routers themselves take, on this host: matching and selecting paths (OctopiA, figures 14 and 16).

Brokers log how long the router worked on a publication, and how long of that it compared content. *Matching delay* is
the time of one comparison at one broker, *path-selection time* the rest of the router's work on a publication at one
broker: reading the header and choosing next hops. Both are of the process that ran the broker's code: processor time
where `brokerlab reproduce` simulates, real time of real brokers. So no two runs measure the same. The slowest
`SLOWEST_LEFT_OUT` of each variant do not count: they tell of what else the host did.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from analysis.claims.measured_run import MeasuredRun
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.papers.octopia.control_traffic import by_size
from analysis.claims.verdict import Measurement
from record.log import Event

SLOWEST_LEFT_OUT = 0.02
"""Share of the times."""


def matching_delay(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean matching delay, OctopiA over PADRES, minus 1; the mean over sizes."""
    times: dict[str, list[int]] = defaultdict(list)
    for broker in {broker.id for variant in run.variants for broker in variant.overlay.brokers}:
        for record in run.records(broker, b'"event":"matched"'):
            times[record.variant].append(record.duration or 0)
    ratios = [_over(times[octopia.name], times[padres.name]) for octopia, padres in by_size(run)]
    if any(ratio is None for ratio in ratios):
        return Measurement(values=(None,))
    return Measurement(values=(fmean(ratio for ratio in ratios if ratio is not None),))


def path_selection(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean path-selection time: TID-D over IDR, TID-D over TID-S and IDR over SPR, each minus 1."""
    times = selection_times(run)
    missing = [name for name in ("SPR", "IDR", "TID-S", "TID-D") if name not in times]
    if missing:
        raise ClaimsError(f"{run.directory}: no publication was routed in a variant {missing[0]}")
    pairs = (("TID-D", "IDR"), ("TID-D", "TID-S"), ("IDR", "SPR"))
    return Measurement(values=tuple(_over(times[above], times[below]) for above, below in pairs))


def selection_times(run: MeasuredRun) -> dict[str, list[int]]:
    """Nanoseconds of path selection at one broker, by variant, of every publication at every broker."""
    times: dict[str, list[int]] = defaultdict(list)
    for broker in {broker.id for variant in run.variants for broker in variant.overlay.brokers}:
        compared: dict[tuple[str, str], list[int]] = defaultdict(list)
        routed: list[tuple[str, str, int]] = []
        for record in run.records(broker, b'"kind":"publish"'):
            if record.event is Event.MATCHED:
                compared[record.variant, record.id or ""].append(record.duration or 0)
            elif record.event is Event.RECEIVED and record.duration is not None:
                routed.append((record.variant, record.id or "", record.duration))
        for variant, publication, took in routed:
            matches = compared.get((variant, publication))
            times[variant].append(took - matches.pop(0) if matches else took)
    return times


def _over(times: Sequence[int], others: Sequence[int]) -> float | None:
    above, below = _typical(times), _typical(others)
    return above / below - 1 if above is not None and below else None


def _typical(times: Sequence[int]) -> float | None:
    kept = sorted(times)[: len(times) - int(SLOWEST_LEFT_OUT * len(times))]
    return fmean(kept) if kept else None
