"""Properties of the detector for drawn patterns and publications, against naive detection."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from broker_service.detection import Detector
from tests.broker_service.detection import checks
from tests.broker_service.detection.situations import situations
from tests.broker_service.language.strategies import unhurried
from tests.proof import tried

Check = Callable[[checks.Situation, type[Detector]], None]
CHECKS: list[Check] = [
    checks.every_combination_once,
    checks.repeats_complete_nothing,
    checks.arrivals_may_be_late,
    checks.another_life_begins_anew,
    checks.losses_are_what_is_reported,
    checks.others_do_not_matter,
    checks.time_leaves_nothing,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_detector_has_the_property(check: Check) -> None:
    @settings(unhurried, max_examples=tried(60))
    @given(situations())
    def search(situation: checks.Situation) -> None:
        check(situation, Detector)

    search()
