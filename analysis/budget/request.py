"""The facts about a run's variants by which its delays are cut into parts, read from its manifest."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from analysis.auditing.hops.asked import AskedVariant
from analysis.auditing.request import service_time_of
from analysis.budget.variant import AtRest, BudgetedVariant, Latency
from record.host_speed import CostScale
from record.manifest import ChargedCosts, Manifest
from record.service_time import ServiceTime


def budgeted(manifest: Manifest, number: int, asked: AskedVariant) -> BudgetedVariant:
    """One variant."""
    variant = manifest.variants[number]
    charged = manifest.at_rest if manifest.calibration is UNSET else manifest.calibration
    return BudgetedVariant(
        asked=asked,
        rest=AtRest() if charged is UNSET else at_rest(charged, _scale(manifest), variant.time_dilation),
        service=service_time_of(manifest, variant) or ServiceTime(),
        modelled=charged is not UNSET,
        simulated=manifest.calibration is not UNSET,
        run_start=variant.run_start,
    )


def _scale(manifest: Manifest) -> CostScale | UnsetType:
    return UNSET if manifest.host_speed is UNSET else manifest.host_speed.scale


def at_rest(charged: ChargedCosts, scale: CostScale | UnsetType, dilation: float) -> AtRest:
    """The costs of a calibration on the run's host, in the scenario's time."""
    factors = CostScale() if scale is UNSET else scale
    submit, link, notify = (
        Latency(tuple(round(time * factors.platform / dilation) for time in times))
        for times in (charged.submit, charged.link, charged.notify)
    )
    return AtRest(
        submit=submit,
        link=link,
        notify=notify,
        frame=round(charged.frame * factors.work / dilation),
        work={kind: round(time * factors.work / dilation) for kind, time in charged.work.items()},
        scale=scale,
    )
