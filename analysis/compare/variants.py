"""The comparison of a run's variants, with the cause of a difference as far as the logs show it.

A difference is put down to output queues when the time that notifications spent in them accounts for at least half of
it. It is put down to a busy link when, besides, the link direction in whose queue messages of the reference spent the
most time in all carried at least a tenth fewer publications under the variant. Neither is claimed of variants that
have different overlays or numbers of publications, because links then carry less for other reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf

import msgspec

from analysis.compare.contention import judged_difference
from analysis.compare.resampling import paired_difference
from analysis.tables.comparison import Comparison, DelayBlock, RelievedLink
from analysis.tables.summary import Delay, VariantSummary
from analysis.tables.traffic import LinkLoad
from record.figures import Figure
from record.time_units import MILLISECOND
from topology.model import Overlay

_FEWER = 0.9
"""Largest share of the reference's publications that a relieved link may still carry."""


def compare_variants(
    variants: Sequence[VariantSummary],
    blocks: Iterable[DelayBlock],
    seed: int,
    *,
    overlays: Mapping[str, Overlay],
    links_of: Callable[[str], Sequence[LinkLoad]],
) -> Comparison | None:
    """The fastest of the other variants against the first; None for a single variant.

    `blocks` are those of all others, in order; `seed` fixes the resampling. `links_of` returns those of one
    variant.
    """
    if len(variants) < 2:
        return None
    compared = compare_with_first([variant.name for variant in variants], blocks, seed)
    by_name = {variant.name: variant for variant in variants}
    reference, variant = by_name[compared.reference], by_name[compared.variant]
    compared = _judged(compared, reference.delay, variant.delay)
    same_overlay = overlays[reference.name] == overlays[variant.name]
    if not same_overlay or reference.delivery.published != variant.delivery.published:
        return compared
    share = queueing_share(compared, reference.delay, variant.delay)
    compared = msgspec.structs.replace(compared, queueing_share=share)
    if not compared.because_of_queues:
        return compared
    relieved = relieved_link(links_of(reference.name), links_of(variant.name))
    return msgspec.structs.replace(compared, relieved=relieved)


def compare_with_first(variants: Sequence[str], blocks: Iterable[DelayBlock], seed: int) -> Comparison:
    """The comparison of the first variant with the fastest of the others, of which there must be one."""
    reference, *others = variants
    of: list[list[DelayBlock]] = [[] for _ in variants]
    for block in blocks:
        of[block.compared].append(block)
    compared = [
        compare_pairs(reference, name, of[position], seed, len(others)) for position, name in enumerate(others, start=1)
    ]
    return min(compared, key=lambda found: inf if found.relative_difference is None else found.relative_difference)


def compare_pairs(
    reference: str, variant: str, blocks: Sequence[DelayBlock], seed: int, candidates: int = 1
) -> Comparison:
    """The comparison of two variants from their blocks in order."""
    pairs = sum(block.pairs for block in blocks)
    found = paired_difference([(block.reference, block.variant) for block in blocks], seed, candidates)
    return Comparison(
        reference=reference,
        variant=variant,
        candidates=candidates,
        pairs=pairs,
        reference_mean_ms=sum(block.reference for block in blocks) / pairs / MILLISECOND if pairs else None,
        variant_mean_ms=sum(block.variant for block in blocks) / pairs / MILLISECOND if pairs else None,
        relative_difference=None if found is None else found.value,
        interval=None if found is None else found.interval,
    )


def _judged(compared: Comparison, reference: Delay, variant: Delay) -> Comparison:
    """The comparison with what contention did to it, by what it did to the means of both variants."""
    difference = compared.difference
    verdict = None if difference is None else judged_difference(difference, Figure.MEAN, reference, variant)
    return compared if verdict is None else msgspec.structs.replace(compared, verdict=verdict)


def queueing_share(compared: Comparison, reference: Delay, variant: Delay) -> float | None:
    """Share of the difference between the mean delays that is a difference of the time in output queues.

    None where there is no difference, or where the logs do not hold the paths.
    """
    reference_wait, variant_wait = _mean_wait_ms(reference), _mean_wait_ms(variant)
    difference = (compared.variant_mean_ms or 0.0) - (compared.reference_mean_ms or 0.0)
    if reference_wait is None or variant_wait is None or not difference:
        return None
    return (variant_wait - reference_wait) / difference


def _mean_wait_ms(delay: Delay) -> float | None:
    if delay.mean_ms is None or delay.queueing_share is None:
        return None
    return delay.mean_ms * delay.queueing_share


def relieved_link(reference: Iterable[LinkLoad], variant: Iterable[LinkLoad]) -> RelievedLink | None:
    """The direction whose queue cost the reference most, if it carried fewer publications under the variant."""
    busiest = max(reference, key=_waited_ms, default=None)
    if busiest is None or not _waited_ms(busiest):
        return None
    ends = busiest.source, busiest.target
    carried = sum(row.publications for row in variant if (row.source, row.target) == ends)
    if carried > _FEWER * busiest.publications:
        return None
    return RelievedLink(
        source=busiest.source,
        target=busiest.target,
        reference_publications=busiest.publications,
        variant_publications=carried,
    )


def _waited_ms(row: LinkLoad) -> float:
    """Time that all messages together spent in the queue."""
    return (row.mean_wait_ms or 0.0) * row.messages
