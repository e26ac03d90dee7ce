"""Passing on of announcements: to whom, and which together."""

from __future__ import annotations

import random

import numpy as np

from broker_service.routing.medym.announcements.announcement_tree import AnnouncementTree
from broker_service.routing.medym.announcements.relay import Addressed, Relay
from broker_service.routing.medym.messages import MOST_BUNDLED, Bundle, Change, State, Status, Version, bundled

FAN_OUT = 16
TREE = AnnouncementTree(100, FAN_OUT)
OWN, CHILDREN = 1, [FAN_OUT + 1 + number for number in range(FAN_OUT)]


def announcement(server: int) -> Change:
    return Change(server, Version(1, 1), (), ())


def test_what_came_from_the_parent_does_not_go_back_and_children_get_one_bundle() -> None:
    relay = Relay(OWN, TREE)
    relay.add(announcement(50), 0)
    relay.add(announcement(51), CHILDREN[0])
    assert relay.waiting
    upwards, downwards = Bundle((announcement(51),)), Bundle((announcement(50), announcement(51)))
    assert list(relay.bundles()) == [Addressed([0], upwards), Addressed(CHILDREN, downwards)]
    assert not relay.waiting
    assert not list(relay.bundles())


def test_a_leaf_sends_nothing_back() -> None:
    relay = Relay(CHILDREN[0], TREE)
    relay.add(announcement(50), OWN)
    assert not list(relay.bundles())


def test_the_neighbours_of_a_failed_one_take_its_place() -> None:
    relay = Relay(OWN, TREE)
    siblings = set(range(2, FAN_OUT + 1))
    assert relay.set_failed(0, True) == (siblings, set())
    assert relay.neighbours == siblings | set(CHILDREN)
    assert relay.set_failed(0, False) == ({0}, siblings)


def test_whatever_fails_and_works_again_the_neighbours_are_those_of_the_tree() -> None:
    relay, failed, draws = Relay(OWN, TREE), np.zeros(TREE.servers, np.bool_), random.Random(1)
    for _ in range(2_000):
        server = draws.choice([0, *range(2, TREE.servers)])
        failed[server] = draws.random() < 0.5
        former = relay.neighbours
        joined, parted = relay.set_failed(server, bool(failed[server]))
        assert relay.neighbours == TREE.working_neighbours(OWN, failed)
        assert (joined, parted) == (relay.neighbours - former, former - relay.neighbours - {server})


def test_guests_stay_until_they_part_or_fail() -> None:
    relay = Relay(CHILDREN[0], TREE)
    for guest in (OWN, 50, 51):
        relay.admit(guest)
    assert relay.neighbours == {OWN, 50, 51}
    relay.dismiss(50)
    relay.set_failed(51, True)
    assert relay.neighbours == {OWN}


def test_bundles_are_bounded_and_nothing_is_left_out() -> None:
    subscription = bytes(MOST_BUNDLED // 3)
    states = [
        State(0, Version(1, 1), (subscription,) * 2),
        State(1, Version(1, 1), (subscription,)),
        State(2, Version(1, 1), (subscription,) * 4),
        State(3, Version(1, 1), (), Status(subscription, overloaded=False)),
        State(4, Version(1, 1), ()),
    ]
    bundles = [
        [state.server for state in bundle.announcements if isinstance(state, State)] for bundle in bundled(states)
    ]
    assert bundles == [[0], [1], [2], [3, 4]]
    assert not list(bundled(()))
