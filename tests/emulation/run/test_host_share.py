from __future__ import annotations

import time

from emulation.run.host_share import HostShare
from record.faults import FaultKind
from scenario.faults import FaultSchedule
from scenario.faults.conditions import Away, Cut, Down, Paused
from scenario.faults.planning import ScheduledFault
from scenario.faults.programs import Hold, Lift, Repeat, Sequence, Wait
from topology.link_properties import Link, LinkDirection, LinkProperties
from topology.model import Broker, Overlay
from topology.sites import ClientHost, Site

OVERLAY = Overlay("two", (Broker("A"), Broker("B"), Broker("C")), (Link("A", "B"), Link("B", "C")))
KILLS = Hold((Down("A", FaultKind.KILL), Down("B", FaultKind.KILL)), 2.0)
PARTITION = Hold((Cut(LinkDirection("A", "B")), Cut(LinkDirection("B", "A")), Cut(LinkDirection("B", "C"))))


LINK = LinkProperties(delay=0.01)
SITES = (Site("near", "A", ("P",), LINK, LINK), Site("far", "C", ("S1", "S2"), LINK, LINK))


def schedule() -> FaultSchedule:
    flap = Repeat(Sequence((PARTITION, Wait(1.0), Lift())))
    return FaultSchedule((ScheduledFault(0, KILLS, "faults[0].kill"), ScheduledFault(5, flap, "faults[1].flap")))


def test_who_is_alone_has_all_of_it() -> None:
    part = HostShare.whole(OVERLAY)
    assert part.brokers == {"A", "B", "C"}
    assert part.own(schedule()) == schedule()
    assert not part.suffix
    part.rendezvous.wait_for_all("anywhere", time.sleep)


def test_a_host_injects_the_faults_on_its_brokers_and_on_what_they_send() -> None:
    parts = [HostShare(brokers=frozenset("A"), host="h1"), HostShare(brokers=frozenset("BC"), host="h2")]
    kills, flap = parts[0].own(schedule()).entries
    assert kills == ScheduledFault(0, Hold((Down("A", FaultKind.KILL),), 2.0), "faults[0].kill")
    assert flap.program == Repeat(Sequence((Hold((Cut(LinkDirection("A", "B")),)), Wait(1.0), Lift())))
    assert parts[0].suffix == "@h1"
    everything = [condition for part in parts for _, condition in part.own(schedule()).conditions]
    assert sorted(map(str, everything)) == sorted(str(condition) for _, condition in schedule().conditions)


def test_a_site_is_on_its_brokers_host_with_the_faults_of_its_clients_and_of_its_access_link() -> None:
    parts = [HostShare(brokers=frozenset("A"), host="h1"), HostShare(brokers=frozenset("BC"), host="h2")]
    assert [[site.name for site in part.sites(SITES)] for part in parts] == [["near"], ["far"]]
    near, one = ClientHost("near", "near", ("P",)), ClientHost("S2", "far", ("S2",))
    conditions = (
        Away(near, FaultKind.CRASH), Paused(one), Cut(LinkDirection("far", "C")), Cut(LinkDirection("C", "far")),
    )  # fmt: skip
    whole = FaultSchedule((ScheduledFault(0, Hold(conditions), "faults[0].crash"),))
    found = [[condition for _, condition in part.own(whole, SITES).conditions] for part in parts]
    assert found == [[conditions[0]], [*conditions[1:]]]
