"""The verdict on a claim, from its measurements over seeds.

A measurement is one number for each part of a claim and seed. `estimates` turns the numbers of each part into a mean
and its 95% interval over seeds. Then, with p the published number:

1. **ratio** (relative difference). The tolerance is a fifth of p, at least two percentage points.
   *reproduced*: the mean is within the tolerance of p, or the interval contains p; and the interval lies wholly on p's
   side of 0, so that chance is ruled out. Where p itself is within the tolerance of 0 (the paper found practically no
   difference), the second condition is instead that the interval lies within p plus or minus twice the tolerance.
   *same direction*: the interval lies wholly on p's side of 0. *differs*: everything else, including intervals that
   are too wide.
2. **value** (a number of its own). The tolerance is a tenth of p. *reproduced*: the mean is within the tolerance of p,
   or the interval contains p; and the interval lies between p / 2 and 2 p. *within a factor of two*: the mean lies
   between p / 2 and 2 p. *differs*: everything else. The interval of a share ends at 0 and 1 (`estimates`).
3. **order** (statements). Each statement is measured as a margin that is positive where it holds. *reproduced*: the
   interval lies above 0. *same direction*: only the mean does. *differs*: the mean does not.
4. **property**. A measurement counts violations. *reproduced*: no seed shows a violation, and at least one case was
   checked. *differs*: there is a violation, because one refutes the property.

The verdict on a claim with several parts is that of its worst part among those that test it (`standing`), or of its
worst part where none does. One seed gives no interval, so its verdict is at best *within a factor of two* for a value,
and otherwise *same direction*; for a ratio, when the sign is right. A part without a number from any seed is *not
measured*.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from analysis.claims.estimates import SeedEstimate, estimate, estimate_of_share
from analysis.claims.model import Claim, ClaimKind
from analysis.claims.standing import Standing

RATIO_TOLERANCE = 0.2
"""Tolerance of a ratio, as a share of the published difference."""
RATIO_TOLERANCE_LEAST = 0.02
"""Smallest tolerance of a ratio."""
VALUE_TOLERANCE = 0.1
"""Tolerance of a value, as a share of the published value."""
SAME_ORDER = 2.0
"""Factor within which a value has the published order of magnitude."""


class ClaimVerdict(StrEnum):
    """Relation between measurement and publication, best first."""

    REPRODUCED = "reproduced"
    WITHIN_FACTOR = "within a factor of two"
    """For values alone; the others are for ratios and orders."""
    SAME_DIRECTION = "same direction"
    DIFFERS = "differs"
    NOT_MEASURED = "not measured"


_WORSE = list(ClaimVerdict)


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """Measurement of one claim in the run of one seed."""

    values: tuple[float | None, ...]
    """One number for each part, None where the run gives none. For a property, the number of violations."""
    checked: int = 0
    """For a property, the number of cases that were checked."""
    example: str = ""
    """For a property that is violated, one violation."""


class JudgedPart(msgspec.Struct, frozen=True, kw_only=True):
    """One number or statement of a claim."""

    name: str
    """Empty for the only part of a claim."""
    published: float | None
    measured: SeedEstimate | None
    verdict: ClaimVerdict
    standing: Standing = Standing.TESTED


class JudgedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """Verdict on a claim, with the numbers behind it."""

    claim: Claim
    verdict: ClaimVerdict
    parts: tuple[JudgedPart, ...]
    seeds: int
    checked: int = 0
    """For a property, the number of cases that were checked in all runs."""
    violations: int = 0
    """For a property, the number of violations in all runs."""
    example: str = ""
    """For a property that is violated, one violation."""
    from_quick_form: bool = False
    """True where runs of a smaller form of a scenario are behind it, so that it is provisional."""
    size: str = ""
    """Size of the runs; empty without one."""
    smaller: str = ""
    """Extents in which the runs are smaller than the paper's experiment; empty where they are in none."""
    changed: str = ""
    """Fields of the shipped scenario that the user changed, so that the verdict holds for the changed one only; empty
    where none was."""


def judge(claim: Claim, measurements: Sequence[Measurement]) -> JudgedClaim:
    """The verdict on a claim, from one measurement for each seed."""
    if claim.kind is ClaimKind.PROPERTY:
        return _judge_property(claim, measurements)
    parts = tuple(
        _judge_part(claim, name, published, [measurement.values[index] for measurement in measurements])
        for index, (name, published) in enumerate(zip(claim.parts, claim.numbers, strict=True))
    )
    return JudgedClaim(claim=claim, verdict=verdict_of(claim, parts), parts=parts, seeds=len(measurements))


def verdict_of(claim: Claim, parts: Sequence[JudgedPart]) -> ClaimVerdict:
    """The worst verdict on the parts that test a claim, or on all of them where none does."""
    testing = [part.verdict for part in parts if part.standing is Standing.TESTED]
    return max(testing or [part.verdict for part in parts], key=_WORSE.index)


def _judge_part(claim: Claim, name: str, published: float | None, values: Sequence[float | None]) -> JudgedPart:
    measured = estimate_of_share(values) if claim.is_share(name) else estimate(values)
    return JudgedPart(
        name=name,
        published=published,
        measured=measured,
        verdict=judge_number(claim.kind, published, measured),
        standing=claim.standing_of(name),
    )


def judge_number(kind: ClaimKind, published: float | None, measured: SeedEstimate | None) -> ClaimVerdict:
    """The verdict on one part, by the rules of the module. `published` is None only for a statement of an order."""
    if measured is None:
        return ClaimVerdict.NOT_MEASURED
    if published is None:
        return _judge_statement(measured)
    return _judge_ratio(published, measured) if kind is ClaimKind.RATIO else _judge_value(published, measured)


def ratio_tolerance(published: float) -> float:
    """Difference up to which a measured ratio is near the published one."""
    return max(RATIO_TOLERANCE * abs(published), RATIO_TOLERANCE_LEAST)


def _judge_ratio(published: float, measured: SeedEstimate) -> ClaimVerdict:
    tolerance = ratio_tolerance(published)
    near = abs(measured.mean - published) <= tolerance or measured.contains(published)
    established = measured.above(0.0) if published > 0 else measured.below(0.0)
    practically_none = abs(published) <= tolerance
    decided = measured.within(published - 2 * tolerance, published + 2 * tolerance) if practically_none else established
    if near and decided:
        return ClaimVerdict.REPRODUCED
    untested = measured.low is None and measured.mean * published > 0
    return ClaimVerdict.SAME_DIRECTION if established or untested else ClaimVerdict.DIFFERS


def _judge_value(published: float, measured: SeedEstimate) -> ClaimVerdict:
    low, high = sorted((published / SAME_ORDER, published * SAME_ORDER))
    near = abs(measured.mean - published) <= VALUE_TOLERANCE * abs(published) or measured.contains(published)
    if near and measured.within(low, high):
        return ClaimVerdict.REPRODUCED
    return ClaimVerdict.WITHIN_FACTOR if low <= measured.mean <= high else ClaimVerdict.DIFFERS


def _judge_statement(margin: SeedEstimate) -> ClaimVerdict:
    if margin.above(0.0):
        return ClaimVerdict.REPRODUCED
    return ClaimVerdict.SAME_DIRECTION if margin.mean > 0 else ClaimVerdict.DIFFERS


def _judge_property(claim: Claim, measurements: Sequence[Measurement]) -> JudgedClaim:
    violations = round(sum(value or 0.0 for measurement in measurements for value in measurement.values))
    checked = sum(measurement.checked for measurement in measurements)
    verdict = ClaimVerdict.DIFFERS if violations else ClaimVerdict.REPRODUCED if checked else ClaimVerdict.NOT_MEASURED
    part = JudgedPart(
        name="",
        published=None,
        measured=estimate(measurement.values[0] for measurement in measurements),
        verdict=verdict,
        standing=claim.standing_of(""),
    )
    return JudgedClaim(
        claim=claim,
        verdict=verdict,
        parts=(part,),
        seeds=len(measurements),
        checked=checked,
        violations=violations,
        example=next((measurement.example for measurement in measurements if measurement.example), ""),
    )
