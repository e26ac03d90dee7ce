"""The result of a campaign's cell: the verdicts and the numbers in the campaign's report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.tables.limits import LimitOutcome, LimitVerdict
from analysis.tables.variant_figures import VariantFigures
from record.wording import count_of
from studies.cells import CellResult

_DOUBTS_SHOWN = 2
_STRUCK_SHOWN = 4
"""Brokers and links that a line or a row names at most."""


class CampaignResult(CellResult, frozen=True, kw_only=True):
    """The result of one cell of a campaign."""

    key: str
    factors: dict[str, Any]
    """The factors' values by dotted path."""
    schedule: str
    seed: int
    variants: list[VariantFigures]

    @property
    def limits(self) -> list[tuple[str, LimitVerdict]]:
        """The verdicts on the limits of all variants, each with its variant's name."""
        return [(variant.name, limit) for variant in self.variants for limit in variant.limits or ()]

    @property
    def broker_defects(self) -> list[str]:
        """The sentences on brokers whose own code failed, of all variants."""
        return [sentence for variant in self.variants for sentence in variant.broker_defects or ()]

    def has_limit(self, outcome: LimitOutcome) -> bool:
        """True when a limit of any variant has this outcome."""
        return any(limit.outcome is outcome for _, limit in self.limits)

    @property
    def passed(self) -> bool:
        return self.correct and not self.has_limit(LimitOutcome.MISSED)

    @property
    def struck(self) -> list[str]:
        """The brokers and links that faults struck, by kind: `kill B3`, whatever role chose them."""
        named = {f"{fault.kind} {' '.join(fault.what)}" for variant in self.variants for fault in variant.faults}
        return sorted(named)

    @property
    def outcome(self) -> str:
        """The faults by name, the verdicts, the longest recovery, and the number of missed limits."""
        times = [fault.recovered_s for variant in self.variants for fault in variant.faults]
        slowest = max((time for time in times if time is not None), default=None)
        recovered = "" if slowest is None else f"; recovered within {slowest:.1f} s"
        named = struck_in_words(self.struck)
        struck = f"{named}: " if named else ""
        missed = sum(limit.outcome is LimitOutcome.MISSED for _, limit in self.limits)
        limits = f"; {missed} of {count_of(len(self.limits), 'limit')} missed" if missed else ""
        return f"{struck}{', '.join(self.delivery)}; {self.fidelity}{recovered}{limits}"

    @property
    def doubts(self) -> list[str]:
        """The first reasons why the cell is not VALID."""
        return [reason for variant in self.variants for reason in variant.reasons][:_DOUBTS_SHOWN]


def struck_in_words(struck: Sequence[str]) -> str:
    """The brokers and links that faults struck, as `kill B1, B2`; empty where there are too many to name."""
    if len(struck) > _STRUCK_SHOWN:
        return ""
    by_kind: dict[str, list[str]] = {}
    for kind, _, names in (name.partition(" ") for name in struck):
        by_kind.setdefault(kind, []).append(names)
    return "; ".join(f"{kind} {', '.join(names)}" for kind, names in by_kind.items())
