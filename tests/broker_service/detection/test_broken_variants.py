"""The properties themselves: each catches the detectors that break it.

| broken detector | caught by |
|---|---|
| ignores variables across parts | every combination once |
| takes `$I$X` and `$S$X` for one variable | every combination once |
| keeps the latest match only | every combination once |
| consumes publications on detection | every combination once |
| lets a publication fill one leaf only | every combination once |
| notifies for each operand of `||` | every combination once |
| runs `a & (b || c)` as `(a & b) || c` | every combination once |
| never ends a window | every combination once |
| measures the window by times of arrival | arrivals may be late |
| expires nothing | arrivals may be late; time leaves nothing |
| keeps matches when another pattern takes the identifier | another life begins anew |
| counts a publication that comes by two trees twice | repeats complete nothing |
| overflows without a report | losses are what is reported |
| reports another publication than the one dropped | losses are what is reported |
| drops more than it reports | losses are what is reported |
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from broker_service.detection import Detector
from tests.broker_service.detection import broken_variants as broken
from tests.broker_service.detection import checks
from tests.broker_service.detection.situations import situations
from tests.broker_service.detection.test_properties import Check
from tests.properties import drawing

BROKEN: list[tuple[type[Detector], Check]] = [
    (broken.IgnoresVariables, checks.every_combination_once),
    (broken.ComparesVariablesByName, checks.every_combination_once),
    (broken.KeepsTheLatestOnly, checks.every_combination_once),
    (broken.ConsumesOnDetection, checks.every_combination_once),
    (broken.FillsOneLeafOnly, checks.every_combination_once),
    (broken.NotifiesPerOperand, checks.every_combination_once),
    (broken.FactorsOut, checks.every_combination_once),
    (broken.EndlessWindow, checks.every_combination_once),
    (broken.WindowOfArrivals, checks.arrivals_may_be_late),
    (broken.ForgetsToExpire, checks.arrivals_may_be_late),
    (broken.ForgetsToExpire, checks.time_leaves_nothing),
    (broken.KeepsFormerMatches, checks.another_life_begins_anew),
    (broken.CountsRepeats, checks.repeats_complete_nothing),
    (broken.KeepsLossesToItself, checks.losses_are_what_is_reported),
    (broken.ReportsTheWrongPublication, checks.losses_are_what_is_reported),
    (broken.DropsTheWholeStoreAtTheBound, checks.losses_are_what_is_reported),
]


@pytest.mark.parametrize(("detector", "check"), BROKEN)
def test_a_broken_detector_is_caught(detector: type[Detector], check: Check) -> None:
    @settings(drawing.search, max_examples=1000)
    @given(situations())
    def search(situation: checks.Situation) -> None:
        check(situation, detector)

    with pytest.raises(AssertionError):
        search()
