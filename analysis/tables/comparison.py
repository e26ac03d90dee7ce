"""Paired comparison of a run's first variant with another: the same seed gives the same workload, so their
notifications pair up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

import msgspec
import numpy as np

from analysis.run_files.blocks import FEWEST_BLOCKS
from analysis.tables.totals import Sum
from record.figures import DifferenceVerdict
from record.time_units import MILLISECOND

RESAMPLES = 2000
CONFIDENCE = 0.95
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
    def because_of_queues(self) -> bool:
        """True when time in output queues accounts for the difference."""
        return self.queueing_share is not None and self.queueing_share >= EXPLAINS

    @property
    def beyond_chance(self) -> bool:
        """True when the interval excludes zero."""
        return self.interval is not None and (self.interval[0] > 0 or self.interval[1] < 0)


class DelayBlock(msgspec.Struct):
    """Pairs whose publication was intended in the same block of the reference's run: sums of delays, ns."""

    compared: int
    """The variant that is compared with the first, by its position among them."""
    number: int
    """Number of the block."""
    pairs: Sum = 0
    reference: Sum = 0
    variant: Sum = 0


def compare(reference: str, variant: str, blocks: Sequence[DelayBlock], seed: int, candidates: int = 1) -> Comparison:
    """The comparison of two variants from their blocks in order; `seed` fixes the resampling."""
    pairs = sum(block.pairs for block in blocks)
    of_reference, of_variant = sum(block.reference for block in blocks), sum(block.variant for block in blocks)
    comparable = pairs > 0 and of_reference > 0
    sums = np.array([(block.reference, block.variant) for block in blocks], dtype=float)
    return Comparison(
        reference=reference,
        variant=variant,
        candidates=candidates,
        pairs=pairs,
        reference_mean_ms=of_reference / pairs / MILLISECOND if pairs else None,
        variant_mean_ms=of_variant / pairs / MILLISECOND if pairs else None,
        relative_difference=of_variant / of_reference - 1 if comparable else None,
        interval=_interval(sums, seed, candidates) if comparable and len(blocks) >= FEWEST_BLOCKS else None,
    )


def compare_with_first(variants: Sequence[str], blocks: Iterable[DelayBlock], seed: int) -> Comparison:
    """The comparison of the first variant with the fastest of the others, of which there must be one.

    `blocks` are those of all others, in order.
    """
    reference, *others = variants
    of: list[list[DelayBlock]] = [[] for _ in variants]
    for block in blocks:
        of[block.compared].append(block)
    compared = [
        compare(reference, name, of[position], seed, len(others)) for position, name in enumerate(others, start=1)
    ]
    return min(compared, key=lambda found: inf if found.relative_difference is None else found.relative_difference)


def _interval(sums: np.ndarray, seed: int, candidates: int) -> tuple[float, float]:
    random = np.random.default_rng(seed)
    chosen = random.integers(len(sums), size=(RESAMPLES, len(sums)))
    resampled = sums[chosen].sum(axis=1)
    differences = resampled[:, 1] / resampled[:, 0] - 1
    beyond = (1 - CONFIDENCE) / candidates / 2
    low, high = np.quantile(differences, [beyond, 1 - beyond])
    return float(low), float(high)
