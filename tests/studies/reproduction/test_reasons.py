"""Reasons of verdicts, computed from the numbers that were judged."""

from __future__ import annotations

import msgspec
import pytest

from analysis.claims import Claim, ClaimKind, Measurement, Recipe, judge
from analysis.claims.standing import Construction, Fit
from studies.reproduction.reasons import reasons, remarks

RECIPE = Recipe(scenario="x.yaml", measure="x")


def claim(kind: ClaimKind, published: float | None = None, *parts: str) -> Claim:
    recipe = msgspec.structs.replace(RECIPE, parts=parts)
    return Claim(id="x", paper="tid", kind=kind, what="x", published=published, measured_by=recipe)


RATIO, VALUE = claim(ClaimKind.RATIO, -0.5), claim(ClaimKind.VALUE, 4.0)
ORDER = claim(ClaimKind.ORDER, None, "below", "above")


@pytest.mark.parametrize(
    ("judged", "values", "reason"),
    [
        (RATIO, [0.4, 0.5], "the sign is the opposite of the published one, but chance is not ruled out."),
        (RATIO, [0.45, 0.451], "the sign is the opposite of the published one, and chance is ruled out."),
        (RATIO, [0.4], "the sign is the opposite of the published one, in one seed."),
        (RATIO, [-0.2, -0.202], "the mean is 29.9 points from the published difference, and 10 are the tolerance."),
        (RATIO, [-0.1, -0.4], "the mean is 25 points from the published difference, and chance is not ruled out."),
        (VALUE, [6.0, 6.2], "1.52 times the published number."),
        (VALUE, [1.0, 7.0], "the published number, but the interval is too wide."),
        (VALUE, [3.8], "0.95 times the published number, in one seed."),
        (VALUE, [6000.0], "1,500 times the published number."),
        (claim(ClaimKind.VALUE, 0.0), [0.0], "the published number, in one seed."),
        (claim(ClaimKind.VALUE, 0.0), [0.1, 0.1], "the published number is 0, and the measured one is not."),
        (
            claim(ClaimKind.RATIO, 12.3),
            [0.4],
            "the mean is 1,190 points from the published difference, and chance is not ruled out.",
        ),
    ],
)
def test_a_number_is_told_by_the_rule_that_it_misses(judged: Claim, values: list[float], reason: str) -> None:
    assert list(reasons(judge(judged, [Measurement(values=(value,)) for value in values]))) == [reason]


def test_each_statement_that_fails_is_named() -> None:
    judgement = judge(ORDER, [Measurement(values=(0.3, -0.2)), Measurement(values=(-0.1, -0.2))])
    assert list(reasons(judgement)) == [
        "below: holds on average, but chance is not ruled out.",
        "above: does not hold on average, and chance is ruled out.",
    ]


def test_what_is_reproduced_or_not_measured() -> None:
    assert list(reasons(judge(RATIO, [Measurement(values=(-0.5,)), Measurement(values=(-0.501,))]))) == []
    assert list(reasons(judge(RATIO, []))) == ["No run measured it."]
    simulated = msgspec.structs.replace(RATIO, measured_by=msgspec.structs.replace(RECIPE, runtimes=("simulated",)))
    assert list(reasons(judge(simulated, []))) == ["No run on the simulator measured it."]
    real = msgspec.structs.replace(RATIO, measured_by=msgspec.structs.replace(RECIPE, runtimes=("container",)))
    assert list(reasons(judge(real, []))) == ["Only real brokers show it: --runtime container measures it."]
    never = msgspec.structs.replace(RATIO, measured_by=None, unmeasurable="no log shows it")
    assert list(reasons(judge(never, []))) == ["No scenario can measure it: no log shows it."]
    refuted = judge(claim(ClaimKind.PROPERTY), [Measurement(values=(2.0,), checked=9, example="B2 received a twice")])
    assert list(reasons(refuted)) == ["B2 received a twice"]


def test_settings_size_and_standing_are_told_first() -> None:
    fit = Fit(scenarios=("x.yaml",), parameters={"brokers.service_time": "48us"}, to=("x: below",))
    built = Construction(reason="it counts itself", parts=("above",))
    judged = judge(
        msgspec.structs.replace(ORDER, fits=(fit,), by_construction=built), [Measurement(values=(0.3, 0.2))] * 2
    )
    judged = msgspec.structs.replace(judged, changed="timeline.run=9s", smaller="60 of 1,000 servers")
    assert list(remarks(judged)) == [
        "Measured with --set timeline.run=9s, so not in the scenario that belongs to the claim.",
        "Calibrated, so no test (below): fitted to what is published: brokers.service_time = 48us.",
        "True by construction, so no test (above): it counts itself.",
        "On a smaller scale than the paper's: 60 of 1,000 servers.",
    ]
    part = msgspec.structs.replace(VALUE, restates="y")
    assert list(remarks(judge(part, [Measurement(values=(4.0,))] * 2))) == ["A part of y, counted with it."]
