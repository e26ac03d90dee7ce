"""The table `faults`, made of the per-fault counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.judging.fault_effects.baseline import Baseline, Baselines
from analysis.judging.fault_effects.counts import FaultCounts, FaultTally
from analysis.judging.histories.faults import FaultSpan, noticing
from analysis.judging.variant_context import VariantContext
from analysis.reading.intervals import FOREVER
from analysis.reading.log_events import NeighbourChange
from analysis.run_files.time_units import second_of
from analysis.tables.timeline import Fault
from record.time_units import SECOND


@dataclass(frozen=True, slots=True)
class FaultTables:
    """The counters that the table `faults` is made of."""

    variants: Sequence[VariantContext]
    baselines: Baselines
    tally: FaultTally
    changes: Sequence[NeighbourChange]

    def faults(self) -> list[Fault]:
        """The table `faults`: by variant, then in order of time."""
        rows, baselines = [], self.baselines.by_fault()
        for number, variant in enumerate(self.variants):
            if not variant.faults.times.faults:
                continue  # a mesh has a hundred thousand changes of neighbours, and nothing to explain by them
            changes = sorted(change for change in self.changes if change.variant == number)
            for index, fault in enumerate(variant.faults.times.faults):
                counts = self.tally.counts.of(number, index)
                rows.append(_row(variant, fault, baselines[number, index], counts, changes))
        return rows


def _row(
    variant: VariantContext,
    fault: FaultSpan,
    baseline: Baseline,
    counts: FaultCounts,
    changes: Sequence[NeighbourChange],
) -> Fault:
    healed = None if fault.healed == FOREVER else fault.healed
    noticed = noticing(fault, changes)
    comparable = baseline.late_from is not None
    recovered = counts.recovered(fault.healed, noticed.reconnected)
    return Fault(
        variant=variant.name,
        kind=fault.kind,
        what=list(fault.what),
        began_ns=fault.begin,
        healed_ns=healed,
        second=second_of(fault.begin, variant.run_start),
        duration_s=None if healed is None else (healed - fault.begin) / SECOND,
        noticed=noticed.neighbours if variant.brokers_log else None,
        detected_first_s=noticed.first,
        detected_last_s=noticed.last,
        reconnected_s=_since(healed, noticed.reconnected),
        recovered_s=_since(healed, recovered if comparable else None),
        publications=counts.publications,
        due=counts.due,
        late=counts.late if comparable else None,
        excused=counts.excused,
        lost=counts.lost,
        dropped=sum(drops.copies for drops in baseline.drops) if variant.brokers_log else None,
        late_shared=counts.late_shared if comparable else 0,
        excused_shared=counts.excused_shared,
        lost_shared=counts.lost_shared,
        dropped_shared=sum(drops.shared for drops in baseline.drops),
        drop_reasons=[drops.reason for drops in baseline.drops],
        drop_counts=[drops.copies for drops in baseline.drops],
        delay_before_ms=baseline.mean_ms,
        delay_during_ms=counts.during.milliseconds,
        delay_after_ms=counts.after.milliseconds,
    )


def _since(healed: int | None, time: int | None) -> float | None:
    """Seconds from `healed` to `time`; None where one of them is missing."""
    return None if healed is None or time is None else (time - healed) / SECOND
