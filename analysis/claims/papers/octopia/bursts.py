"""Measures of a burst, in which one publisher floods the overlay, and of its after-effects (OctopiA, section 10).

Meaning of the paper's terms in all these measures:

- The *burst* consists of the publications of the publisher with most of them.
- *Delays* are those of all notifications, including other publishers', because of 50,000 publications that drain for
  minutes half cannot arrive within a second, as is published.
- *Stability* is judged as in figures 17 to 20 (`analysis.judging.deliveries.burst_recovery`), by the largest delay of
  every 5,000 notifications.
- `arguments` hold the published size of the burst, 50,000 publications. A run with 1/n of them lasts 1/n of the time:
  rates and service times are as published, and queues grow as fast, but for 1/n as long. Therefore its times are
  multiplied by n, and 1/n as many notifications share a largest delay. The delay without any queue does not shrink: it
  is the mean before the burst, and a delay counts as within a second when it exceeds that mean by at most 1/n second.
  Delays that exceed this limit even before the burst do so by chance, and an equal share of those after it is expected
  to. Shares do not count the notifications before the burst, because the time before it is not 1/n of anything.

Variants are called SPR, IDR, TID-S and TID-D.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.verdict import Measurement
from analysis.judging.deliveries.burst_recovery import largest_delays, stable_after
from analysis.tables.deliveries import Notification
from broker_service.messages import Kind
from record.time_units import SECOND

NOTIFICATIONS = 5000
"""Number of notifications that share a largest delay, in a burst of the published size."""
FEWEST_NOTIFICATIONS = 20
"""Smallest number of notifications that share a largest delay, in a burst of any size."""
WITHIN_MS = 1000.0
"""Delay within which a publication is timely in the paper's figures."""


@dataclass(frozen=True)
class MeasuredBurst:
    """The burst of one variant."""

    variant: MeasuredVariant
    published: float
    """Number of publications in the paper's burst."""

    @cached_property
    def publisher(self) -> str:
        publications = {(row.publication, row.publisher or "") for row in self.variant.notifications}
        counted = Counter(publisher for _, publisher in publications)
        return counted.most_common(1)[0][0]

    @cached_property
    def notifications(self) -> Sequence[Notification]:
        """Notifications of the burst's publications."""
        publisher = self.publisher
        return [row for row in self.variant.notifications if row.publisher == publisher]

    @cached_property
    def scale(self) -> float:
        """Factor by which the burst is smaller and shorter than the paper's."""
        return self.published / len({row.publication for row in self.notifications})

    @cached_property
    def begin(self) -> int:
        return min(row.intended_ns or 0 for row in self.notifications)

    @property
    def mean_delay(self) -> float:
        """Mean delay of all notifications of the variant, in milliseconds."""
        return fmean(row.delay_ms or 0.0 for row in self.variant.notifications)

    @property
    def timely(self) -> float:
        """Share of timely notifications since the burst began: those within a second, at the paper's scale.

        The share is relative to the timely notifications before the burst, because some notifications take longer than
        1/n second by chance even then.
        """
        rows = self.variant.notifications
        before = [row.delay_ms or 0.0 for row in rows if row.notified_ns < self.begin]
        since = [row.delay_ms or 0.0 for row in rows if row.notified_ns >= self.begin]
        within = (fmean(before) if before else 0.0) + WITHIN_MS / self.scale
        undisturbed = fmean(delay <= within for delay in before) if before else 1.0
        return min(1.0, fmean(delay <= within for delay in since) / undisturbed)

    @property
    def stable_after(self) -> float | None:
        """Seconds from the start of the burst, at the paper's scale; None without notifications before it."""
        rows = self.variant.notifications
        length = max(FEWEST_NOTIFICATIONS, round(NOTIFICATIONS / self.scale))
        points = largest_delays([row.notified_ns for row in rows], [row.delay_ms or 0.0 for row in rows], length)
        after = stable_after(points, self.begin)
        return None if after is None else after / SECOND * self.scale


def stabilisation(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Seconds by which IDR is stable before SPR, OctopiA (both) before PADRES (both), and TID-S before TID-D."""
    after = [burst.stable_after for burst in _bursts(run, recipe)]
    spr, idr, static, dynamic = after
    if spr is None or idr is None or static is None or dynamic is None:
        return Measurement(values=(None, None, None))
    return Measurement(values=(spr - idr, fmean((static, dynamic)) - fmean((spr, idr)), dynamic - static))


def messages(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Publications that brokers received from each other, IDR over SPR, minus 1."""
    spr, idr, _, _ = (
        sum(row.received for row in burst.variant.messages if row.kind == Kind.PUBLISH.word)
        for burst in _bursts(run, recipe)
    )
    return Measurement(values=(idr / spr - 1 if spr else None,))


def queue_length(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean length of the output queues of the burst's publications, IDR over SPR, minus 1.

    A length is taken whenever a publication is sent, without that publication.
    """
    spr, idr, _, _ = _bursts(run, recipe)
    totals: dict[str, list[int]] = {spr.variant.name: [0, 0], idr.variant.name: [0, 0]}
    prefix = f"{spr.publisher}:"
    for broker in spr.variant.overlay.brokers:
        for record in run.records(broker.id, b'"event":"sent"'):
            total = totals.get(record.variant)
            if total is not None and record.kind == Kind.PUBLISH.word and (record.id or "").startswith(prefix):
                total[0] += record.queue or 0
                total[1] += 1
    before, after = (total / sent if sent else None for total, sent in totals.values())
    return Measurement(values=(after / before - 1 if before and after is not None else None,))


def timely_share(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Share of timely notifications, under IDR and under SPR."""
    spr, idr, _, _ = _bursts(run, recipe)
    return Measurement(values=(idr.timely, spr.timely))


def delay(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean delay, OctopiA (SPR and IDR) over PADRES (TID-S and TID-D), minus 1."""
    spr, idr, static, dynamic = (burst.mean_delay for burst in _bursts(run, recipe))
    return Measurement(values=((spr + idr) / (static + dynamic) - 1,))


def dynamic_delay(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean delay, TID-D over TID-S, minus 1."""
    _, _, static, dynamic = (burst.mean_delay for burst in _bursts(run, recipe))
    return Measurement(values=(dynamic / static - 1,))


def idle_penalty(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean delay without congestion, SPR over IDR and TID-S over TID-D, each minus 1 (figure 13)."""
    means = []
    for variant in _variants(run):
        delays = [row.delay_ms or 0.0 for row in variant.notifications]
        if not delays:
            return Measurement(values=(None, None))
        means.append(fmean(delays))
    spr, idr, static, dynamic = means
    return Measurement(values=(spr / idr - 1, static / dynamic - 1))


def _bursts(run: MeasuredRun, recipe: Recipe) -> Sequence[MeasuredBurst]:
    (published,) = recipe.arguments
    for variant in _variants(run):
        if not variant.notifications:
            raise ClaimsError(f"{run.directory}: variant {variant.name}: no client was notified of any publication")
    return [MeasuredBurst(variant, published) for variant in _variants(run)]


def _variants(run: MeasuredRun) -> Sequence[MeasuredVariant]:
    """SPR, IDR, TID-S and TID-D. Raises `ClaimsError` where one is missing."""
    named = {variant.name: variant for variant in run.variants}
    wanted = ("SPR", "IDR", "TID-S", "TID-D")
    if missing := [name for name in wanted if name not in named]:
        raise ClaimsError(f"{run.directory}: no variant {missing[0]}; there are {', '.join(named)}")
    return [named[name] for name in wanted]
