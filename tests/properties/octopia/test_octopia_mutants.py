"""The properties of OctopiA themselves: each catches the routers that break it."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from broker_service.routing.octopia import OctopiaRouter
from broker_service.routing.octopia.detours import CongestionDetours, FailureDetours, Relay
from studies.conformance.model import Case
from tests.proof import drawn
from tests.properties import checks
from tests.properties.octopia import detour_mutants, octopia_checks, octopia_mutants
from tests.properties.octopia.detour_mutants import in_place_of_detours
from tests.properties.octopia.octopia_checks import BEYOND, IDR, SPR
from tests.properties.octopia.octopia_mutants import in_place_of_octopia
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
from tests.properties.test_mutants import caught


def half_congested(holds: checks.Property) -> checks.Property:
    return octopia_checks.UnderCongestion(holds, 0.5)


FAULTY = scot_cases_with_faults(ALL_FAULTS)
MUTANTS = [
    (octopia_checks.delivered_exactly_once, SPR, scot_cases(), octopia_mutants.NotifiesTwice),
    (octopia_checks.delivered_exactly_once, SPR, scot_cases(), octopia_mutants.IgnoresWhoHasSubscribers),
    (octopia_checks.delivered_exactly_once, IDR, scot_cases(), octopia_mutants.KeepsSubscriptionsToItself),
    (octopia_checks.only_target_clusters_receive, SPR, scot_cases(), octopia_mutants.GoesToAllClusters),
    (octopia_checks.only_target_clusters_receive, SPR, scot_cases(), octopia_mutants.NeverUnsets),
    (octopia_checks.paths_are_short, SPR, crowded_cases(), octopia_mutants.GoesFromClusterToCluster),
    (checks.no_broker_receives_twice, SPR, crowded_cases(), octopia_mutants.LeavesWhatItHasDoneToOthersToo),
    (
        octopia_checks.publications_take_the_papers_paths,
        SPR,
        scot_cases(settled=True),
        octopia_mutants.TellsItsWholeCluster,
    ),
    (half_congested(octopia_checks.delivered_exactly_once), IDR, crowded_cases(), octopia_mutants.ForgetsWhatIsLeft),
    (half_congested(checks.no_broker_receives_twice), IDR, crowded_cases(), octopia_mutants.LeavesItToAll),
    (half_congested(checks.no_broker_receives_twice), IDR, crowded_cases(), octopia_mutants.ClearsNoBits),
    (
        half_congested(octopia_checks.only_target_clusters_receive),
        IDR,
        crowded_cases(),
        octopia_mutants.LeavesItToAnyCluster,
    ),
    (half_congested(octopia_checks.clusters_are_entered_once), IDR, crowded_cases(), octopia_mutants.SendsItBack),
    (half_congested(octopia_checks.clusters_are_entered_once), IDR, crowded_cases(), octopia_mutants.ClearsNoBits),
    (octopia_checks.order_is_kept, SPR, crowded_cases(), octopia_mutants.HoldsBackEverySecond),
    (octopia_checks.vectors_are_the_truth, SPR, churning_cases(), octopia_mutants.NeverUnsets),
    (octopia_checks.vectors_are_the_truth, SPR, churning_cases(), octopia_mutants.UnsetsWithTheFirstThatLeaves),
    (octopia_checks.vectors_are_the_truth, SPR, churning_cases(), octopia_mutants.SetsForOneAdvertisementOnly),
    (octopia_checks.vectors_are_the_truth, SPR, racing_cases(), octopia_mutants.SetsForLaterAdvertisementsToo),
    (octopia_checks.vectors_are_the_truth, SPR, churning_cases(), octopia_mutants.IgnoresUnadvertisements),
    (octopia_checks.vectors_are_the_truth, SPR, churning_cases(), octopia_mutants.KeepsWithdrawalsToItself),
    (octopia_checks.vectors_are_the_truth, SPR, FAULTY, octopia_mutants.TellsTheRestartedNothing),
    (octopia_checks.delivered_exactly_once, IDR, FAULTY, octopia_mutants.TellsTheRestartedNothing),
    (octopia_checks.nothing_remains, SPR, scot_cases(withdrawn=True), octopia_mutants.IgnoresUnadvertisements),
]


@pytest.mark.parametrize(("property", "protocol", "cases", "broken"), drawn(MUTANTS))
def test_a_broken_router_is_caught(
    property: checks.Property,
    protocol: str,
    cases: st.SearchStrategy[Case],
    broken: type[OctopiaRouter] | type[octopia_mutants.Mutant],
) -> None:
    with in_place_of_octopia(broken):
        caught(property, protocol, cases)


DETOURS = [
    (octopia_checks.a_dead_broker_is_gone_round, cases_with_a_dead_broker(), detour_mutants.TakesNoDetours),
    (octopia_checks.a_dead_broker_is_gone_round, cases_with_a_dead_broker(), detour_mutants.ForgetsWhoIsBehind),
    (
        octopia_checks.UnderCongestion(octopia_checks.a_dead_broker_is_gone_round, 0.8),
        cases_with_a_dead_broker(),
        detour_mutants.NeverTurnsBack,
    ),
    (octopia_checks.delivered_exactly_once, cases_with_a_broker_cut_off(), detour_mutants.StandsInForTheLiving),
    (half_congested(octopia_checks.delivered_exactly_once), crowded_cases(), detour_mutants.LooksAtWhatItPassesOn),
    (half_congested(octopia_checks.delivered_exactly_once), crowded_cases(), detour_mutants.GoesTheWrongWayRound),
]


@pytest.mark.parametrize(("property", "cases", "broken"), drawn(DETOURS))
def test_a_broken_way_round_is_caught(
    property: checks.Property,
    cases: st.SearchStrategy[Case],
    broken: type[Relay] | type[FailureDetours] | type[CongestionDetours],
) -> None:
    with in_place_of_detours(broken):
        caught(property, BEYOND, cases)


def test_routing_as_in_the_paper_does_not_go_round_a_dead_broker() -> None:
    caught(octopia_checks.a_dead_broker_is_gone_round, IDR, cases_with_a_dead_broker())
