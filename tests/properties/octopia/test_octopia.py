"""The properties of OctopiA, over generated SCOTs, workloads, delays and congestion.

A failure shrinks and prints a case; `brokerlab conformance --runtime simulated FILE` runs it again.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studies.conformance.model import Case
from tests.proof import tried
from tests.properties import checks
from tests.properties.octopia import octopia_checks
from tests.properties.octopia.octopia_checks import BEYOND, BOTH, IDR, SPR, Fickle, Steady, UnderCongestion
from tests.properties.octopia.octopia_strategies import (
    cases_with_a_broker_cut_off,
    cases_with_a_dead_broker,
    churning_cases,
    crowded_cases,
    racing_cases,
    scot_cases,
    scot_cases_with_faults,
)
from tests.properties.strategies import ALL_FAULTS

UNDER_ANY_CONGESTION = (
    octopia_checks.delivered_exactly_once,
    checks.no_broker_receives_twice,
    octopia_checks.only_target_clusters_receive,
    octopia_checks.clusters_are_entered_once,
)
SHARES = st.sampled_from((0.2, 0.5, 0.8, 1.0))
LINKS = st.sampled_from((Fickle, Steady))
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.mark.parametrize("protocol", BOTH)
@settings(unhurried, max_examples=tried(14))
@given(case=scot_cases())
def test_exactly_once_to_who_must_and_never_to_who_must_not(protocol: str, case: Case) -> None:
    octopia_checks.delivered_exactly_once(case, protocol)


@settings(unhurried, max_examples=tried(13))
@given(case=scot_cases())
def test_none_but_target_clusters_receive_publications(case: Case) -> None:
    octopia_checks.only_target_clusters_receive(case, SPR)


@settings(unhurried, max_examples=tried(13))
@given(case=scot_cases())
def test_paths_are_at_most_as_long_as_the_acyclic_factor_allows(case: Case) -> None:
    octopia_checks.paths_are_short(case, SPR)


@settings(unhurried, max_examples=tried(13))
@given(case=scot_cases())
def test_no_broker_receives_a_publication_twice(case: Case) -> None:
    checks.no_broker_receives_twice(case, SPR)


@settings(unhurried, max_examples=tried(13))
@given(case=crowded_cases())
def test_static_routing_keeps_the_order_of_publications(case: Case) -> None:
    octopia_checks.order_is_kept(case, SPR)


@pytest.mark.parametrize("protocol", BOTH)
@settings(unhurried, max_examples=tried(13))
@given(case=scot_cases(settled=True))
def test_publications_take_the_papers_paths_and_no_others(protocol: str, case: Case) -> None:
    """Without congestion, dynamic routing is static routing."""
    octopia_checks.publications_take_the_papers_paths(case, protocol)


@pytest.mark.parametrize("holds", UNDER_ANY_CONGESTION)
@settings(unhurried, max_examples=tried(8))
@given(case=crowded_cases(), congested=SHARES, links=LINKS)
def test_congestion_of_any_links_does_no_harm(
    holds: checks.Property, case: Case, congested: float, links: type[Fickle]
) -> None:
    UnderCongestion(holds, congested, links)(case, IDR)


@settings(unhurried, max_examples=tried(13))
@given(case=churning_cases())
def test_vectors_are_the_truth_once_the_overlay_is_quiet(case: Case) -> None:
    octopia_checks.vectors_are_the_truth(case, SPR)


@settings(unhurried, max_examples=tried(20))
@given(case=racing_cases())
def test_vectors_are_the_truth_whatever_messages_have_crossed_each_other(case: Case) -> None:
    octopia_checks.vectors_are_the_truth(case, SPR)


@settings(unhurried, max_examples=tried(13))
@given(case=scot_cases(withdrawn=True))
def test_tables_are_empty_when_everything_is_withdrawn(case: Case) -> None:
    octopia_checks.nothing_remains(case, SPR)


@pytest.mark.parametrize("protocol", (*BOTH, BEYOND))
@settings(unhurried, max_examples=tried(8))
@given(case=scot_cases_with_faults(ALL_FAULTS))
def test_whatever_broke_all_is_well_again_afterwards(protocol: str, case: Case) -> None:
    """Beyond the paper, which leaves failures out."""
    octopia_checks.delivered_exactly_once(case, protocol)
    octopia_checks.vectors_are_the_truth(case, protocol)


@settings(unhurried, max_examples=tried(13))
@given(case=crowded_cases(), congested=SHARES, links=LINKS)
def test_congestion_does_no_harm_either_where_routing_goes_beyond_the_paper(
    case: Case, congested: float, links: type[Fickle]
) -> None:
    UnderCongestion(octopia_checks.delivered_exactly_once, congested, links)(case, BEYOND)


@settings(unhurried, max_examples=tried(13))
@given(case=cases_with_a_dead_broker(), congested=st.sampled_from((0.0, 0.5, 0.9)), links=LINKS)
def test_a_dead_broker_is_gone_round(case: Case, congested: float, links: type[Fickle]) -> None:
    UnderCongestion(octopia_checks.a_dead_broker_is_gone_round, congested, links)(case, BEYOND)


@settings(unhurried, max_examples=tried(13))
@given(case=cases_with_a_broker_cut_off())
def test_a_broker_that_was_only_cut_off_gets_its_own_when_it_is_back_and_nobody_gets_anything_twice(case: Case) -> None:
    octopia_checks.delivered_exactly_once(case, BEYOND)
