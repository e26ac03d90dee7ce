"""The verdicts on a run as JUnit cases: two for each variant, and one for each of its limits.

*delivery* fails if the delivery is violated, and has the power of its verdict as properties. *fidelity* has an error if
the emulation did not keep its promises (INVALID), because the result then describes the host and not the tested
overlay. *limit on FIGURE* fails if the limit is missed, and has an error if it was not judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import UNSET

from analysis.tables.limits import LimitOutcome
from analysis.tables.power import Power
from analysis.tables.summary import OF_NO_PUBLICATION, Example, Summary, VariantSummary, violated
from analysis.tables.variant_figures import VariantFigures
from record.fidelity import Fidelity, FidelityVerdict
from record.manifest import Manifest, VariantRecord
from record.time_units import SECOND
from studies.junit import JunitCase, JunitOutcome, JunitSuite

_OF_LIMITS = {
    LimitOutcome.MET: JunitOutcome.PASSED,
    LimitOutcome.MISSED: JunitOutcome.FAILED,
    LimitOutcome.NOT_JUDGED: JunitOutcome.ERROR,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Both verdicts on one variant."""

    figures: VariantFigures
    interrupted: bool = False
    numbers: str
    """The counts behind the verdict on delivery."""
    seconds: float
    """The time that the variant took, from the start of its brokers to their end."""
    examples: Sequence[str] = ()
    """Examples of defects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The facts that let a reader find a run again, or repeat it."""

    seed: int
    revision: str | None
    """The git revision of brokerlab; None if unknown."""
    runtime: str
    report: Path | None
    """The page of the run, or of its campaign; None if it was not made."""

    def properties(self) -> dict[str, str]:
        """The origin as properties of a suite."""
        return {
            "seed": str(self.seed),
            "revision": self.revision or "unknown",
            "runtime": self.runtime,
            "report": "none" if self.report is None else str(self.report),
        }


def verdicts_of(summary: Summary, judged: Fidelity | None, manifest: Manifest) -> list[Verdicts]:
    """The verdicts on a run."""
    reasons = {} if judged is None else {variant.name: variant.reasons for variant in judged.variants}
    seconds = {record.name: _seconds(record) for record in manifest.variants}
    return [
        _verdicts(variant, reasons.get(variant.name, []), seconds.get(variant.name, 0.0))
        for variant in summary.variants
    ]


def verdict_suite(name: str, verdicts: Sequence[Verdicts], origin: Origin) -> JunitSuite:
    """The cases of a run. The name should be the same in every build, such as a scenario's, not a run's."""
    cases = [case for each in verdicts for case in (_delivery(name, each), _fidelity(name, each), *_limits(name, each))]
    return JunitSuite(name, cases, origin.properties(), sum(pair.seconds for pair in verdicts))


def _delivery(run: str, verdicts: Verdicts) -> JunitCase:
    figures = verdicts.figures
    failed = violated(figures.delivery, figures.fidelity, interrupted=verdicts.interrupted)
    return JunitCase(
        name=f"{figures.name}: delivery",
        class_name=run,
        kind=JunitOutcome.FAILED if failed else JunitOutcome.PASSED,
        message=", ".join(figures.delivery),
        text="\n".join((verdicts.numbers, figures.power.in_words(), *verdicts.examples)),
        seconds=verdicts.seconds,
        properties=_properties(figures.power),
    )


def _fidelity(run: str, verdicts: Verdicts) -> JunitCase:
    figures = verdicts.figures
    known = figures.fidelity in tuple(FidelityVerdict)
    kind = (
        JunitOutcome.ERROR
        if figures.fidelity == FidelityVerdict.INVALID
        else JunitOutcome.PASSED
        if known
        else JunitOutcome.SKIPPED
    )
    return JunitCase(
        name=f"{figures.name}: fidelity",
        class_name=run,
        kind=kind,
        message=figures.fidelity,
        text="\n".join((figures.fidelity, *figures.reasons)),
        seconds=verdicts.seconds,
    )


def _limits(run: str, verdicts: Verdicts) -> list[JunitCase]:
    """A case for each limit, named as in the scenario."""
    return [
        JunitCase(
            name=f"{verdicts.figures.name}: limit on {limit.name}",
            class_name=run,
            kind=_OF_LIMITS[limit.outcome],
            message=limit.in_words(),
            text=limit.in_words(),
            seconds=verdicts.seconds,
        )
        for limit in verdicts.figures.limits or ()
    ]


def _properties(power: Power) -> dict[str, str]:
    found = {
        "owed": power.owed,
        "judged": power.judged,
        "excused": sum(power.excused.values()),
        "not judged": sum(power.not_judged.values()),
        "implied": power.implied,
    }
    return {name: str(count) for name, count in found.items()} | {"power": power.in_words()}


def _seconds(record: VariantRecord) -> float:
    """The time of all phases by the run's clock, which is virtual time when simulated."""
    return (record.phases[-1].end - record.phases[0].start) / SECOND if record.phases else 0.0


def _verdicts(variant: VariantSummary, reasons: Sequence[str], seconds: float) -> Verdicts:
    delivery = variant.delivery
    ratio = "" if delivery.best_effort is UNSET else f"{delivery.best_effort.in_words()}; "
    detections = "" if delivery.detections is UNSET else f"; {delivery.detections.in_words()}"
    return Verdicts(
        figures=VariantFigures.of(variant, reasons),
        interrupted=variant.interrupted,
        numbers=ratio + delivery.counts_in_words() + detections,
        seconds=seconds,
        examples=[_example(example) for example in delivery.examples],
    )


def _example(example: Example) -> str:
    if example.defect in OF_NO_PUBLICATION:
        return example.detail
    path = f"; by {' > '.join(example.paths[0])}" if example.paths else ""
    return f"{example.defect}: {example.subject} to {example.client}: {example.detail}{path}"
