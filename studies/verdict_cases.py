"""Both verdicts on a run, as continuous integration shows them: two cases for each variant.

*delivery* fails when a delivery is violated. *fidelity* has an error when the emulation broke its promises (INVALID):
then the build tells of its host, and not of what it tested.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analysis.tables.summary import BROKER_DEFECT, Example, Summary, VariantSummary, violated
from record.fidelity import Fidelity, Verdict
from studies.junit import JunitCase, JunitSuite, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """On one variant."""

    variant: str
    delivery: Sequence[str]
    interrupted: bool = False
    numbers: str
    """What the verdict on deliveries rests on."""
    examples: Sequence[str] = ()
    """Of what went wrong."""
    fidelity: str
    """UNKNOWN where nobody judged it."""
    reasons: Sequence[str]
    """Why it is not VALID."""


def verdicts_of(summary: Summary, judged: Fidelity | None) -> list[Verdicts]:
    """Those of a run."""
    reasons = {} if judged is None else {variant.name: variant.reasons for variant in judged.variants}
    return [_verdicts(variant, reasons.get(variant.name, [])) for variant in summary.variants]


def verdict_suite(name: str, verdicts: Iterable[Verdicts]) -> JunitSuite:
    """The cases of a run. The name should be the same in every build: a scenario's, not a run's."""
    return JunitSuite(name, [case for each in verdicts for case in (_delivery(name, each), _fidelity(name, each))])


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
        kind=Kind.FAILED if failed else Kind.PASSED,
        message=", ".join(verdicts.delivery),
        text="\n".join((verdicts.numbers, *verdicts.examples)),
    )


def _fidelity(run: str, verdicts: Verdicts) -> JunitCase:
    known = verdicts.fidelity in tuple(Verdict)
    kind = Kind.ERROR if verdicts.fidelity == Verdict.INVALID else Kind.PASSED if known else Kind.SKIPPED
    return JunitCase(
        name=f"{verdicts.variant}: fidelity",
        class_name=run,
        kind=kind,
        message=verdicts.fidelity,
        text="\n".join((verdicts.fidelity, *verdicts.reasons)),
    )


def _verdicts(variant: VariantSummary, reasons: Sequence[str]) -> Verdicts:
    delivery = variant.delivery
    return Verdicts(
        variant=variant.name,
        delivery=delivery.verdicts,
        interrupted=variant.interrupted,
        numbers=numbers_in_words(
            published=delivery.published, expected=delivery.expected, delivered=delivery.delivered,
            lost=delivery.lost, duplicate=delivery.duplicate, spurious=delivery.spurious,
            reordered=delivery.reordered,
        ),
        examples=[_example(one) for one in delivery.examples],
        fidelity=variant.fidelity,
        reasons=reasons,
    )  # fmt: skip


def _example(one: Example) -> str:
    if one.defect == BROKER_DEFECT:
        return one.detail
    way = f"; by {' > '.join(one.paths[0])}" if one.paths else ""
    return f"{one.defect}: {one.publication} to {one.client}: {one.detail}{way}"
