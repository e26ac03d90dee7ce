"""The figures of a variant by which runs are compared: those of a campaign's cell, and those behind its verdicts."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from analysis.tables.delivery_figures import DeliveryFigures
from analysis.tables.limits import LimitVerdict
from analysis.tables.power import Power
from analysis.tables.structs import struct_from
from analysis.tables.summary import BROKER_DEFECT, VariantSummary
from analysis.tables.timeline import Fault


class VariantFigures(DeliveryFigures, frozen=True, kw_only=True):
    """One variant of a scenario; a scenario that varies nothing has one."""

    name: str
    delivery: list[str]
    """Verdicts of the delivery oracle."""
    power: Power
    """Share of the owed notifications that the verdicts rest on."""
    fidelity: str
    """The verdict on fidelity; UNKNOWN if it was not judged."""
    reasons: list[str]
    """The reasons why the variant is not VALID."""
    mean_ms: float | None
    """Mean delay of first notifications in milliseconds; the next three fields are its percentiles."""
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    faults: list[Fault]
    """Faults that took effect."""
    delivery_ratio: float | msgspec.UnsetType | None = msgspec.UNSET
    """Share of the due notifications that came, of a protocol that promises best effort; null where nothing was due."""
    limits: list[LimitVerdict] | msgspec.UnsetType = msgspec.UNSET
    """The verdicts on the limits of `expect`; only where it gives any."""
    broker_defects: list[str] | msgspec.UnsetType = msgspec.UNSET
    """A sentence on each broker whose own code failed: which call, and which line; only where one did."""

    @classmethod
    def of(cls, variant: VariantSummary, reasons: Sequence[str]) -> VariantFigures:
        """The figures in the summary of a run, which does not hold the reasons."""
        best_effort = variant.delivery.best_effort
        defects = [example.sentence for example in variant.delivery.examples if example.defect == BROKER_DEFECT]
        return struct_from(
            cls,
            variant.delivery,
            variant.delay,
            variant,
            delivery=variant.delivery.verdicts,
            reasons=list(reasons),
            broker_defects=defects or msgspec.UNSET,
            delivery_ratio=best_effort if best_effort is msgspec.UNSET else best_effort.ratio,
        )
