"""Judgements as a table for people, and as structs for scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from rich.table import Table
from rich.text import Text

from analysis.claims import ClaimKind, ClaimVerdict, JudgedClaim, JudgedPart, Recipe, SeedEstimate
from emulation.runtimes.ladder import SIMULATED
from studies.reproduction.cell import ReproductionResult
from studies.reproduction.twin import twin_lines

STYLES = {
    ClaimVerdict.REPRODUCED: "green",
    ClaimVerdict.SAME_DIRECTION: "yellow",
    ClaimVerdict.DIFFERS: "red",
    ClaimVerdict.NOT_MEASURED: "dim",
}

_TINY = 0.001
"""Largest difference that is shown with two decimals, because one decimal would round it to 0.0% or 0.1%."""

_SHOWN = 4
"""Largest number of runs that one line names."""


class ReportedPart(msgspec.Struct, frozen=True, kw_only=True):
    """One number of a claim, for scripts."""

    name: str
    published: float | None
    measured: float | None
    interval: tuple[float, float] | None
    seeds: int
    verdict: str


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """One claim, for scripts."""

    claim: str
    paper: str
    kind: str
    what: str
    setting: str
    verdict: str
    parts: list[ReportedPart]
    checked: int | None
    """For a property, the number of cases that were checked; `violations` is the number of them that violate it."""
    violations: int | None
    explanation: str
    """Known reasons why the claim is not reproduced; empty where it is."""
    quick_form: bool
    """True where a smaller form of a scenario was run, so that the verdict is provisional."""


def reported(judgement: JudgedClaim) -> Reported:
    claim = judgement.claim
    is_property = claim.kind is ClaimKind.PROPERTY
    return Reported(
        claim=claim.id,
        paper=claim.paper,
        kind=claim.kind.value,
        what=claim.what,
        setting=claim.setting,
        verdict=judgement.verdict.value,
        parts=[] if is_property else [_reported_part(part) for part in judgement.parts],
        checked=judgement.checked if is_property else None,
        violations=judgement.violations if is_property else None,
        explanation=explanation(judgement),
        quick_form=judgement.from_quick_form,
    )


def table(judgements: Sequence[JudgedClaim]) -> Table:
    """A row for each claim, and one for each part of a claim that has several."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    made.add_column("claim", no_wrap=True)
    made.add_column("what", max_width=52)
    made.add_column("published", justify="right", no_wrap=True)
    made.add_column("measured [95%]", justify="right", no_wrap=True)
    made.add_column("verdict", no_wrap=True)
    for judgement in judgements:
        for row in rows(judgement):
            *cells, verdict = row
            made.add_row(*map(Text, cells), Text(verdict, style=STYLES[ClaimVerdict(verdict)]))
    return made


def rows(judgement: JudgedClaim) -> Iterator[tuple[str, str, str, str, str]]:
    """Rows of the table: claim, what, published, measured and verdict. `*` marks a provisional verdict."""
    claim, verdict = judgement.claim, judgement.verdict.value
    id = f"{claim.id}*" if judgement.from_quick_form else claim.id
    if claim.kind is ClaimKind.PROPERTY:
        violations = f"{judgement.violations:,} of {judgement.checked:,}" if judgement.checked else "-"
        yield id, claim.what, "never", violations, verdict
    elif len(judgement.parts) == 1:
        (part,) = judgement.parts
        yield id, claim.what, *_numbers(claim.kind, part), verdict
    else:
        yield id, claim.what, "", "", verdict
        for part in judgement.parts:
            yield "", f"  {part.name}", *_numbers(claim.kind, part), part.verdict.value


def explanation(judgement: JudgedClaim) -> str:
    """Known reasons why a claim is not reproduced or not measured; for a property, the example that refutes it."""
    recipe = judgement.claim.measured_by
    if recipe is None:
        return "No scenario measures it yet."
    if not judgement.seeds:
        return _why_not_measured(recipe)
    return "" if judgement.verdict is ClaimVerdict.REPRODUCED else judgement.example or recipe.explanation


def _why_not_measured(recipe: Recipe) -> str:
    """The reason why there is no run; runs that failed are named elsewhere."""
    if recipe.runtimes and SIMULATED not in recipe.runtimes:
        return f"Only real brokers show it: {' or '.join(f'--runtime {name}' for name in recipe.runtimes)} measures it."
    return "No run on the simulator measured it." if recipe.runtimes else "No run measured it."


def closing_lines(judgements: Sequence[JudgedClaim], results: Sequence[ReproductionResult]) -> Iterator[str]:
    """Number of claims with each verdict, and the runs that are not reliable."""
    counted = Counter(judgement.verdict for judgement in judgements)
    yield ", ".join(f"{counted[verdict]} {verdict.value}" for verdict in ClaimVerdict if counted[verdict])
    if any(judgement.from_quick_form for judgement in judgements):
        yield "* from a smaller form of the scenario, so that the verdict is provisional"
    undelivered = {
        f"{run.scenario}, seed {run.seed} ({', '.join(run.delivery)})" for run in results if not _delivered(run)
    }
    if undelivered:
        yield f"delivery was violated: {_some(undelivered)}"
    doubtful = {f"{run.scenario}, seed {run.seed} ({run.fidelity})" for run in results if run.fidelity != "VALID"}
    if doubtful:
        yield f"the emulation did not meet the scenario in these runs, so they may mislead: {_some(doubtful)}"
    yield from twin_lines([(f"{run.scenario}, seed {run.seed}", run.twin) for run in results])


def violated(judgements: Sequence[JudgedClaim], results: Sequence[ReproductionResult]) -> bool:
    """True when a property is refuted or a delivery is violated, which points to a defect of brokerlab itself."""
    refuted = any(
        judgement.claim.kind is ClaimKind.PROPERTY and judgement.verdict is ClaimVerdict.DIFFERS
        for judgement in judgements
    )
    return refuted or not all(_delivered(result) for result in results)


def _delivered(result: ReproductionResult) -> bool:
    return set(result.delivery) <= {"correct", "unjudged"}


def _some(found: Iterable[str]) -> str:
    names = sorted(found)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return "; ".join(names[:_SHOWN]) + more


def _numbers(kind: ClaimKind, part: JudgedPart) -> tuple[str, str]:
    published = "holds" if part.published is None else _number(kind, part.published)
    return published, "-" if part.measured is None else _estimate(kind, part.measured)


def _estimate(kind: ClaimKind, measured: SeedEstimate) -> str:
    mean = _number(kind, measured.mean)
    if measured.low is None or measured.high is None:
        return f"{mean} [one seed]"
    return f"{mean} [{_number(kind, measured.low)}, {_number(kind, measured.high)}]"


def _number(kind: ClaimKind, value: float) -> str:
    """Text of a number: differences and margins in percent with their sign, tiny ones with two decimals."""
    if kind is ClaimKind.VALUE:
        return f"{value:.3g}"
    return f"{100 * value:+.2f}%" if 0 < abs(value) < _TINY else f"{100 * value:+.1f}%"


def _reported_part(part: JudgedPart) -> ReportedPart:
    measured = part.measured
    interval = (
        None if measured is None or measured.low is None or measured.high is None else (measured.low, measured.high)
    )
    return ReportedPart(
        name=part.name,
        published=part.published,
        measured=None if measured is None else measured.mean,
        interval=interval,
        seeds=0 if measured is None else measured.seeds,
        verdict=part.verdict.value,
    )
