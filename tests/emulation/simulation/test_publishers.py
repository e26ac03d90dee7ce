"""Publishers that a router holds or refuses, in virtual time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker_service.language.content import encode_predicates
from broker_service.messages import Operation
from emulation.live_overlay import UnsettledError
from record.log import Event
from tests.broker_service.scripted import ALL, registered
from tests.emulation.simulation.scripted import Scripted


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with registered():
        yield


@pytest.fixture
def trial() -> Scripted:
    made = Scripted()
    made.attach("S", "B1")
    made.ask("S", Operation.SUBSCRIBE, "s1", encode_predicates(ALL.predicates))
    return made


def test_publications_wait_while_publishers_are_held(trial: Scripted) -> None:
    trial.do("hold:full tick:release:3")
    for _ in range(3):
        trial.do("deliver")
    assert trial.overlay.brokers.status()["B1"].held == 3
    with pytest.raises(UnsettledError, match="3 timers or held requests are left after 1 seconds"):
        trial.overlay.settle(1.0)
    assert trial.ids("S") == []
    assert trial.settled_after() == 2.0
    trial.do("deliver")
    trial.overlay.settle()
    assert trial.ids("S") == ["p2", "p3", "p4", "p5"]
    assert trial.overlay.brokers.status()["B1"].held == 0


def test_other_sessions_go_on_and_order_within_one_is_kept(trial: Scripted) -> None:
    trial.do("hold:full")
    trial.do("deliver")
    trial.sessions["P"].submit("P", Operation.UNADVERTISE, "a1")
    trial.sessions["S"].submit("S", Operation.UNSUBSCRIBE, "s1")
    trial.overlay.pass_time(1.0)
    client = trial.overlay.brokers.cores["B1"]._actions.clients
    assert set(client["P"].advertisements) == {"a1"}, "behind a publication that waits"
    assert set(client["S"].subscriptions) == set()


def test_publishers_may_be_held_again_at_once(trial: Scripted) -> None:
    trial.do("hold:full tick:release:1")
    trial.do("deliver hold:again")
    trial.do("deliver")
    trial.overlay.pass_time(2.0)
    assert trial.ids("S") == ["p2"]
    assert trial.overlay.brokers.status()["B1"].held == 1
    assert trial.overlay.events.pending == 1


@pytest.mark.parametrize("end", ["kill", "close"])
def test_what_is_held_when_the_session_ends_is_not_waited_for(trial: Scripted, end: str) -> None:
    trial.do("hold:full")
    trial.do("deliver")
    if end == "kill":
        trial.overlay.brokers.kill("B1")
    else:
        trial.sessions["P"].close()
    trial.overlay.settle(1.0)
    assert trial.overlay.events.pending == 0
    dropped = [record.text for record in trial.traces["B1"].records if record.event is Event.DROPPED]
    assert dropped == ([] if end == "kill" else ["session ended while publishers were held: full"])


def test_a_refused_publication_was_never_accepted(trial: Scripted) -> None:
    trial.do("refuse:enough")
    trial.do("deliver")
    trial.overlay.settle()
    status = trial.overlay.brokers.status()["B1"]
    assert (status.published, status.rejected) == (1, 1)
    (refused,) = [record for record in trial.traces["B1"].records if record.event is Event.REFUSED]
    assert (refused.id, refused.text) == ("p1", "enough")
    assert not [record for record in trial.traces["B1"].records if record.event is Event.REJECTED]
    assert trial.ids("S") == ["p2"]
