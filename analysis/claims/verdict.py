"""From what was measured over seeds to a verdict on a claim.

A measurement is one number for each part of a claim and seed. `estimates` makes of them a mean and its 95% interval
over seeds, for each part. Then, with p the published number:

1. **ratio** (relative difference). The tolerance is a fifth of p, at least two percentage points.
   *reproduced*: the mean is within the tolerance of p, or the interval contains p; and the interval lies wholly on p's
   side of 0, so that chance is ruled out. Where p itself is within the tolerance of 0 (the paper found practically no
   difference), the second condition is instead that the interval lies within p plus or minus twice the tolerance.
   *same direction*: the interval lies wholly on p's side of 0. *differs*: all else, intervals too wide included.
2. **value** (a number of its own). The tolerance is a tenth of p. *reproduced*: the mean is within the tolerance of p,
   or the interval contains p; and the interval lies between p / 2 and 2 p. *same direction*: the mean lies between
   p / 2 and 2 p. *differs*: all else.
3. **order** (statements). Each statement is measured as a margin that is positive where it holds. *reproduced*: the
   interval lies above 0. *same direction*: the mean does, the interval does not. *differs*: the mean does not.
4. **property**. A measurement counts violations. It *holds*, which is *reproduced*, when no seed shows one and
   something was checked; one violation refutes it, which is *differs*.

A claim of several parts is as good as its worst part. One seed gives no interval, so nothing measured with it is more
than *same direction*: of a ratio, when the sign is right. A part that no seed gave a number for is *not measured*.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from analysis.claims.estimates import Estimate, estimate
from analysis.claims.model import Claim, Kind

RATIO_TOLERANCE = 0.2
"""Of the published difference."""
RATIO_TOLERANCE_LEAST = 0.02
VALUE_TOLERANCE = 0.1
"""Of the published value."""
SAME_ORDER = 2.0
"""A value within this factor of the published one is of its order."""


class Verdict(StrEnum):
    """How a measurement stands to what was published, best first."""

    REPRODUCED = "reproduced"
    SAME_DIRECTION = "same direction"
    DIFFERS = "differs"
    NOT_MEASURED = "not measured"


_WORSE = list(Verdict)


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What one seed's run says of one claim."""

    values: tuple[float | None, ...]
    """One for each part; None where the run cannot tell. Of a property, how many violations there were."""
    checked: int = 0
    """Of a property: how many things were looked at."""
    example: str = ""
    """Of a property that was violated: one violation."""


class JudgedPart(msgspec.Struct, frozen=True, kw_only=True):
    """One number or statement of a claim."""

    name: str
    """Empty for the only one."""
    published: float | None
    measured: Estimate | None
    verdict: Verdict


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a claim."""

    claim: Claim
    verdict: Verdict
    parts: tuple[JudgedPart, ...]
    seeds: int
    checked: int = 0
    """Of a property."""
    violations: int = 0
    example: str = ""


def judge(claim: Claim, measurements: Sequence[Measurement]) -> Judgement:
    """The verdict on a claim from one measurement a seed."""
    if claim.kind is Kind.PROPERTY:
        return _judge_property(claim, measurements)
    parts = []
    for index, (name, published) in enumerate(zip(claim.parts, claim.numbers, strict=True)):
        measured = estimate(measurement.values[index] for measurement in measurements)
        parts.append(
            JudgedPart(
                name=name, published=published, measured=measured, verdict=judge_number(claim.kind, published, measured)
            )
        )
    verdict = max((part.verdict for part in parts), key=_WORSE.index)
    return Judgement(claim=claim, verdict=verdict, parts=tuple(parts), seeds=len(measurements))


def judge_number(kind: Kind, published: float | None, measured: Estimate | None) -> Verdict:
    """The verdict on one part; see the rules above. `published` is None for an order only."""
    if measured is None:
        return Verdict.NOT_MEASURED
    if published is None:
        return _judge_statement(measured)
    return _judge_ratio(published, measured) if kind is Kind.RATIO else _judge_value(published, measured)


def _judge_ratio(published: float, measured: Estimate) -> Verdict:
    tolerance = max(RATIO_TOLERANCE * abs(published), RATIO_TOLERANCE_LEAST)
    near = abs(measured.mean - published) <= tolerance or measured.contains(published)
    established = measured.above(0.0) if published > 0 else measured.below(0.0)
    practically_none = abs(published) <= tolerance
    decided = measured.within(published - 2 * tolerance, published + 2 * tolerance) if practically_none else established
    if near and decided:
        return Verdict.REPRODUCED
    untested = measured.low is None and measured.mean * published > 0
    return Verdict.SAME_DIRECTION if established or untested else Verdict.DIFFERS


def _judge_value(published: float, measured: Estimate) -> Verdict:
    low, high = sorted((published / SAME_ORDER, published * SAME_ORDER))
    near = abs(measured.mean - published) <= VALUE_TOLERANCE * abs(published) or measured.contains(published)
    if near and measured.within(low, high):
        return Verdict.REPRODUCED
    return Verdict.SAME_DIRECTION if low <= measured.mean <= high else Verdict.DIFFERS


def _judge_statement(margin: Estimate) -> Verdict:
    if margin.above(0.0):
        return Verdict.REPRODUCED
    return Verdict.SAME_DIRECTION if margin.mean > 0 else Verdict.DIFFERS


def _judge_property(claim: Claim, measurements: Sequence[Measurement]) -> Judgement:
    violations = round(sum(value or 0.0 for measurement in measurements for value in measurement.values))
    checked = sum(measurement.checked for measurement in measurements)
    verdict = Verdict.DIFFERS if violations else Verdict.REPRODUCED if checked else Verdict.NOT_MEASURED
    part = JudgedPart(
        name="",
        published=None,
        measured=estimate(measurement.values[0] for measurement in measurements),
        verdict=verdict,
    )
    return Judgement(
        claim=claim,
        verdict=verdict,
        parts=(part,),
        seeds=len(measurements),
        checked=checked,
        violations=violations,
        example=next((measurement.example for measurement in measurements if measurement.example), ""),
    )
