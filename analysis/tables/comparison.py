"""The comparison of a run's variants, as `summary.json` has it: the same seed gives the same workload, so their
notifications pair up."""

from __future__ import annotations

import msgspec

from analysis.tables.estimates import SampleEstimate
from analysis.tables.totals import Sum
from record.figures import DifferenceVerdict

EXPLAINS = 0.5
"""Least share of a difference that counts as its cause."""


class RelievedLink(msgspec.Struct, frozen=True, kw_only=True):
    """The direction of a link whose output queue cost the reference more time than any other."""

    source: str
    target: str
    reference_publications: int
    """Publications that the link carried under the reference."""
    variant_publications: int
    """Publications that the link carried under the variant: at least a tenth fewer."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Mean delay of `variant` against `reference`, over pairs of the same publication and client."""

    reference: str
    """The first variant."""
    variant: str
    """The other variant; of several, the one with the least mean delay relative to the reference."""
    candidates: int = 1
    """The number of variants that `variant` was chosen from."""
    pairs: int
    """Notifications of the same publication to the same client that both variants delivered."""
    reference_mean_ms: float | None
    variant_mean_ms: float | None
    relative_difference: float | None
    """variant mean / reference mean - 1: -0.2 is a fifth less delay. Null without pairs."""
    interval: tuple[float, float] | None
    """95% interval of the relative difference, by a block bootstrap over whole blocks of five seconds; null below
    five. With several candidates it is wider, so that it holds for all of them together (Bonferroni)."""
    queueing_share: float | None = None
    """Share of the difference of the means that was spent in output queues; null unless both variants have the same
    overlay and as many publications, and the logs hold the paths of their notifications."""
    relieved: RelievedLink | None = None
    """The link that the variant's publications went round; null where none was, or `queueing_share` is null or under a
    half."""
    verdict: DifferenceVerdict | msgspec.UnsetType = msgspec.UNSET
    """The effect of contention on the relative difference; not set without pairs."""

    @property
    def difference(self) -> SampleEstimate | None:
        """The relative difference with its interval; None without pairs."""
        return None if self.relative_difference is None else SampleEstimate(self.relative_difference, self.interval)

    @property
    def beyond_chance(self) -> bool:
        """True when the interval excludes zero."""
        return self.difference is not None and self.difference.beyond_chance

    @property
    def because_of_queues(self) -> bool:
        """True when time in output queues accounts for the difference."""
        return self.queueing_share is not None and self.queueing_share >= EXPLAINS


class DelayBlock(msgspec.Struct):
    """Pairs whose publication was intended in the same block of the reference's run: sums of delays, ns."""

    compared: int
    """The variant that is compared with the first, by its position among them."""
    number: int
    """Number of the block."""
    pairs: Sum = 0
    reference: Sum = 0
    variant: Sum = 0
