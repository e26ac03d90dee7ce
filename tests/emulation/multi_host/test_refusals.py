from __future__ import annotations

import pytest

from emulation.multi_host.refusals import require_shareable, require_times_only
from emulation.planning.plan import VariantPlan, make_plan
from record.errors import HostError
from scenario.faults import Counter, CountReached, FaultSchedule
from scenario.faults.planning import ScheduledFault
from scenario.faults.programs import Lift
from scenario.loading import load_text

SCENARIO = """
name: s
topology: {kind: line, brokers: 3}
routing: {protocol: tid}
workload:
  publications: {source: stocks, publishers: 1, rate: 1/s, placement: [B1]}
  subscriptions: {subscribers: 2, selectivity: 50%, placement: [B2]}
timeline: {join: 1s, run: 9s, drain: 1s}
"""
SITES = """
clients: {sites: {oslo: {broker: B2, clients: S1, delay: 1ms}, rome: {broker: B3, clients: [], delay: 1ms}}}
"""
PLACEMENT = {"B1": "h1", "B2": "h1", "B3": "h2"}


def planned(more: str = "") -> VariantPlan:
    (variant,) = make_plan(load_text(SCENARIO + more, "s")).variants
    return variant


def test_clients_on_sites_and_their_faults_are_shared() -> None:
    faults = """
faults:
  - {at: run+1s, crash: oslo, for: 1s}
  - {at: run+1s, link_down: oslo-B2, for: 1s}
  - {at: run+4s, move: oslo, to: B3}
  - {at: run+5s, link_down: oslo->B3, for: 1s}
"""
    require_shareable(planned(), PLACEMENT)
    require_shareable(planned(SITES + faults), PLACEMENT)


def test_client_programs_are_refused() -> None:
    programs = SITES.replace("sites:", "programs: {S1: {command: [/bin/true]}}, sites:")
    with pytest.raises(HostError, match=r"clients\.programs: client programs run on one host only"):
        require_shareable(planned(programs), PLACEMENT)


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        (
            "{at: run+1s, move: S1, to: rome}",
            r"faults\[0\]\.move: S1 is on h1, and site rome on h2: clients go to sites on their own host; place both",
        ),
        (
            "{at: run+1s, move: oslo, to: B3}, {at: run+3s, degrade: B3->oslo, delay: 9ms}",
            r"faults\[1\]\.degrade: oslo is of h1, and B3 on h2: its access link from there has no faults; place both",
        ),
    ],
)
def test_faults_that_two_hosts_would_have_to_know_of_are_refused(faults: str, message: str) -> None:
    variant = planned(f"{SITES}faults: [{faults}]\n")
    with pytest.raises(HostError, match=message):
        require_shareable(variant, PLACEMENT)
    require_shareable(variant, dict.fromkeys(PLACEMENT, "h1"))


def test_faults_that_wait_for_a_count_are_refused() -> None:
    require_times_only(FaultSchedule((ScheduledFault(5, Lift(), "faults[0].heal"),)))
    counting = FaultSchedule((ScheduledFault(CountReached(100, Counter.NOTIFICATIONS), Lift(), "faults[0].heal"),))
    with pytest.raises(HostError, match=r"faults\[0\]\.heal: a fault that waits for a count"):
        require_times_only(counting)
