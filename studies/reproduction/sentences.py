"""Judgements as a table for people, and as structs for scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import msgspec
from rich.table import Table
from rich.text import Text

from analysis.claims import ClaimKind, ClaimVerdict, JudgedClaim, JudgedPart, SeedEstimate
from analysis.claims.standing import Standing
from studies.reproduction.cell import ReproductionResult
from studies.reproduction.reasons import remarks
from studies.reproduction.twin import twin_lines

STYLES = {
    ClaimVerdict.REPRODUCED: "green",
    ClaimVerdict.WITHIN_FACTOR: "yellow",
    ClaimVerdict.SAME_DIRECTION: "yellow",
    ClaimVerdict.DIFFERS: "red",
    ClaimVerdict.NOT_MEASURED: "dim",
}

MARKS = {
    "*": "from a smaller form of the scenario, so that the verdict is provisional",
    "<": "on a smaller scale than the paper's experiment",
    "!": "with fields that --set changed, so not in the scenario that belongs to the claim",
}
"""Marks behind the names of claims, with their meanings."""
_COUNTED = [*ClaimVerdict, *(standing for standing in Standing if standing is not Standing.TESTED)]

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
    standing: str


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
    standing: str
    """`tested`, or the reason for which the claim is counted apart."""
    size: str
    """Size of the runs; `smaller` has the extents in which they are smaller than the paper's experiment."""
    smaller: str
    changed: str
    """Fields that `--set` changed in the scenario."""
    remarks: list[str]
    """Sentences on the verdict, computed from the numbers at hand."""
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
        standing=claim.standing.value,
        size=judgement.size,
        smaller=judgement.smaller,
        changed=judgement.changed,
        remarks=list(remarks(judgement)),
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
    made.add_column("", no_wrap=True)
    for judgement in judgements:
        for row in rows(judgement):
            *cells, verdict, standing = row
            made.add_row(*map(Text, cells), Text(verdict, style=STYLES[ClaimVerdict(verdict)]), Text(standing))
    return made


Row: TypeAlias = tuple[str, str, str, str, str, str]
"""Claim, what, published, measured, verdict, and the standing of what does not count."""


def rows(judgement: JudgedClaim) -> Iterator[Row]:
    """Rows of the table: one for the claim, and one for each part where there are several."""
    claim, verdict = judgement.claim, judgement.verdict.value
    id, standing = f"{claim.id}{marks(judgement)}", _shown_standing(claim.standing)
    if claim.kind is ClaimKind.PROPERTY:
        violations = f"{judgement.violations:,} of {judgement.checked:,}" if judgement.checked else "-"
        yield id, claim.what, "never", violations, verdict, standing
    elif len(judgement.parts) == 1:
        (part,) = judgement.parts
        yield id, claim.what, *_numbers(claim.kind, part), verdict, standing
    else:
        yield id, claim.what, "", "", verdict, standing
        for part in judgement.parts:
            of_part = _shown_standing(part.standing)
            yield "", f"  {part.name}", *_numbers(claim.kind, part), part.verdict.value, of_part


def marks(judgement: JudgedClaim) -> str:
    """Marks behind the name of a claim; `MARKS` has their meanings."""
    shown = {"*": judgement.from_quick_form, "<": bool(judgement.smaller), "!": bool(judgement.changed)}
    return "".join(mark for mark, holds in shown.items() if holds)


def _shown_standing(standing: Standing) -> str:
    return "" if standing is Standing.TESTED else standing.value


def closing_lines(judgements: Sequence[JudgedClaim], results: Sequence[ReproductionResult]) -> Iterator[str]:
    """Number of claims with each verdict, and the runs that are not reliable."""
    counted = Counter(_counted_as(judgement) for judgement in judgements)
    yield ", ".join(f"{counted[name]} {name}" for name in _COUNTED if counted[name])
    shown = {mark for judgement in judgements for mark in marks(judgement)}
    yield from (f"{mark} {meaning}" for mark, meaning in MARKS.items() if mark in shown)
    undelivered = {
        f"{run.scenario}, seed {run.seed} ({', '.join(run.delivery)})" for run in results if not _delivered(run)
    }
    if undelivered:
        yield f"delivery was violated: {_some(undelivered)}"
    doubtful = {f"{run.scenario}, seed {run.seed} ({run.fidelity})" for run in results if run.fidelity != "VALID"}
    if doubtful:
        yield f"the emulation did not meet the scenario in these runs, so they may mislead: {_some(doubtful)}"
    chosen = {run.scenario: run.dilation for run in results if run.dilation is not msgspec.UNSET}
    yield from (f"time dilation of {name} {dilation.in_words()}" for name, dilation in chosen.items())
    yield from twin_lines([(f"{run.scenario}, seed {run.seed}", run.twin) for run in results])


def _counted_as(judgement: JudgedClaim) -> str:
    """The verdict on a claim that is tested, and the standing of any other."""
    standing = judgement.claim.standing
    return judgement.verdict if standing is Standing.TESTED else standing


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
        standing=part.standing.value,
    )
