"""The cells of a campaign: a scenario with chosen values, one fault schedule and one seed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from analysis.tables.audited import with_audit
from analysis.tables.summary import Summary
from analysis.tables.variant_figures import VariantFigures
from emulation.run.directory import RunOutcome
from studies.campaign.result import CampaignResult
from studies.cells import Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignCell(Cell[CampaignResult]):
    """One combination of factors, fault schedule and seed."""

    study = "campaign"

    factors: tuple[tuple[str, str], ...] = ()
    """Dotted paths and their values, as JSON."""
    schedule: str
    """The name of the fault schedule."""
    seed: int

    @property
    def settings(self) -> dict[str, Any]:
        """The factors' values by dotted path."""
        return {path: json.loads(value) for path, value in self.factors}

    def read(self, outcome: RunOutcome, summary: Summary, runtime: str) -> CampaignResult:
        """The verdicts and numbers of every variant."""
        audited = with_audit(outcome.fidelity, summary)
        reasons = {} if audited is None else {variant.name: variant.reasons for variant in audited.variants}
        return CampaignResult(
            key=self.key,
            factors=self.settings,
            schedule=self.schedule,
            seed=self.seed,
            fingerprint=self.fingerprint,
            runtime=runtime,
            delivery=summary.delivery,
            fidelity=summary.fidelity,
            variants=[VariantFigures.of(variant, reasons.get(variant.name, [])) for variant in summary.variants],
        )
