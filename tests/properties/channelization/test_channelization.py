"""The properties of channelization, over generated meshes, workloads, delays and faults.

Broken routers, and the property that catches each:

| router | property |
|---|---|
| `DoesNotFilter` | delivered exactly once |
| `ForwardsBack` | no broker receives twice |
| `DropsWhatIsHanded` | delivered exactly once |
| `IsNeverLate` | delivered exactly once, without a plan |
| `NeverLeaves` | nothing remains, without a plan |
| `TellsRestartedNothing` | delivered exactly once, without a plan and with restarts |

*Without a plan*, the preparation knows no subscriptions, so that every server joins its channels late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_service.messages import BrokerId
from broker_service.routing.channelization import ChannelizationOptions, ChannelizationRouter
from broker_service.routing.channelization import options as module
from broker_service.routing.channelization.plan import plans
from broker_service.routing.options import Preparation
from studies.conformance.model import Case
from tests.proof import drawn, tried
from tests.properties.channelization import channelization_checks as checks
from tests.properties.channelization import channelization_mutants as mutants
from tests.properties.checks import Property, delivered_once_at_each_broker, no_broker_receives_twice
from tests.properties.mutants import in_place_of
from tests.properties.strategies import DEATHS, cases, cases_with_faults
from tests.properties.test_mutants import caught

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@contextmanager
def without_a_plan() -> Iterator[None]:
    """The preparation knows no subscriptions but one, which cuts the space."""

    def knowing_one(preparation: Preparation, channels: int, attribute: str) -> Mapping[BrokerId, bytes]:
        planned = {broker: found[:1] for broker, found in list(preparation.subscriptions.items())[:1]}
        blind = Preparation(
            brokers=preparation.brokers,
            links=preparation.links,
            advertisements=preparation.advertisements,
            subscriptions=planned,
            seed=preparation.seed,
        )
        return plans(blind, channels, attribute)

    with mock.patch.object(module, "plans", knowing_one):
        yield


PLANS = {"planned": nullcontext, "late": without_a_plan}
on_all = pytest.mark.parametrize("planned", PLANS.values(), ids=PLANS)


@on_all
@settings(unhurried, max_examples=tried(19))
@given(case=cases())
def test_exactly_once_to_who_must_and_never_to_who_must_not(
    planned: type[AbstractContextManager[None]], case: Case
) -> None:
    with planned():
        delivered_once_at_each_broker(case, checks.CHANNELS)


@on_all
@settings(unhurried, max_examples=tried(19))
@given(case=cases(withdrawn=True))
def test_once_at_each_server_and_nothing_remains(planned: type[AbstractContextManager[None]], case: Case) -> None:
    with planned():
        no_broker_receives_twice(case, checks.CHANNELS)
        checks.nothing_remains(case, checks.CHANNELS)


@on_all
@settings(unhurried, max_examples=tried(13))
@given(case=cases_with_faults(DEATHS))
def test_exactly_once_again_when_servers_have_come_back(
    planned: type[AbstractContextManager[None]], case: Case
) -> None:
    with planned():
        delivered_once_at_each_broker(case, checks.CHANNELS)
        checks.nothing_remains(case, checks.CHANNELS)


MUTANTS: dict[type[ChannelizationRouter], tuple[Property, str, st.SearchStrategy[Case]]] = {
    mutants.DoesNotFilter: (delivered_once_at_each_broker, "planned", cases()),
    mutants.ForwardsBack: (no_broker_receives_twice, "planned", cases()),
    mutants.DropsWhatIsHanded: (delivered_once_at_each_broker, "planned", cases()),
    mutants.IsNeverLate: (delivered_once_at_each_broker, "late", cases()),
    mutants.NeverLeaves: (checks.nothing_remains, "late", cases(withdrawn=True)),
    mutants.TellsRestartedNothing: (delivered_once_at_each_broker, "late", cases_with_faults(DEATHS)),
}


@pytest.mark.parametrize("router", drawn(MUTANTS))
def test_a_broken_router_is_caught(router: type[ChannelizationRouter]) -> None:
    property, planned, strategy = MUTANTS[router]
    with in_place_of("channelization", router), PLANS[planned]():
        caught(property, checks.CHANNELS, strategy)


def test_channels_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="channels must be from 1 to"):
        ChannelizationOptions(channels=0)
