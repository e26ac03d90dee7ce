"""Overlays that change, against a naive replay of their changes, and their lines of JSON."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise

import msgspec
import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topology.drawings.drawing import to_svg
from topology.evolutions.evolution import Appears, Change, Connectivity, Evolution, Lifetime, Moment, Vanishes
from topology.evolutions.evolution_files import to_json_lines
from topology.files import from_json
from topology.link_properties import Link, LinkProperties, OverlayError
from topology.metrics import metrics
from topology.model import Broker, Overlay

SEEDS = st.integers(0, 2**32)


def overlay(brokers: str, *links: str, partitions: bool = True) -> Overlay:
    return Overlay("o", tuple(map(Broker, brokers)), tuple(Link(*link) for link in links), partitions)


def random_evolution(seed: int, brokers: int, changes: int) -> Evolution:
    """Random links that come and go at whole seconds, several at one time."""
    rng = random.Random(seed)
    names = "ABCDEFGH"[:brokers]
    pairs = list(combinations(names, 2))
    present = {pair for pair in pairs if rng.random() < 0.5}
    start = Overlay("o", tuple(map(Broker, names)), tuple(Link(a, b) for a, b in sorted(present)), True)
    made: list[Change] = []
    time = 0.0
    for _ in range(changes):
        time += rng.choice((0, 0, 1, 2))
        a, b = pair = rng.choice(pairs)
        if pair in present:
            made.append(Vanishes(time, *rng.sample(pair, 2)))
        else:
            made.append(Appears(time, Link(a, b, LinkProperties(delay=rng.random()))))
        present ^= {pair}
    return Evolution(start, tuple(made))


EVOLUTIONS = st.builds(random_evolution, SEEDS, st.integers(2, 6), st.integers(0, 20))


def replayed(evolution: Evolution, time: float) -> dict[frozenset[str], Link]:
    links = {frozenset((link.a, link.b)): link for link in evolution.start.links}
    for change in evolution.changes:
        if change.at <= time and isinstance(change, Appears):
            links[frozenset((change.link.a, change.link.b))] = change.link
        elif change.at <= time and isinstance(change, Vanishes):
            del links[frozenset((change.a, change.b))]
    return links


def graph_of(evolution: Evolution, time: float) -> nx.Graph[str]:
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(broker.id for broker in evolution.start.brokers)
    graph.add_edges_from(tuple(ends) for ends in replayed(evolution, time))
    return graph


@given(evolution=EVOLUTIONS, time=st.integers(0, 30))
def test_the_overlay_at_a_time_has_the_links_of_a_replay(evolution: Evolution, time: int) -> None:
    then = evolution.at(time)
    assert {frozenset((link.a, link.b)): link for link in then.links} == replayed(evolution, time)
    assert then.brokers == evolution.start.brokers


@given(evolution=EVOLUTIONS, time=st.integers(0, 30), later=st.integers(0, 10))
def test_from_a_later_time_on_it_is_the_same(evolution: Evolution, time: int, later: int) -> None:
    assert evolution.since(time).at(later) == evolution.at(time + later)


@given(evolution=EVOLUTIONS, end=st.integers(1, 30))
def test_moments_are_those_of_networkx(evolution: Evolution, end: int) -> None:
    moments = list(evolution.moments(end))
    assert moments[0].begin == 0 and moments[-1].end == end
    assert all(first.end == second.begin for first, second in pairwise(moments))
    times = {change.at for change in evolution.changes}
    for moment in moments:
        assert not any(moment.begin < time < moment.end for time in times)
        parts = [len(part) for part in nx.connected_components(graph_of(evolution, moment.begin))]
        pairs = sum(size * (size - 1) for size in parts) / (sum(parts) * (sum(parts) - 1))
        assert (moment.parts, moment.pairs) == (len(parts), pytest.approx(pairs))
    connected = sum(
        nx.is_connected(graph_of(evolution, second)) for second in range(end)
    )  # changes are at whole seconds
    assert evolution.connectivity(end).time == pytest.approx(connected / end)


@given(evolution=EVOLUTIONS)
def test_lifetimes_cover_each_link_while_it_is_there(evolution: Evolution) -> None:
    lifetimes = evolution.lifetimes()
    assert [life.link for life in lifetimes if life.appearance is None] == list(evolution.start.links)
    assert set(evolution.links()) == {life.link for life in lifetimes}
    assert len(evolution.durations()) == sum(life.disappearance is not None for life in lifetimes)
    for half_second in range(60):
        time = half_second / 2
        there = Counter(
            life.link
            for life in lifetimes
            if (life.appearance is None or evolution.changes[life.appearance].at <= time)
            and (life.disappearance is None or time < evolution.changes[life.disappearance].at)
        )
        assert there == Counter(evolution.at(time).links)


def test_a_worked_example() -> None:
    evolution = Evolution(
        overlay("ABC", "AB", "BC"),
        (Vanishes(1, "C", "B"), Appears(3, Link("A", "C")), Vanishes(5, "A", "B"), Appears(5, Link("B", "C"))),
    )
    assert list(evolution.moments(10)) == [
        Moment(0, 1, 1, 1.0),
        Moment(1, 3, 2, pytest.approx(1 / 3)),
        Moment(3, 5, 1, 1.0),
        Moment(5, 10, 1, 1.0),
    ]
    assert evolution.connectivity(10) == Connectivity(0.8, pytest.approx(0.8 + 0.2 / 3))
    assert evolution.lifetimes() == (
        Lifetime(Link("A", "B"), None, 2),
        Lifetime(Link("B", "C"), None, 0),
        Lifetime(Link("A", "C"), 1, None),
        Lifetime(Link("B", "C"), 3, None),
    )
    assert evolution.durations() == [5, 1]


def test_changes_of_one_time_happen_together() -> None:
    """A, B and C stay connected although the order of the two changes leaves C alone in between."""
    start = overlay("ABC", "AB", "BC", partitions=False)
    assert Evolution(start, (Vanishes(1, "B", "C"), Appears(1, Link("A", "C")))).at(1).neighbours("C") == ("A",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ((Vanishes(1, "A", "C"),), "link A - C at 1 s: vanishes, and is not there"),
        ((Vanishes(1, "A", "B"), Vanishes(2, "B", "A")), "link B - A at 2 s: vanishes, and is not there"),
        ((Appears(1, Link("B", "A")),), "link B - A at 1 s: appears, and is there already"),
        ((Appears(1, Link("A", "Z")),), "there is no broker 'Z'"),
        ((Appears(1, Link("A", "A")),), "linked to itself"),
        ((Appears(-1, Link("A", "C")),), "zero or more seconds"),
        ((Appears(float("nan"), Link("A", "C")),), "zero or more seconds"),
        ((Appears(2, Link("A", "C")), Vanishes(1, "A", "B")), "comes after a change at 2 s"),
    ],
)
def test_impossible_changes_are_refused(changes: tuple[Change, ...], message: str) -> None:
    with pytest.raises(OverlayError, match=message):
        Evolution(overlay("ABC", "AB", "BC"), changes)


def test_a_disconnected_moment_is_legal_only_where_it_is_allowed() -> None:
    changes = (Vanishes(1.5, "A", "B"), Appears(2, Link("A", "C")))
    with pytest.raises(OverlayError, match=r"1\.5 s after its start the overlay is disconnected: 2 parts"):
        Evolution(overlay("ABC", "AB", "BC", partitions=False), changes)
    assert Evolution(overlay("ABC", "AB", "BC"), changes).at(1.7).links == (Link("B", "C"),)


def test_a_disconnected_moment_is_measured_and_drawn() -> None:
    made = overlay("ABCDE", "AB", "BC", "DE")
    numbers = metrics(made)
    assert (numbers.parts, numbers.diameter) == (2, 2)
    assert numbers.mean_path == pytest.approx((1 + 1 + 2 + 1) / 4), "over the pairs that have a path"
    assert to_svg(made).count("<circle") == 5
    assert metrics(replace(made, links=())).mean_path == 0


@settings(max_examples=30)
@given(evolution=EVOLUTIONS)
def test_the_lines_have_everything(evolution: Evolution) -> None:
    header, *lines = to_json_lines(evolution).splitlines()
    start, changes = msgspec.json.decode(header), list(map(msgspec.json.decode, lines))
    assert (start["schema"], from_json(msgspec.json.encode(start["start"]))) == (1, evolution.start)
    assert [
        Appears(change["at"], msgspec.convert(change["appear"], Link))
        if "appear" in change
        else Vanishes(change["at"], *change["vanish"])
        for change in changes
    ] == list(evolution.changes)


@given(evolution=EVOLUTIONS)
def test_later_links_are_the_first_of_pairs_that_are_not_linked_at_the_start(evolution: Evolution) -> None:
    first: dict[frozenset[str], Link] = {}
    for change in evolution.changes:
        if isinstance(change, Appears):
            first.setdefault(frozenset((change.link.a, change.link.b)), change.link)
    start = {frozenset((link.a, link.b)) for link in evolution.start.links}
    later = evolution.later_links()
    assert list(later) == [link for pair, link in first.items() if pair not in start]
    assert evolution.later_pairs() == tuple((link.a, link.b) for link in later)
    both = replace(evolution.start, links=(*evolution.start.links, *later))
    assert len(both.links) == len({frozenset((link.a, link.b)) for link in evolution.links()})


@given(evolution=EVOLUTIONS, within=st.sampled_from((0.5, 1.0, 2.0, 3.0, 100.0)))
def test_the_most_changes_within_a_time_are_those_of_a_search(evolution: Evolution, within: float) -> None:
    times = [change.at for change in evolution.changes]
    counts = {begin: sum(begin <= time < begin + within for time in times) for begin in times}
    most, begin = evolution.most_changes(within)
    assert most == max(counts.values(), default=0)
    assert counts.get(begin, 0) == most
