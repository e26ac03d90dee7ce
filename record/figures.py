"""The verdict on a figure of delays: whether it is the overlay's, or that of the host on which the overlay ran.

1. *Contention* is judged by what it did to the figure: the figure less that of a replay of the log without contention.
2. *The unexplained* is judged apart from it, by its absolute value, so that neither makes up for the other.
3. Both are judged relative to the figure (`LIMITS`), because 20 ms are nothing to a delay of 2 s and all of one of
   20 ms. The worse of both counts.
4. Where no replay is to be had, contention lies between two bounds. If both have the same verdict, that is it; if not,
   the figure's verdict is not known, and the run needs care (DEGRADED).
5. Simulated brokers wait for no processor, so the figures of a simulated run are VALID.
6. A difference between two figures is held against the difference that both have without contention. It is VALID where
   contention makes little of it, and INVALID where contention can explain most of it, or its direction.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import msgspec

from record.fidelity import Check, FidelityVerdict, worst


class Figure(enum.StrEnum):
    """A figure of the delays of a variant's first notifications."""

    MEAN = "mean"
    P50 = "p50"
    P95 = "p95"
    P99 = "p99"

    @property
    def in_words(self) -> str:
        return {
            Figure.MEAN: "mean delay",
            Figure.P50: "median delay",
            Figure.P95: "95th percentile of the delay",
            Figure.P99: "99th percentile of the delay",
        }[self]


@dataclass(frozen=True, slots=True)
class FigureLimits:
    """Shares of a figure beyond which it is DEGRADED and INVALID."""

    degraded: float
    invalid: float

    def verdict(self, share: float) -> FidelityVerdict:
        if share > self.invalid:
            return FidelityVerdict.INVALID
        return FidelityVerdict.DEGRADED if share > self.degraded else FidelityVerdict.VALID


_OF_MOST = FigureLimits(degraded=0.10, invalid=0.50)
# Single notifications decide a percentile of the tail, which differs by a tenth between runs on idle hosts.
_OF_FEW = FigureLimits(degraded=0.25, invalid=0.50)
# Beyond half, a figure says more of the host than of the overlay.
LIMITS: Mapping[Figure, FigureLimits] = {
    Figure.MEAN: _OF_MOST,
    Figure.P50: _OF_MOST,
    Figure.P95: _OF_FEW,
    Figure.P99: _OF_FEW,
}
"""The limits of each figure, for its contention and for its unexplained part alike."""

JUDGED_LATER = Check(
    name="figures of delays",
    value=None,
    unit="%",
    limit=None,
    verdict=FidelityVerdict.VALID,
    detail="not judged yet: `brokerlab analyze` judges them by their budget",
)
"""Stands for the verdicts on figures in `fidelity.json`, which is written before a run is analysed."""


@dataclass(frozen=True, slots=True)
class Contention:
    """Bounds, in milliseconds, of what contention did to a figure; both are the same where it is known."""

    least: float
    most: float
    unknown: str = ""
    """The reason why it is not known, as a clause."""

    @classmethod
    def known(cls, milliseconds: float) -> Contention:
        return cls(milliseconds, milliseconds)


class FigureVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of delays, and whether it holds."""

    figure: Figure
    value_ms: float
    contention_ms: float | None
    """The effect of contention: the figure less that of the replay without it. Null where it is not known."""
    unexplained_ms: float | None
    """The mean, by absolute value, of what nothing explains: of all notifications for the mean delay, of those that
    took about as long for a percentile. Null where it is not known."""
    verdict: FidelityVerdict | None
    """Null where it is not known."""
    counts: bool
    """True where the verdict on the run rests on it: the mean, and what `expect.valid` names."""
    reason: str = ""
    """The reason why it is not VALID."""
    remedy: str = ""
    """The remedy for contention beyond the limits; the same for all figures of a variant."""
    host: str | msgspec.UnsetType = msgspec.UNSET
    """The host with the most contention, of several; empty where that is not known, and not set where one host had all
    of the run."""

    @property
    def share(self) -> float | None:
        """The share of the figure that is contention or unexplained, whichever is more. None where neither is known."""
        parts = [abs(part) for part in (self.contention_ms, self.unexplained_ms) if part is not None]
        return share_of(max(parts), self.value_ms) if parts else None

    @property
    def check(self) -> Check:
        """The verdict as one of the checks on the run; a figure of which nothing is known needs care."""
        return Check(
            name=self.figure.in_words,
            value=None if self.share is None else 100 * self.share,
            unit="%",
            limit=100 * LIMITS[self.figure].degraded,
            verdict=FidelityVerdict.DEGRADED if self.verdict is None else self.verdict,
            detail=": ".join(filter(None, (self.reason or self._parts_in_words(), self.remedy))),
        )

    def _parts_in_words(self) -> str:
        parts = ((self.contention_ms, "by contention"), (self.unexplained_ms, "that nothing explains"))
        known = "".join(f", {abs(part):,.1f} {name}" for part, name in parts if part is not None)
        return f"{self.value_ms:,.1f} ms{known}"

    @property
    def of_starved_brokers(self) -> bool:
        """True where contention alone makes it INVALID."""
        share = share_of(self.contention_ms or 0.0, self.value_ms)
        return LIMITS[self.figure].verdict(share) is FidelityVerdict.INVALID


def whose(host: str | msgspec.UnsetType) -> str:
    """The owner of contention, by `FigureVerdict.host`."""
    if host is msgspec.UNSET:
        return "this host's"
    return f"the hosts', mostly {host}'s" if host else "the hosts'"


class DifferenceVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a relative difference between two figures."""

    without_contention: float | None
    """The difference that both figures have without contention. Null where it is not known."""
    unexplained: float | None
    """The larger of the parts of both figures that nothing explains, as a share of its figure. Null where it is not
    known."""
    verdict: FidelityVerdict | None
    """Null where it is not known."""


def judge_figure(
    figure: Figure, value_ms: float, contention: Contention, unexplained_ms: float | None
) -> FidelityVerdict | None:
    """The verdict on a figure of real brokers; None where it is not known."""
    limits = LIMITS[figure]
    bounds = {limits.verdict(share_of(abs(bound), value_ms)) for bound in (contention.least, contention.most)}
    rest = FidelityVerdict.VALID if unexplained_ms is None else limits.verdict(share_of(unexplained_ms, value_ms))
    found = worst([min(bounds, key=lambda verdict: verdict.severity), rest])
    return found if len(bounds) == 1 or found is FidelityVerdict.INVALID else None


def judge_difference(
    difference: float, first: FigureVerdict, second: FigureVerdict, *, beyond_chance: bool
) -> DifferenceVerdict:
    """The verdict on a relative difference of a figure of two variants or runs.

    Of a difference that may be chance, contention must not hide more than the figure's limits: it is held against these
    as it stands, and not relative to the difference.
    """
    unexplained = [share_of(found.unexplained_ms or 0.0, found.value_ms) for found in (first, second)]
    known = first.unexplained_ms is not None and second.unexplained_ms is not None
    without, verdict = _without_contention(difference, first, second), None
    if without is not None:
        change = abs(difference - without)
        verdict = LIMITS[first.figure].verdict(share_of(change, abs(difference)) if beyond_chance else change)
    return DifferenceVerdict(
        without_contention=without, unexplained=max(unexplained) if known else None, verdict=verdict
    )


def _without_contention(difference: float, first: FigureVerdict, second: FigureVerdict) -> float | None:
    """The difference that is left; None also where contention is all of the first figure."""
    if first.contention_ms is None or second.contention_ms is None:
        return None
    of_first, of_second = share_of(first.contention_ms, first.value_ms), share_of(second.contention_ms, second.value_ms)
    if of_first == of_second:
        return difference
    return None if of_first >= 1 else (1 + difference) * (1 - of_second) / (1 - of_first) - 1


def share_of(part: float, whole: float) -> float:
    """A part as a share of a figure; that of nothing is nothing."""
    if not part:
        return 0.0
    return part / whole if whole else inf
