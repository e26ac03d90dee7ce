"""The facts about a run's variants by which its delays are cut into parts, read from its manifest."""

from __future__ import annotations

from msgspec import UNSET

from analysis.auditing.hops.asked import AskedVariant
from analysis.auditing.request import service_time_of
from analysis.budget.variant import AtRest, BudgetedVariant, Latency
from record.manifest import ChargedCosts, Manifest
from record.service_time import ServiceTime


def budgeted(manifest: Manifest, number: int, asked: AskedVariant) -> BudgetedVariant:
    """One variant."""
    variant = manifest.variants[number]
    charged = manifest.at_rest if manifest.calibration is UNSET else manifest.calibration
    return BudgetedVariant(
        asked=asked,
        rest=AtRest() if charged is UNSET else at_rest(charged, variant.time_dilation),
        service=service_time_of(manifest, variant) or ServiceTime(),
        modelled=charged is not UNSET,
        simulated=manifest.calibration is not UNSET,
        run_start=variant.run_start,
    )


def at_rest(charged: ChargedCosts, dilation: float) -> AtRest:
    """The costs of a calibration in the scenario's time."""
    submit, link, notify = (
        Latency(tuple(round(time / dilation) for time in times))
        for times in (charged.submit, charged.link, charged.notify)
    )
    work = {kind: round(time / dilation) for kind, time in charged.work.items()}
    return AtRest(submit=submit, link=link, notify=notify, frame=round(charged.frame / dilation), work=work)
