"""The part of a verdict that depends on complete logs: without them, a loss cannot be told from a missing record."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from analysis.auditing import COMPLETENESS
from analysis.judging.deliveries.counts import DeliveryCounts
from analysis.tables.reasons import Reason, total
from record.fidelity import Check, FidelityVerdict


def incomplete(checks: Iterable[Check]) -> list[str]:
    """The audits by which the logs of a variant lack records."""
    return [check.name for check in checks if check.name in COMPLETENESS and check.verdict is FidelityVerdict.INVALID]


def without_losses(counts: DeliveryCounts, reasons: Iterable[str]) -> DeliveryCounts:
    """Counts in which losses cannot be judged, for these reasons."""
    why = f"the logs are incomplete ({', '.join(reasons)})"
    return replace(counts, lost=0, not_judged=total(counts.not_judged, [Reason(why, counts.lost)]))
