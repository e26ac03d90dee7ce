"""The properties of MEDYM where subscriptions go to servers with matching advertisements alone.

A subscription that a server loses, or does not pass on, is repeated by the server it comes from, so that no property
shows it; `test_advertised_exchange` tests each of the two.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.conformance.model import Case
from tests.proof import tried
from tests.properties import checks
from tests.properties.medym import medym_checks, medym_mutants
from tests.properties.medym.medym_checks import ADVERTISED
from tests.properties.medym.medym_mutants import Variant, in_place_of_the_right
from tests.properties.medym.medym_strategies import (
    crowds,
    crowds_with_cut_links,
    crowds_with_dead_brokers,
    crowds_with_dying_brokers,
    crowds_with_restarts,
)
from tests.properties.medym.test_medym import unhurried
from tests.properties.strategies import ALL_FAULTS, cases, cases_with_faults
from tests.properties.test_mutants import caught

FAULTY = cases_with_faults(ALL_FAULTS)


@settings(unhurried, max_examples=tried(7))
@given(case=cases())
def test_exactly_once_to_who_must_and_never_to_who_must_not(case: Case) -> None:
    checks.delivered_once_at_each_broker(case, ADVERTISED)


@settings(unhurried, max_examples=tried(7))
@given(case=FAULTY)
def test_under_all_faults_whoever_must_is_notified_once(case: Case) -> None:
    checks.delivered_once_at_each_broker(case, ADVERTISED)


@settings(unhurried, max_examples=tried(8))
@given(case=cases(settled=True))
def test_the_same_clients_are_notified_as_by_tid(case: Case) -> None:
    medym_checks.notified_as_by_tid(case, ADVERTISED)


@settings(unhurried, max_examples=tried(8))
@given(case=cases())
def test_servers_know_the_subscriptions_that_their_advertisements_match(case: Case) -> None:
    medym_checks.advertisers_alone_know_subscriptions(case, ADVERTISED)


@settings(unhurried, max_examples=tried(5))
@given(case=cases(withdrawn=True))
def test_nothing_remains_of_what_was_withdrawn(case: Case) -> None:
    medym_checks.nothing_remains(case, ADVERTISED)


@settings(unhurried, max_examples=tried(5))
@given(case=st.one_of(crowds(), crowds_with_dead_brokers(), crowds_with_restarts()))
def test_destinations_alone_receive_once(case: Case) -> None:
    medym_checks.destinations_alone_receive_once(case, ADVERTISED)


@settings(unhurried, max_examples=tried(5))
@given(case=st.one_of(crowds_with_dying_brokers(), crowds_with_cut_links()))
def test_failures_cost_the_clients_of_failed_brokers_alone(case: Case) -> None:
    medym_checks.crowds_are_notified_once(case, ADVERTISED)


@pytest.mark.parametrize(
    ("variant", "holds", "strategy"),
    [
        (medym_mutants.TellsEveryAdvertiser, medym_checks.advertisers_alone_know_subscriptions, cases()),
        (medym_mutants.IgnoresLateAdvertisements, checks.delivered_once_at_each_broker, cases()),
        (medym_mutants.KeepsFormerAdvertisements, medym_checks.advertisers_alone_know_subscriptions, cases()),
    ],
)
def test_a_broken_variant_is_caught(
    variant: Variant, holds: checks.Property, strategy: st.SearchStrategy[Case]
) -> None:
    with in_place_of_the_right(variant):
        caught(holds, ADVERTISED, strategy)
