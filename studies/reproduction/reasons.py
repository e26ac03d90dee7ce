"""Reasons of a verdict, computed from the numbers at hand: the rule that a part does not meet, and by how much."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.claims import ClaimKind, ClaimVerdict, JudgedClaim, JudgedPart, Recipe, SeedEstimate
from analysis.claims.standing import Standing
from analysis.claims.verdict import VALUE_TOLERANCE, ratio_tolerance
from emulation.runtimes.ladder import SIMULATED

_SHOWN = 4
"""Largest number of parts whose reasons are given."""


def remarks(judgement: JudgedClaim) -> Iterator[str]:
    """Sentences about a judgement: why it does not count, how its runs differ from the paper's, why it came out so."""
    if judgement.changed:
        yield f"Measured with --set {judgement.changed}, so not in the scenario that belongs to the claim."
    yield from standing_sentences(judgement)
    if judgement.smaller:
        yield f"On a smaller scale than the paper's: {judgement.smaller}."
    yield from reasons(judgement)


def standing_sentences(judgement: JudgedClaim) -> Iterator[str]:
    """Reasons for which the claim, or some of its parts, are no test."""
    claim = judgement.claim
    if claim.restates:
        yield f"A part of {claim.restates}, counted with it."
    if named := _parts_of(judgement, Standing.CALIBRATED):
        fitted = ", ".join(f"{field} = {value}" for field, value in claim.fitted.items())
        yield f"Calibrated, so no test{named}: fitted to what is published: {fitted or 'another scenario'}."
    if claim.by_construction is not None:
        named = _parts_of(judgement, Standing.BY_CONSTRUCTION)
        yield f"True by construction, so no test{named}: {claim.by_construction.reason}."


def _parts_of(judgement: JudgedClaim, standing: Standing) -> str:
    """The parts of this standing in brackets, or words for all of them; empty where none has."""
    found = [part.name for part in judgement.parts if part.standing is standing]
    if len(found) == len(judgement.parts):
        return " at all" if found else ""
    return f" ({'; '.join(found)})" if found else ""


def reasons(judgement: JudgedClaim) -> Iterator[str]:
    """Reasons why a claim is not reproduced or not measured; for a property, the example that refutes it."""
    claim = judgement.claim
    if claim.measured_by is None:
        yield f"No scenario can measure it: {claim.unmeasurable}."
    elif not judgement.seeds:
        yield _why_not_measured(claim.measured_by)
    elif judgement.example:
        yield judgement.example
    else:
        missed = [part for part in judgement.parts if part.measured and part.verdict is not ClaimVerdict.REPRODUCED]
        for part in missed[:_SHOWN]:
            name = f"{part.name}: " if part.name else ""
            yield f"{name}{_missed(claim.kind, part)}"
        if len(missed) > _SHOWN:
            rest = len(missed) - _SHOWN
            yield "1 more part is not reproduced." if rest == 1 else f"{rest} more parts are not reproduced."


def _missed(kind: ClaimKind, part: JudgedPart) -> str:
    assert part.measured is not None
    if part.published is None:
        return _statement_missed(part.measured)
    return _ratio_missed(part.published, part.measured) if kind is ClaimKind.RATIO else _value_missed(part)


def _statement_missed(margin: SeedEstimate) -> str:
    if margin.mean <= 0:
        return f"does not hold on average{_beyond_chance(margin)}."
    return "holds on average, but chance is not ruled out."


def _ratio_missed(published: float, measured: SeedEstimate) -> str:
    if published * measured.mean < 0:
        return f"the sign is the opposite of the published one{_beyond_chance(measured)}."
    points = f"{_short(100 * abs(measured.mean - published))} points from the published difference"
    if not _established(measured):
        return f"the mean is {points}, and chance is not ruled out."
    return f"the mean is {points}, and {100 * ratio_tolerance(published):.3g} are the tolerance."


def _value_missed(part: JudgedPart) -> str:
    assert part.measured is not None
    doubt = "in one seed" if part.measured.low is None else "but the interval is too wide"
    if part.measured.mean == part.published:
        return f"the published number, {doubt}."
    if not part.published:
        return "the published number is 0, and the measured one is not."
    factor = part.measured.mean / part.published
    near = f", {doubt}" if abs(factor - 1) <= VALUE_TOLERANCE else ""
    return f"{_short(factor)} times the published number{near}."


def _short(number: float) -> str:
    """Three digits, and no power of ten."""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def _beyond_chance(measured: SeedEstimate) -> str:
    if measured.low is None:
        return ", in one seed"
    return ", and chance is ruled out" if _established(measured) else ", but chance is not ruled out"


def _established(measured: SeedEstimate) -> bool:
    return measured.above(0.0) or measured.below(0.0)


def _why_not_measured(recipe: Recipe) -> str:
    """The reason why there is no run; runs that failed are named elsewhere."""
    if recipe.runtimes and SIMULATED not in recipe.runtimes:
        return f"Only real brokers show it: {' or '.join(f'--runtime {name}' for name in recipe.runtimes)} measures it."
    return "No run on the simulator measured it." if recipe.runtimes else "No run measured it."
