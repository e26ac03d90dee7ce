"""Checks of the summary of judged histories."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from analysis.tables.summary import CORRECT, UNJUDGED, Delivery, Summary
from tests.analysis.oracle_cases import Case


def delivery(judged: Summary, name: str) -> Delivery:
    """The delivery of the variant with this name."""
    return next(variant.delivery for variant in judged.variants if variant.name == name)


def assert_judged(judged: Summary, case: Case, counts: Iterable[str]) -> None:
    """Its history was judged as the case states; those of `counts` that the case does not name are 0."""
    found = delivery(judged, case.history.variant)
    wanted = dict.fromkeys(counts, 0) | {"expected": case.expected, "delivered": case.delivered} | case.numbers
    assert verdicts_of(found) == case.verdicts
    assert {key: getattr(found, key) for key in wanted} == wanted
    came = found.expected - found.lost - found.excused - found.not_judged
    assert found.delivered == came + found.optional + found.duplicate + found.spurious


def verdicts_of(found: Delivery) -> list[str]:
    """The verdicts on a history; `correct` where nothing is wrong with its publications, though none could be
    judged, so that nothing is proved about others."""
    owed = found.power.judged + (0 if found.detections is UNSET else found.detections.expected)
    return [CORRECT] if found.verdicts == [UNJUDGED] and found.published and not owed else found.verdicts
