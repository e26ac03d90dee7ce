"""Paired comparison of a run's first variant with another: the same seed gives the same workload, so their
notifications pair up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

import msgspec
import numpy as np

from analysis.run_files.blocks import FEWEST_BLOCKS
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
    """Publications that it carried under the reference."""
    variant_publications: int
    """Publications that it carried under the variant: at least a tenth fewer."""


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

    @property
    def because_of_queues(self) -> bool:
        """True when time in output queues accounts for the difference."""
        return self.queueing_share is not None and self.queueing_share >= EXPLAINS

    @property
    def beyond_chance(self) -> bool:
        """True when the interval excludes zero."""
        return self.interval is not None and (self.interval[0] > 0 or self.interval[1] < 0)


class DelayBlock(NamedTuple):
    """Pairs whose publication was intended in the same block of the reference's run: sums of delays, ns."""

    pairs: int = 0
    reference: int = 0
    variant: int = 0

    def __add__(self, other: object) -> DelayBlock:
        if not isinstance(other, DelayBlock):
            return NotImplemented
        return DelayBlock(self.pairs + other.pairs, self.reference + other.reference, self.variant + other.variant)


def compare(
    reference: str, variant: str, blocks: Mapping[int, DelayBlock], seed: int, candidates: int = 1
) -> Comparison:
    """The comparison of two variants from their blocks, by number; `seed` fixes the resampling."""
    ordered = [blocks[number] for number in sorted(blocks)]
    total = sum(ordered, DelayBlock())
    comparable = total.pairs > 0 and total.reference > 0
    sums = np.array([block[1:] for block in ordered], dtype=float)
    return Comparison(
        reference=reference,
        variant=variant,
        candidates=candidates,
        pairs=total.pairs,
        reference_mean_ms=total.reference / total.pairs / MILLISECOND if total.pairs else None,
        variant_mean_ms=total.variant / total.pairs / MILLISECOND if total.pairs else None,
        relative_difference=total.variant / total.reference - 1 if comparable else None,
        interval=_interval(sums, seed, candidates) if comparable and len(ordered) >= FEWEST_BLOCKS else None,
    )


def compare_with_first(
    variants: Sequence[str], blocks: Mapping[int, Mapping[int, DelayBlock]], seed: int
) -> Comparison:
    """The comparison of the first variant with the fastest of the others.

    `blocks` are those of each other variant, by its position among `variants`. At least two variants must be there.
    """
    reference, *others = variants
    compared = [
        compare(reference, name, blocks.get(position, {}), seed, len(others))
        for position, name in enumerate(others, start=1)
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
