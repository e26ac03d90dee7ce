"""The result of a campaign's cell: the verdicts and the numbers in the campaign's report."""

from __future__ import annotations

from typing import Any

import msgspec

from analysis.tables.delivery_figures import DeliveryFigures
from analysis.tables.power import Power
from analysis.tables.structs import struct_from
from analysis.tables.summary import VariantSummary
from studies.cells import CellResult


class FaultResult(msgspec.Struct, frozen=True, kw_only=True):
    """One fault that took effect; its fields are those of the table `faults`."""

    kind: str
    what: list[str]
    second: int | None
    duration_s: float | None
    detected_last_s: float | None
    recovered_s: float | None
    late: int | None
    excused: int
    lost: int
    dropped: int
    delay_before_ms: float | None
    delay_during_ms: float | None
    delay_after_ms: float | None


class VariantResult(DeliveryFigures, frozen=True, kw_only=True):
    """One variant of the cell's scenario; a scenario that varies nothing has one."""

    name: str
    delivery: list[str]
    """Verdicts of the delivery oracle."""
    power: Power
    """Share of the owed notifications that the verdicts rest on."""
    fidelity: str
    reasons: list[str]
    """The reasons why the variant is not VALID."""
    mean_ms: float | None
    """Mean delay of first notifications in milliseconds; the next three fields are its percentiles."""
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    faults: list[FaultResult]
    delivery_ratio: float | msgspec.UnsetType | None = msgspec.UNSET
    """Share of the due notifications that came, of a protocol that promises best effort; null where nothing was due."""


_DOUBTS_SHOWN = 2


class CampaignResult(CellResult, frozen=True, kw_only=True):
    """The result of one cell of a campaign."""

    key: str
    factors: dict[str, Any]
    """The factors' values by dotted path."""
    schedule: str
    seed: int
    variants: list[VariantResult]

    @property
    def outcome(self) -> str:
        """The verdicts, and the longest recovery."""
        times = [fault.recovered_s for variant in self.variants for fault in variant.faults]
        slowest = max((time for time in times if time is not None), default=None)
        recovered = "" if slowest is None else f"; recovered within {slowest:.1f} s"
        return f"{', '.join(self.delivery)}; {self.fidelity}{recovered}"

    @property
    def doubts(self) -> list[str]:
        """The first reasons why the cell is not VALID."""
        return [reason for variant in self.variants for reason in variant.reasons][:_DOUBTS_SHOWN]


def variant_result(variant: VariantSummary, reasons: list[str]) -> VariantResult:
    """The part of a run's summary that a campaign compares."""
    best_effort = variant.delivery.best_effort
    return struct_from(
        VariantResult,
        variant.delivery,
        variant.delay,
        name=variant.name,
        delivery=variant.delivery.verdicts,
        fidelity=variant.fidelity,
        reasons=reasons,
        faults=[struct_from(FaultResult, fault) for fault in variant.faults],
        delivery_ratio=best_effort if best_effort is msgspec.UNSET else best_effort.ratio,
    )
