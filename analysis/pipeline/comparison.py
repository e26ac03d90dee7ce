"""The comparison of a run's variants, with the cause of a difference as far as the logs show it.

A difference is put down to output queues when the time that notifications spent in them accounts for at least half of
it. It is put down to a busy link when, besides, the link direction in whose queue messages of the reference spent the
most time in all carried at least a tenth fewer publications under the variant. Neither is claimed of variants that
have different overlays or numbers of publications, because links then carry less for other reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from analysis.pipeline.stages import Findings
from analysis.run_files.run_directory import RunDirectory
from analysis.tables.comparison import Comparison, RelievedLink, compare_with_first
from analysis.tables.summary import Delay, VariantSummary
from analysis.tables.traffic import LinkLoad
from record.figures import Figure, judge_difference

_FEWER = 0.9
"""Largest share of the reference's publications that a relieved link may still carry."""


def comparison_of(run: RunDirectory, findings: Findings, variants: Sequence[VariantSummary]) -> Comparison | None:
    """The fastest of the other variants against the first; None for a single variant."""
    if len(variants) < 2:
        return None
    compared = compare_with_first(
        [variant.name for variant in variants], findings.publications.blocks, run.manifest.seed
    )
    by_name = {variant.name: variant for variant in variants}
    reference, variant = by_name[compared.reference], by_name[compared.variant]
    compared = judged_comparison(compared, reference.delay, variant.delay)
    alike = (
        run.overlays[reference.name] == run.overlays[variant.name]
        and reference.delivery.published == variant.delivery.published
    )
    if not alike:
        return compared
    share = queueing_share(compared, reference.delay, variant.delay)
    compared = msgspec.structs.replace(compared, queueing_share=share)
    if not compared.because_of_queues:
        return compared
    links = findings.traffic.links()
    relieved = relieved_link(
        [row for row in links if row.variant == reference.name],
        [row for row in links if row.variant == variant.name],
    )
    return msgspec.structs.replace(compared, relieved=relieved)


def judged_comparison(compared: Comparison, reference: Delay, variant: Delay) -> Comparison:
    """The comparison with what contention did to it, by what it did to the means of both variants."""
    first, second = reference.of(Figure.MEAN), variant.of(Figure.MEAN)
    if compared.relative_difference is None or first is None or second is None:
        return compared
    verdict = judge_difference(compared.relative_difference, first, second, beyond_chance=compared.beyond_chance)
    return msgspec.structs.replace(compared, verdict=verdict)


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
