"""The properties of composite subscriptions themselves: each catches the brokers that break it.

| broken broker | caught by |
|---|---|
| withdrawing leaves all parts, or one, with the router | nothing remains |
| the same name again keeps the old matches | settled cases |
| parts of all composite subscriptions have the same internal clients | settled cases |
| delivers what matches a part to the client | settled cases |
| routes one part only | settled cases |
| ignores variables across parts | settled cases |
| keeps the latest match only | settled cases |
| consumes publications on detection | settled cases |
| lets a publication fill one part only | settled cases |
| runs `a & (b || c)` as `(a & b) || c` | settled cases |
| counts a publication twice that a router delivers twice | a router that delivers twice |
| overflows without a record | `test_composites.test_a_full_detector_logs_what_it_drops` |
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_service.core.composites import Composites
from broker_service.detection import Detector
from studies.conformance.model import Case
from tests.broker_service.detection import broken_variants as broken
from tests.proof import drawn
from tests.properties import checks, drawing, mutants
from tests.properties.composites import composite_checks, composite_mutants, composite_oracle
from tests.properties.composites.composite_strategies import composite_cases
from tests.properties.test_mutants import caught

SETTLED = composite_cases(settled=True)
WITHDRAWN = composite_cases(withdrawn=True)
RENEWED = composite_cases(settled=True, steps=50)
"""Long enough that a client often makes a composite subscription anew under a name it has withdrawn."""

EXAMPLES = 600
"""Cases among which one that shows a defect is sought."""
BROKERS: list[tuple[type[Composites], checks.Property, st.SearchStrategy[Case]]] = [
    (composite_mutants.LeavesParts, composite_checks.nothing_remains, WITHDRAWN),
    (composite_mutants.LeavesOnePart, composite_checks.nothing_remains, WITHDRAWN),
    (composite_mutants.KeepsFormerMatches, composite_checks.detected_exactly_once, RENEWED),
    (composite_mutants.SharesInternalClients, composite_checks.detected_exactly_once, SETTLED),
    (composite_mutants.DeliversParts, composite_checks.detected_exactly_once, SETTLED),
    (composite_mutants.RoutesTheFirstPartOnly, composite_checks.detected_exactly_once, SETTLED),
]
DETECTORS: list[type[Detector]] = [
    broken.IgnoresVariables,
    broken.KeepsTheLatestOnly,
    broken.ConsumesOnDetection,
    broken.FillsOneLeafOnly,
    broken.FactorsOut,
]


@pytest.mark.parametrize(("mutant", "property", "strategy"), drawn(BROKERS))
def test_a_broken_broker_is_caught(
    mutant: type[Composites], property: checks.Property, strategy: st.SearchStrategy[Case]
) -> None:
    with composite_mutants.in_place_of_composites(mutant):
        caught(property, checks.FIXED, strategy, EXAMPLES)


@pytest.mark.parametrize("mutant", drawn(DETECTORS))
def test_a_broken_detector_is_caught(mutant: type[Detector]) -> None:
    with composite_mutants.in_place_of_the_detector(mutant):
        caught(composite_checks.detected_exactly_once, checks.FIXED, SETTLED, EXAMPLES)


def counts_once(case: Case, protocol: str) -> None:
    """Detections are right though the router delivers publications of neighbours twice."""
    with mutants.in_place_of("tid", mutants.NotifiesTwice):
        outcome = checks.ended(case, protocol)
    if found := composite_oracle.violations(case, outcome.detected, protocol):
        raise checks.BrokenError("; ".join(found), outcome, protocol)


@settings(drawing.search, max_examples=30)
@given(case=SETTLED)
def test_a_publication_that_a_router_delivers_twice_counts_once(case: Case) -> None:
    counts_once(case, checks.FIXED)


def test_a_detector_that_counts_repeats_is_caught() -> None:
    with composite_mutants.in_place_of_the_detector(broken.CountsRepeats):
        caught(counts_once, checks.FIXED, SETTLED, EXAMPLES)
