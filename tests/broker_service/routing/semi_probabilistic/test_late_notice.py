"""Links that their brokers notice late: the router by its calls, and tables of whole overlays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.messages import Kind, Message
from broker_service.routing import read_options
from broker_service.routing.interface import Recall, SetTimer
from broker_service.routing.semi_probabilistic.late_notice import NEIGHBOUR_LEFT
from broker_service.routing.semi_probabilistic.messages import encode
from tests.broker_service.routing.semi_probabilistic.test_router import BODY, WANTED, Alone, events, sends
from tests.broker_service.routing.semi_probabilistic.test_tables import Course, Operations, courses, pairs, unhurried

AFTER = 0.5


def late(neighbours: str = "BCDE") -> Alone:
    """A router that has noticed its links, which its first subscription has gone over."""
    alone = Alone(neighbours, noticed_after=AFTER, threshold=1.0)
    for neighbour in neighbours:
        alone.router.timer(neighbour)
    return alone


def test_a_new_link_is_used_from_its_notice_on() -> None:
    alone = late("BC")
    alone.router.subscribe("s", "A.1.1", WANTED)
    assert list(alone.arrive("D")) == [SetTimer("D", AFTER, awaited=True)]
    assert [to for to, _ in events(alone.publish())] == ["B", "C"]
    assert [send.neighbour for send in sends(alone.router.timer("D"))] == ["D"]
    assert [to for to, _ in events(alone.publish())] == ["B", "C", "D"]


def test_a_message_over_a_new_link_is_a_notice() -> None:
    alone = late("BC")
    alone.router.subscribe("s", "A.1.1", WANTED)
    alone.arrive("D")
    actions = alone.announce("D", "X.1.1", 1)
    assert {(send.neighbour, send.message.id) for send in sends(actions)} == {
        ("B", "X.1.1"),
        ("C", "X.1.1"),
        ("D", "A.1.1"),
    }
    assert alone.router.tables() == {"subscription_table": {"A.1.1": [(None, 0)], "X.1.1": [("D", 1)]}}
    assert alone.router.timer("D") == ()


def test_a_lost_link_is_used_until_its_notice() -> None:
    alone = late("BC")
    alone.announce("C", "X.1.1", 1)
    assert list(alone.router.link_down("C")) == [SetTimer("C", AFTER, awaited=True)]
    assert events(alone.publish()) == [("C", "deterministic"), ("B", "random")]
    assert Recall("C") in alone.router.timer("C")
    assert events(alone.publish()) == [("B", "random")]
    assert alone.router.tables() == {"subscription_table": {}}


def test_what_goes_to_a_neighbour_that_has_left_is_dropped() -> None:
    dropped: list[tuple[str, str]] = []
    alone = Alone("BC", noticed_after=AFTER, threshold=1.0, dropped=dropped)
    for neighbour in "BC":
        alone.router.timer(neighbour)
    alone.announce("C", "X.1.1", 1)
    alone.leave("C")
    assert events(alone.publish()) == [("B", "random")]
    alone.router.subscribe("s", "A.1.1", WANTED)
    assert dropped == [("e", NEIGHBOUR_LEFT), ("A.1.1", NEIGHBOUR_LEFT)]
    assert Recall("C") not in alone.router.timer("C")


def test_a_link_that_comes_back_is_noticed_as_lost_and_new() -> None:
    alone = late("BC")
    alone.announce("C", "X.1.1", 1)
    alone.router.link_down("C")
    assert alone.router.link_up("C", 1)[0] == Recall("C")
    assert alone.router.tables() == {"subscription_table": {}}
    assert alone.router.timer("C") == ()
    assert events(alone.publish()) == [("B", "random"), ("C", "random")]


def test_a_link_that_goes_before_its_notice_has_never_been() -> None:
    alone = late("BC")
    alone.arrive("D")
    assert alone.router.link_down("D") == ()
    assert alone.router.timer("D") == ()
    assert not alone.router.receive("D", Message(Kind.SUBSCRIBE, "X.1.1", BODY, encode(1)))
    assert alone.router.tables() == {"subscription_table": {}}


def test_links_settle_within_the_time_of_notice() -> None:
    options = read_options("semi-probabilistic", {"noticed_after": AFTER})
    assert (options.settles_within, options.reconciles_within) == (AFTER, AFTER)
    assert options.times == ("noticed_after",)


@pytest.mark.proof
@unhurried
@given(links=st.sets(pairs), horizon=st.integers(0, 4), course=courses, seed=st.integers(0, 3), passing=st.data())
def test_tables_come_to_the_fixpoint_when_all_is_noticed(
    links: set[tuple[str, str]], horizon: int, course: Operations, seed: int, passing: st.DataObject
) -> None:
    trial = Course(sorted(links), horizon, seed, noticed_after=AFTER)
    for operation, steps in course:
        trial.perform(*operation)
        for _ in range(steps):
            trial.overlay.step()
        if passing.draw(st.booleans()):
            trial.overlay.fire_timers()
    trial.check()
