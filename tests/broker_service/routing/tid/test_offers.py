"""Offers of trees to restarted brokers: no tree leads in a circle, whichever neighbour offers it.

A broker offers no tree to the brokers that its path leads through. That only saves messages: a broker refuses a path
that leads through itself, so an offer below its own descendants changes nothing. The refusal is what matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

import networkx as nx
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from broker_service.messages import BrokerId
from broker_service.routing.interface import Send
from broker_service.routing.tid.messages import AdvertiseHeader, advertise_message, decode_advertise
from broker_service.routing.tid.tables import AdvertisementRow
from broker_service.routing.tid.trees import Trees
from tests.broker_service.overlay import CoreOverlay
from tests.broker_service.routing.stocks import above
from tests.proof import tried

ROOT, TREE = "B0", "B0.1.1"


@dataclass(frozen=True)
class Course:
    """An overlay of up to six brokers, and restarts of all but the publisher's, each followed by some steps."""

    links: tuple[tuple[str, str], ...]
    restarts: tuple[tuple[str, int], ...]
    seed: int


@st.composite
def courses(draw: st.DrawFn) -> Course:
    count = draw(st.integers(3, 6))
    names = [f"B{number}" for number in range(count)]
    pairs = [(a, b) for at, b in enumerate(names) for a in names[:at]]
    tree = [(draw(st.sampled_from(names[:at])), name) for at, name in enumerate(names) if at]
    links = tuple(dict.fromkeys([*tree, *draw(st.lists(st.sampled_from(pairs), max_size=4))]))
    restart = st.tuples(st.sampled_from(names[1:]), st.integers(0, 12))
    return Course(links, tuple(draw(st.lists(restart, max_size=5))), draw(st.integers(0, 1000)))


def last_hops(course: Course) -> dict[BrokerId, BrokerId | None]:
    """Last hop of the tree at each broker that has it, once the overlay is quiet after all restarts."""
    overlay = CoreOverlay(course.links, seed=course.seed)
    overlay.attach("P", ROOT)
    overlay.advertise("P", "a", above(0))
    overlay.settle()
    for broker, steps in course.restarts:
        overlay.kill(broker)
        overlay.restart(broker)
        for _ in range(steps):
            overlay.step()
    for _ in range(2):  # what is given up when timers run out may be offered again
        overlay.settle()
        overlay.fire_timers()
    overlay.settle()
    tables = {name: broker.tables()["subscription_routing_table"] for name, broker in overlay.brokers.items()}
    return {name: table[TREE] for name, table in tables.items() if TREE in table}  # type: ignore[index, operator]


def leads_to_the_root(course: Course) -> None:
    """Every broker has the tree, and follows it to the publisher's broker."""
    hops = last_hops(course)
    assert hops.keys() == {end for link in course.links for end in link}
    graph = nx.DiGraph([(name, hop) for name, hop in hops.items() if hop is not None])
    assert nx.is_directed_acyclic_graph(graph)
    assert hops[ROOT] is None and list(hops.values()).count(None) == 1


@contextmanager
def as_it_is() -> Iterator[None]:
    yield


@contextmanager
def offering_to_all() -> Iterator[None]:
    """Brokers offer trees to those that the path leads through, too."""

    def offer(self: Trees, neighbour: BrokerId, row: AdvertisementRow) -> list[Send]:
        if row.id in self._advertisements.ending:
            return []
        return [Send(neighbour, advertise_message(row, self._home.broker, len(row.path) + 1))]

    with mock.patch.object(Trees, "offer", offer):
        yield


@contextmanager
def accepting_all() -> Iterator[None]:
    """Broken: brokers offer to all, and do not see themselves in a path."""

    def without_path(header: bytes) -> AdvertiseHeader:
        return AdvertiseHeader(decode_advertise(header).path[-1:])

    with offering_to_all(), mock.patch("broker_service.routing.tid.trees.decode_advertise", without_path):
        yield


@pytest.mark.parametrize("variant", [as_it_is, offering_to_all])
def test_no_tree_leads_in_a_circle_after_restarts(variant: Callable[[], Iterator[None]]) -> None:
    @settings(max_examples=tried(30))
    @given(courses())
    def holds(course: Course) -> None:
        leads_to_the_root(course)

    with variant():  # type: ignore[attr-defined]
        holds()


def test_brokers_that_do_not_refuse_paths_through_themselves_are_caught() -> None:
    @settings(max_examples=3000, phases=[Phase.generate], database=None, derandomize=True)
    @given(courses())
    def holds(course: Course) -> None:
        leads_to_the_root(course)

    with accepting_all(), pytest.raises(AssertionError):
        holds()
