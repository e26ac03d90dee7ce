"""Both judgements of fidelity put together: the one made while the run lasted, and the one that the analysis makes."""

from __future__ import annotations

from msgspec import structs

from analysis.tables.summary import Summary, VariantSummary
from record.fidelity import Fidelity, FidelityVerdict, VariantFidelity, worst
from record.figures import JUDGED_LATER


def with_audit(judged: Fidelity | None, summary: Summary) -> Fidelity | None:
    """The verdicts of `fidelity.json` with the checks of the analysis added; the worst counts.

    A run that was not judged while it lasted is INVALID where its audit is, and stays without a verdict otherwise.
    """
    variants = [found for variant in summary.variants if (found := _audited(judged, variant)) is not None]
    if judged is None and not variants:
        return None
    verdicts = [variant.verdict for variant in variants]
    return Fidelity(verdict=worst(verdicts if judged is None else [judged.verdict, *verdicts]), variants=variants)


def _audited(judged: Fidelity | None, variant: VariantSummary) -> VariantFidelity | None:
    verdict = worst(check.verdict for check in variant.checks)
    of_run = None if judged is None else judged.of(variant.name)
    if of_run is not None:
        made = [check for check in of_run.checks if check != JUDGED_LATER]
        return structs.replace(of_run, checks=[*made, *variant.checks], verdict=worst([of_run.verdict, verdict]))
    if verdict is not FidelityVerdict.INVALID:
        return None
    return VariantFidelity(name=variant.name, verdict=verdict, checks=variant.checks)
