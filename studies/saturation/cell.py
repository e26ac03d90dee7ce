"""The cells of a search: one variant under one load, with one seed, and what makes it hold or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.run_files.run_directory import read_manifest
from analysis.tables.audited import with_audit
from analysis.tables.limits import LimitOutcome
from analysis.tables.results import read_table
from analysis.tables.summary import BROKER_DEFECT, CORRECT, UNJUDGED, Summary
from analysis.tables.traffic import QueueLength
from analysis.tables.variant_figures import VariantFigures
from emulation.run.directory import RunOutcome
from record.errors import ProtocolCodeError
from record.fidelity import FidelityVerdict
from scenario.loading import load_text
from studies.cells import Cell, CellResult
from studies.saturation.bisection import LoadOutcome
from studies.saturation.queues import QueueCourse


class SaturationResult(CellResult, frozen=True, kw_only=True):
    """The result of one load with one seed."""

    variant: str
    load: float
    seed: int
    figures: VariantFigures
    queues: QueueCourse
    messages: int
    """Messages that brokers sent to one another."""
    undrained: bool
    """True where messages were still on their way when the drain phase ended."""

    @property
    def reasons(self) -> list[str]:
        """The reasons why the load does not hold, as findings of a run that was judged."""
        return list(self._reasons())

    @property
    def doubts(self) -> list[str]:
        """The reasons why it was not judged; none where it was."""
        if self.load_outcome is not LoadOutcome.NOT_JUDGED:
            return []
        unjudged = (limit.in_words() for limit in self.figures.limits or () if limit.outcome is LimitOutcome.NOT_JUDGED)
        return [*self.figures.reasons, *unjudged] or [f"its fidelity is {self.fidelity}"]

    @property
    def load_outcome(self) -> LoadOutcome:
        """The outcome of the load with this seed. A finding comes before what was not judged."""
        if self.reasons:
            return LoadOutcome.FAILS
        unjudged = any(limit.outcome is LimitOutcome.NOT_JUDGED for limit in self.figures.limits or ())
        return LoadOutcome.NOT_JUDGED if unjudged or self._is_invalid else LoadOutcome.HOLDS

    @property
    def outcome(self) -> str:
        """The result in one line."""
        return f"{self.load_outcome}: {'; '.join(self.reasons)}" if self.reasons else str(self.load_outcome)

    @property
    def _is_invalid(self) -> bool:
        return self.fidelity not in (FidelityVerdict.VALID, FidelityVerdict.DEGRADED)

    def _reasons(self) -> Iterator[str]:
        defects = [verdict for verdict in self.figures.delivery if verdict != CORRECT]
        if defects and not (defects == [UNJUDGED] and self._is_invalid):
            yield ", ".join(defects)
        for limit in self.figures.limits or ():
            if limit.outcome is LimitOutcome.MISSED:
                yield limit.in_words()
        if self.undrained:
            yield "the drain phase was too short for what was on its way"
        if self.queues.grows:
            yield f"queues grow: {self.queues.middle:,.0f} messages waited in the middle, {self.queues.last:,.0f} later"


@dataclass(frozen=True, slots=True, kw_only=True)
class SaturationCell(Cell[SaturationResult]):
    """One variant under one load, with one seed."""

    study = "saturation"

    variant: str
    load: float
    seed: int

    def read(self, outcome: RunOutcome, summary: Summary, runtime: str) -> SaturationResult:
        """The figures of the only variant of the run. Raises `ProtocolCodeError` where a broker's own code failed."""
        (variant,) = summary.variants
        for example in variant.delivery.examples:
            if example.defect == BROKER_DEFECT:
                raise ProtocolCodeError(example.sentence)
        (record,) = read_manifest(outcome.directory).variants
        audited = with_audit(outcome.fidelity, summary)
        reasons = [] if audited is None else audited.variants[0].reasons
        run = load_text(self.scenario, self.key).timeline.run
        return SaturationResult(
            fingerprint=self.fingerprint,
            runtime=runtime,
            delivery=summary.delivery,
            fidelity=summary.fidelity,
            variant=self.variant,
            load=self.load,
            seed=self.seed,
            figures=VariantFigures.of(variant, reasons),
            queues=QueueCourse.of(read_table(outcome.directory / "results", QueueLength), int(run)),
            messages=sum(kind.sent for kind in variant.messages),
            undrained=record.undrained,
        )
