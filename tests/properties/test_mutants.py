"""The properties themselves: each catches the routers that break it, and prints a case that shows the fault again."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_service.routing.tid import TidRouter
from studies.conformance.model import Case
from studies.conformance.protocols import PROTOCOLS
from studies.conformance.reading import parse_cases
from studies.conformance.result import CaseVerdict
from studies.conformance.running import run_case
from studies.conformance.simulated import SimulatedCaseRunner
from tests.proof import drawn
from tests.properties import checks, drawing, mutants
from tests.properties.strategies import cases

MUTANTS = [
    (checks.delivered_exactly_once, checks.FIXED, mutants.LosesEveryThird),
    (checks.delivered_exactly_once, checks.FIXED, mutants.ForwardsTwice),
    (checks.delivered_exactly_once, checks.DYNAMIC, mutants.NotifiesTwice),
    (checks.delivered_exactly_once, checks.FIXED, mutants.IgnoresUnsubscriptions),
    (checks.delivered_exactly_once, checks.FIXED, mutants.NotifiesEverybody),
    (checks.delivered_exactly_once, checks.DYNAMIC, mutants.MatchesItsOwnOnly),
    (checks.no_broker_receives_twice, checks.FIXED, mutants.ForwardsTwice),
    (checks.tid_changes_notify_the_same, checks.DYNAMIC, mutants.LosesWhatChangesTrees),
    (checks.nothing_remains, checks.FIXED, mutants.KeepsWithdrawalsToItself),
    (checks.nothing_remains, checks.DYNAMIC, mutants.IgnoresUnadvertisements),
    (checks.nothing_lives_for_ever, checks.FIXED, mutants.FloodsPublications),
    (checks.nothing_lives_for_ever, checks.DYNAMIC, mutants.KeepsEveryAdvertisement),
]
WORKLOADS: Mapping[checks.Property, st.SearchStrategy[Case]] = {
    checks.tid_changes_notify_the_same: cases(settled=True),
    checks.nothing_remains: cases(withdrawn=True),
}


def caught(property: checks.Property, protocol: str, strategy: st.SearchStrategy[Case], examples: int = 400) -> str:
    """The case that the first failure prints, not shrunk. Fails when the property finds nothing wrong."""

    @settings(drawing.search, max_examples=examples)
    @given(case=strategy)
    def search(case: Case) -> None:
        property(case, protocol)

    with pytest.raises(checks.BrokenError) as error:
        search()
    return error.value.case


@pytest.mark.parametrize(("property", "protocol", "router"), drawn(MUTANTS))
def test_a_broken_router_is_caught(property: checks.Property, protocol: str, router: type[TidRouter]) -> None:
    with mutants.in_place_of("tid", router):
        caught(property, protocol, WORKLOADS.get(property, cases()))


@pytest.mark.parametrize("router", [mutants.LosesEveryThird, mutants.NotifiesTwice, mutants.NotifiesEverybody])
def test_the_case_that_is_printed_shows_the_fault_again(router: type[TidRouter]) -> None:
    with mutants.in_place_of("tid", router):
        text = caught(checks.delivered_exactly_once, checks.FIXED, cases())
        (case,) = parse_cases(text, "printed.json", json_only=True)
        assert isinstance(case, Case)
        result = run_case(case, PROTOCOLS[checks.FIXED], SimulatedCaseRunner())
        assert result.verdict is CaseVerdict.FAILED
        assert len(result.differences) >= 1
