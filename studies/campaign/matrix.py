"""`summary.json` of a campaign: one entry for each combination of factors, schedule and variant, over all seeds.

It holds no time of day, no path and no host, so that the same results give the same bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from analysis.claims.estimates import SeedEstimate, estimate
from analysis.pipeline.delivery import overall
from analysis.tables.delivery_figures import DeliveryFigures
from analysis.tables.power import Power
from analysis.tables.structs import struct_from
from analysis.tables.summary import CORRECT
from analysis.tables.variant_figures import VariantFigures
from record.fidelity import FidelityVerdict, worst
from record.files import replace_file
from record.manifest import ChosenDilation
from studies.campaign.result import CampaignResult
from studies.cells.attempt import Attempt, counted_attempt

FORMAT = 2
"""The version of the schema, which grows when a field changes its meaning or is removed."""


class SeedSpread(msgspec.Struct, frozen=True, kw_only=True):
    """A value over the cells of an entry that have one."""

    count: int
    mean: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float | None]) -> SeedSpread | None:
        """The spread of the known values; None if there are none."""
        known = [value for value in values if value is not None]
        if not known:
            return None
        return cls(count=len(known), mean=sum(known) / len(known), least=min(known), most=max(known))


class MatrixEntry(DeliveryFigures, frozen=True, kw_only=True):
    """One field of the matrix, with the counts of all its cells together."""

    factors: dict[str, Any]
    variant: str
    """The variant's name; `base` if the scenario itself varies nothing."""
    schedule: str
    struck: list[str]
    """The brokers and links that faults struck in any cell: `kill B3`, whatever role chose them."""
    cells: int
    """Number of seeds that were run."""
    correct: int
    """Number of cells with correct delivery."""
    defects: list[str]
    """All defects of the other cells."""
    power: Power
    """The power of the verdicts of all cells together."""
    fidelity: dict[str, int]
    """Number of cells by verdict."""
    mean_ms: SeedSpread | None
    """Mean delays of first notifications in milliseconds, by cell."""
    p95_ms: SeedSpread | None
    faults: int
    """Number of faults that took effect in all cells."""
    not_recovered: int
    """Number of these without a recovery time: they were not healed, or no notification before them served as a
    reference."""
    recovered_s: SeedSpread | None
    """Seconds from a fault's end until delivery was as before it, by fault; the following delays are by fault, too."""
    delay_before_ms: SeedSpread | None
    delay_during_ms: SeedSpread | None
    delay_after_ms: SeedSpread | None
    delivery_ratio: SeedEstimate | msgspec.UnsetType = msgspec.UNSET
    """The mean of the seeds' delivery ratios, with Student's interval over the seeds; only of a protocol that promises
    best effort."""


class CellLine(msgspec.Struct, frozen=True, kw_only=True):
    """One cell: its result and the number of attempts."""

    attempts: int
    result: CampaignResult
    further: list[CampaignResult] | msgspec.UnsetType = msgspec.UNSET
    """The results of the other attempts at the cell, in order, which no figure includes; not set for a single
    attempt."""


class CampaignSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The campaign as far as it was run."""

    format: int = FORMAT
    name: str
    description: str
    fingerprint: str
    planned: int
    """Number of planned cells."""
    done: int
    delivery: list[str]
    """The verdicts of all cells together: only `correct` if every cell is."""
    fidelity: str
    """The worst of all cells."""
    matrix: list[MatrixEntry]
    cells: list[CellLine]
    dilation: ChosenDilation | msgspec.UnsetType = msgspec.UNSET
    """The time dilation of all cells, where rehearsals chose it."""


def line_of(attempts: Sequence[Attempt[CampaignResult]], result: CampaignResult) -> CellLine:
    """The line of a cell that is done, given all attempts at it."""
    counted = counted_attempt(attempts) if attempts else None
    further = [attempt.result for attempt in attempts if attempt is not counted]
    return CellLine(attempts=len(attempts), result=result, further=further or msgspec.UNSET)


def summarise(
    name: str,
    description: str,
    fingerprint: str,
    planned: int,
    lines: Sequence[CellLine],
    *,
    dilation: ChosenDilation | msgspec.UnsetType = msgspec.UNSET,
) -> CampaignSummary:
    """Summarises the cells that are done, in the campaign's order."""
    results = [line.result for line in lines]
    return CampaignSummary(
        name=name,
        description=description,
        fingerprint=fingerprint,
        planned=planned,
        done=len(results),
        delivery=overall(result.delivery for result in results),
        fidelity=worst(FidelityVerdict(result.fidelity) for result in results),
        matrix=_matrix(results),
        cells=list(lines),
        dilation=dilation,
    )


def write_summary(summary: CampaignSummary, directory: Path) -> None:
    """Replaces the campaign's `summary.json` in one step, in canonical bytes."""
    content = msgspec.json.format(msgspec.json.encode(summary, order="sorted"), indent=2)
    replace_file(directory / "summary.json", content + b"\n")


def _matrix(results: Sequence[CampaignResult]) -> list[MatrixEntry]:
    grouped: dict[tuple[str, str, str], list[tuple[CampaignResult, VariantFigures]]] = {}
    for result in results:
        for variant in result.variants:
            key = (json.dumps(result.factors, sort_keys=True), variant.name, result.schedule)
            grouped.setdefault(key, []).append((result, variant))
    return [_entry(cells) for cells in grouped.values()]


def _entry(cells: Sequence[tuple[CampaignResult, VariantFigures]]) -> MatrixEntry:
    first, _ = cells[0]
    variants = [variant for _, variant in cells]
    faults = [fault for variant in variants for fault in variant.faults]
    return struct_from(
        MatrixEntry,
        DeliveryFigures.total(variants),
        factors=first.factors,
        variant=variants[0].name,
        schedule=first.schedule,
        struck=sorted({name for result, _ in cells for name in result.struck}),
        cells=len(cells),
        correct=sum(variant.delivery == [CORRECT] for variant in variants),
        defects=sorted({defect for variant in variants for defect in variant.delivery} - {CORRECT}),
        power=Power.total(variant.power for variant in variants),
        fidelity=dict(sorted(Counter(variant.fidelity for variant in variants).items())),
        mean_ms=SeedSpread.of(variant.mean_ms for variant in variants),
        p95_ms=SeedSpread.of(variant.p95_ms for variant in variants),
        faults=len(faults),
        not_recovered=sum(fault.recovered_s is None for fault in faults),
        recovered_s=SeedSpread.of(fault.recovered_s for fault in faults),
        delay_before_ms=SeedSpread.of(fault.delay_before_ms for fault in faults),
        delay_during_ms=SeedSpread.of(fault.delay_during_ms for fault in faults),
        delay_after_ms=SeedSpread.of(fault.delay_after_ms for fault in faults),
        delivery_ratio=estimate(_known(variant.delivery_ratio) for variant in variants) or msgspec.UNSET,
    )


def _known(ratio: float | msgspec.UnsetType | None) -> float | None:
    return None if ratio is msgspec.UNSET else ratio
