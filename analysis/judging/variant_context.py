"""The context of a variant in which stage 3 judges its deliveries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.judging.evidence.excuses import Evidence
from analysis.judging.evidence.lost_ranges import LostRanges
from analysis.judging.histories.faults import FaultTimes
from record.promises import Promises

SessionBreaks = Mapping[str, Sequence[int]]
"""Times at which a client's sessions broke, in ascending order, by client."""


@dataclass(frozen=True, slots=True)
class VariantFaults:
    """The faults of a variant, against which its notifications are counted."""

    times: FaultTimes = field(default_factory=FaultTimes)
    late_from: Sequence[int | None] = ()
    """Delay above which a notification is late, for each fault, nanoseconds."""


@dataclass(frozen=True, slots=True)
class VariantContext:
    """The facts about a variant that its deliveries are judged against."""

    name: str
    run_start: int | None
    promises: Promises
    faults: VariantFaults
    session_breaks: SessionBreaks
    """Only of clients whose sessions broke, and only where routing promises to be gapless."""
    lost_ranges: LostRanges
    """Only where routing promises to tell clients of what it gives up."""
    evidence: Evidence
    """Evidence by which losses are excused."""
    brokers_log: bool = True
    """False for brokers of others that keep no logs."""
