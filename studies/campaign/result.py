"""The result of a cell: the verdicts and the numbers in the campaign's report.

A result holds no time of day, no path and no host, so that a simulated cell has the same bytes wherever it ran. The
cell's manifest lists its attempts with their hosts and times.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from analysis.tables.power import Power
from analysis.tables.structs import struct_from
from analysis.tables.summary import CORRECT, VariantSummary
from record.files import replace_file


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


class VariantResult(msgspec.Struct, frozen=True, kw_only=True):
    """One variant of the cell's scenario; a scenario that varies nothing has one."""

    name: str
    delivery: list[str]
    """Verdicts of the delivery oracle."""
    power: Power
    """Share of the owed notifications that the verdicts rest on."""
    fidelity: str
    reasons: list[str]
    """The reasons why the variant is not VALID."""
    published: int
    expected: int
    delivered: int
    excused: int
    lost: int
    duplicate: int
    spurious: int
    reordered: int
    mean_ms: float | None
    """Mean delay of first notifications in milliseconds; the next three fields are its percentiles."""
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    faults: list[FaultResult]
    delivery_ratio: float | msgspec.UnsetType | None = msgspec.UNSET
    """Share of the due notifications that came, of a protocol that promises best effort; null where nothing was due."""


class CellResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one cell."""

    key: str
    factors: dict[str, Any]
    """The factors' values by dotted path."""
    schedule: str
    seed: int
    fingerprint: str
    """Hash of the scenario that was run."""
    runtime: str
    delivery: list[str]
    """`correct` or `unjudged` alone, or the defects of all variants."""
    fidelity: str
    """The worst verdict of the variants."""
    variants: list[VariantResult]

    @property
    def correct(self) -> bool:
        return self.delivery == [CORRECT]


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


def encode(result: CellResult) -> bytes:
    """The canonical bytes of a result: the same for equal results."""
    return msgspec.json.format(msgspec.json.encode(result, order="sorted"), indent=2) + b"\n"


def decode(content: bytes) -> CellResult:
    """Raises `msgspec.DecodeError`."""
    return msgspec.json.decode(content, type=CellResult)


def write_result(result: CellResult, file: Path) -> None:
    """Replaces the file in one step."""
    replace_file(file, encode(result))
