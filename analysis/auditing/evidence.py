"""The facts that were read of one variant of a run, from which its audit is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from analysis.judging.journeys.causes import CauseTally
from analysis.judging.journeys.issued import IssueTally
from analysis.reading.log_tally import LogTally
from record.manifest import VariantRecord
from topology.model import Overlay


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Facts about one variant, in the scenario's time."""

    number: int
    """Of the variant, in the manifest; tallies name it by this."""
    variant: VariantRecord
    scenario: Mapping[str, object]
    """As resolved, before the variant's settings."""
    overlay: Overlay
    """That was asked for, as it was at the start."""
    logs: LogTally
    """Of all variants."""
    causes: CauseTally = field(default_factory=CauseTally)
    issued: IssueTally = field(default_factory=IssueTally)
    """Of all variants, as the former."""
