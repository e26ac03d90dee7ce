"""The facts about a run's variants by which its delays are cut into parts, read from its manifest."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, UnsetType

from analysis.auditing.hops.asked import AskedVariant
from analysis.auditing.request import brokers_of
from analysis.budget.variant import AtRest, BudgetedVariant, Latency
from analysis.reading.intervals import Intervals
from record.host_speed import HostSpeed
from record.manifest import ChargedCosts, Manifest, VariantRecord
from record.service_time import ServiceTime


def budgeted(
    manifest: Manifest, number: int, asked: AskedVariant, full_sessions: Mapping[str, Intervals] | None = None
) -> BudgetedVariant:
    """One variant, given the times in which slow readers' sessions were full, by broker."""
    variant = manifest.variants[number]
    brokers = brokers_of(manifest, variant)
    charged = manifest.at_rest if manifest.calibration is UNSET else manifest.calibration
    return BudgetedVariant(
        asked=asked,
        rest=_rest(charged, manifest.speeds.get("", UNSET), variant),
        rest_on={host.name: _rest(charged, host.speed, variant) for host in manifest.hosts},
        service=ServiceTime() if brokers is None else brokers.work(),
        sending=variant.sending_order,
        acknowledged_singly=brokers is not None and brokers.limits.window == 1,
        modelled=charged is not UNSET,
        simulated=manifest.calibration is not UNSET,
        run_start=variant.run_start,
        full_sessions=full_sessions or {},
    )


def _rest(charged: ChargedCosts | UnsetType, speed: HostSpeed | UnsetType, variant: VariantRecord) -> AtRest:
    """The costs of a variant on a host of some speed."""
    if charged is UNSET:
        return AtRest()
    return at_rest(charged, UNSET if speed is UNSET else speed.factor, variant.time_dilation)


def at_rest(charged: ChargedCosts, factor: float | UnsetType, dilation: float) -> AtRest:
    """The costs of a calibration on the run's host, in the scenario's time."""
    scale = (1.0 if factor is UNSET else factor) / dilation
    submit, link, notify = (
        Latency(tuple(round(time * scale) for time in times))
        for times in (charged.submit, charged.link, charged.notify)
    )
    return AtRest(
        submit=submit,
        link=link,
        notify=notify,
        frame=round(charged.frame * scale),
        work={kind: round(time * scale) for kind, time in charged.work.items()},
        factor=factor,
    )
