"""Both verdicts on a run as JUnit cases, two for each variant.

*delivery* fails if the delivery is violated. *fidelity* has an error if the emulation did not keep its promises
(INVALID), because the result then describes the host and not the tested overlay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec import UNSET

from analysis.tables.summary import OF_NO_PUBLICATION, Example, Summary, VariantSummary, violated
from record.fidelity import Fidelity, FidelityVerdict
from studies.junit import JunitCase, JunitOutcome, JunitSuite


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Both verdicts on one variant."""

    variant: str
    delivery: Sequence[str]
    interrupted: bool = False
    numbers: str
    """The counts behind the verdict on delivery."""
    examples: Sequence[str] = ()
    """Examples of defects."""
    fidelity: str
    """The verdict on fidelity; UNKNOWN if it was not judged."""
    reasons: Sequence[str]
    """The reasons why it is not VALID."""


def verdicts_of(summary: Summary, judged: Fidelity | None) -> list[Verdicts]:
    """The verdicts on a run."""
    reasons = {} if judged is None else {variant.name: variant.reasons for variant in judged.variants}
    return [_verdicts(variant, reasons.get(variant.name, [])) for variant in summary.variants]


def verdict_suite(name: str, verdicts: Iterable[Verdicts]) -> JunitSuite:
    """The cases of a run. The name should be the same in every build, such as a scenario's, not a run's."""
    return JunitSuite(name, [case for pair in verdicts for case in (_delivery(name, pair), _fidelity(name, pair))])


def numbers_in_words(
    *, published: int, expected: int, delivered: int, lost: int, duplicate: int, spurious: int, reordered: int
) -> str:
    return (
        f"{published:,} published; {delivered:,} notifications delivered, {expected:,} expected; {lost:,} lost, "
        f"{duplicate:,} duplicate, {spurious:,} spurious, {reordered:,} reordered"
    )


def _delivery(run: str, verdicts: Verdicts) -> JunitCase:
    failed = violated(verdicts.delivery, interrupted=verdicts.interrupted)
    return JunitCase(
        name=f"{verdicts.variant}: delivery",
        class_name=run,
        kind=JunitOutcome.FAILED if failed else JunitOutcome.PASSED,
        message=", ".join(verdicts.delivery),
        text="\n".join((verdicts.numbers, *verdicts.examples)),
    )


def _fidelity(run: str, verdicts: Verdicts) -> JunitCase:
    known = verdicts.fidelity in tuple(FidelityVerdict)
    kind = (
        JunitOutcome.ERROR
        if verdicts.fidelity == FidelityVerdict.INVALID
        else JunitOutcome.PASSED
        if known
        else JunitOutcome.SKIPPED
    )
    return JunitCase(
        name=f"{verdicts.variant}: fidelity",
        class_name=run,
        kind=kind,
        message=verdicts.fidelity,
        text="\n".join((verdicts.fidelity, *verdicts.reasons)),
    )


def _verdicts(variant: VariantSummary, reasons: Sequence[str]) -> Verdicts:
    delivery = variant.delivery
    ratio = "" if delivery.best_effort is UNSET else f"{delivery.best_effort.in_words()}; "
    detections = "" if delivery.detections is UNSET else f"; {delivery.detections.in_words()}"
    return Verdicts(
        variant=variant.name,
        delivery=delivery.verdicts,
        interrupted=variant.interrupted,
        numbers=ratio
        + numbers_in_words(
            published=delivery.published, expected=delivery.expected, delivered=delivery.delivered,
            lost=delivery.lost, duplicate=delivery.duplicate, spurious=delivery.spurious,
            reordered=delivery.reordered,
        )
        + detections,
        examples=[_example(example) for example in delivery.examples],
        fidelity=variant.fidelity,
        reasons=reasons,
    )  # fmt: skip


def _example(example: Example) -> str:
    if example.defect in OF_NO_PUBLICATION:
        return example.detail
    path = f"; by {' > '.join(example.paths[0])}" if example.paths else ""
    return f"{example.defect}: {example.subject} to {example.client}: {example.detail}{path}"
