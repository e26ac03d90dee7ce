"""The properties of MEDYM themselves: each catches the routers that break it.

Some defects show in no delivery, because links keep order and each server splits lists on its own. Tests of one router
or of its parts catch these: announcements that are applied out of order, or not at all (`test_server_states`), copies
that are counted twice as load and second copies that are not passed on (`test_router`), and headers that no correct
server sends (`test_destination_lists`).
"""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from broker_service.routing.medym.announcements.relay import ServerStates
from studies.conformance.model import Case
from tests.broker_service.routing.medym.announcements.test_server_states import sums_are_those_of_their_versions
from tests.contracts.properties import no_broker_receives_in_vain
from tests.proof import drawn
from tests.properties import checks, drawing
from tests.properties.medym import medym_mutants
from tests.properties.medym.medym_checks import (
    MST,
    crowds_are_notified_once,
    destinations_alone_receive_once,
    nothing_remains,
    trees_are_minimum,
)
from tests.properties.medym.medym_mutants import Variant, in_place_of_the_right
from tests.properties.medym.medym_strategies import (
    crowds,
    crowds_that_grow_without_a_link,
    crowds_with_cut_links,
    crowds_with_dead_brokers,
    crowds_with_dying_brokers,
)
from tests.properties.strategies import ALL_FAULTS, cases, cases_with_faults
from tests.properties.test_mutants import caught

CLOSE = "medym-close"
FAULTY = cases_with_faults(ALL_FAULTS)
MUTANTS: list[tuple[Variant, checks.Property, str, st.SearchStrategy[Case]]] = [
    (medym_mutants.keeps_itself, destinations_alone_receive_once, MST, crowds()),
    (medym_mutants.shares_a_destination, destinations_alone_receive_once, CLOSE, crowds()),
    (medym_mutants.leaves_the_next_hop_out, crowds_are_notified_once, MST, crowds()),
    (medym_mutants.drops_the_tail, crowds_are_notified_once, CLOSE, crowds()),
    (medym_mutants.sends_to_each, trees_are_minimum, MST, crowds()),
    (medym_mutants.RemembersNothing, crowds_are_notified_once, MST, crowds_with_cut_links()),
    (medym_mutants.LosesWhatIsHandedBack, crowds_are_notified_once, MST, crowds_with_cut_links()),
    (medym_mutants.LeavesListsToTheQueue, crowds_are_notified_once, MST, crowds_with_dying_brokers()),
    (medym_mutants.ForgetsTheRestOfTheList, crowds_are_notified_once, MST, crowds_with_dying_brokers()),
    (medym_mutants.ForgetsTheNeighbour, crowds_are_notified_once, MST, crowds_with_cut_links()),
    (medym_mutants.SendsToTheDead, crowds_are_notified_once, MST, crowds_with_dead_brokers()),
    (medym_mutants.PassesNothingOn, crowds_are_notified_once, MST, crowds()),
    (medym_mutants.KnowsNoWayRound, crowds_are_notified_once, MST, crowds_that_grow_without_a_link()),
    (medym_mutants.TurnsGuestsAway, crowds_are_notified_once, MST, crowds_that_grow_without_a_link()),
    (medym_mutants.AnnouncesNothingToTheRestarted, checks.delivered_once_at_each_broker, MST, FAULTY),
    (medym_mutants.AnnouncesNoWithdrawals, no_broker_receives_in_vain, MST, cases(settled=True)),
    (medym_mutants.AnnouncesNoWithdrawals, nothing_remains, MST, cases(withdrawn=True)),
    (medym_mutants.SendsToEverybody, destinations_alone_receive_once, MST, crowds()),
    (medym_mutants.MatchesAtTheDestinationOnly, crowds_are_notified_once, MST, crowds()),
    (medym_mutants.NotifiesAllClients, crowds_are_notified_once, MST, crowds()),
    (medym_mutants.NumbersItsNeighbours, crowds_are_notified_once, MST, crowds()),
    (medym_mutants.BelievesTheFirst, trees_are_minimum, MST, crowds()),
]
"""Each broken variant, and the property, the algorithm and the workloads that catch it."""


@pytest.mark.parametrize(("variant", "holds", "protocol", "strategy"), drawn(MUTANTS))
def test_a_broken_variant_is_caught(
    variant: Variant, holds: checks.Property, protocol: str, strategy: st.SearchStrategy[Case]
) -> None:
    with in_place_of_the_right(variant):
        caught(holds, protocol, strategy)


@pytest.mark.parametrize("variant", [medym_mutants.TakesEachForTheLatest, medym_mutants.KeepsFormerSums])
def test_broken_states_are_caught(variant: type[ServerStates]) -> None:
    with pytest.raises(AssertionError):
        sums_are_those_of_their_versions(variant, drawing.search)
