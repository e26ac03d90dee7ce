"""The mesh that is prepared for all servers, and the options that shape it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest

from broker_service.routing import read_options
from broker_service.routing.medym.mesh import prepared_mesh
from broker_service.routing.options import PlannedLink, Preparation

NAMES = ["C", "A", "B"]


def preparation(links: Sequence[PlannedLink]) -> Preparation:
    return Preparation(brokers={name: {} for name in NAMES}, links=links, advertisements={}, subscriptions={}, seed=0)


FULL = preparation([PlannedLink(a, b, 0.25, 0.5) for a, b in combinations(NAMES, 2)])


def test_all_servers_number_all_servers_alike() -> None:
    prepared = read_options("medym", {}).prepare(FULL)
    assert {prepared_mesh(content).servers for content in prepared.values()} == {("A", "B", "C")}
    assert prepared_mesh(prepared["B"]).numbers == {"A": 0, "B": 1, "C": 2}
    assert prepared_mesh(prepared["B"]).given is None


def test_given_distances_are_the_round_trips_of_links() -> None:
    prepared = read_options("medym", {"locations": "given"}).prepare(FULL)
    (given,) = {prepared_mesh(content).given for content in prepared.values()}
    assert given is not None
    assert given.values.tolist() == [[0, 0.75, 0.75], [0.75, 0, 0.75], [0.75, 0.75, 0]]


def test_an_overlay_that_lacks_a_link_is_refused() -> None:
    with pytest.raises(ValueError, match="a link between any two brokers"):
        read_options("medym", {}).prepare(preparation([PlannedLink("A", "B", 0, 0), PlannedLink("B", "C", 0, 0)]))


@pytest.mark.parametrize(
    "name",
    [
        "candidates",
        "overload_threshold",
        "announce_every",
        "pass_on_every",
        "status_every",
        "remembered",
        "recognition_bytes",
    ],
)
def test_options_that_must_be_positive(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be more than 0"):
        read_options("medym", {name: 0})


def test_an_announcement_tree_needs_two_children() -> None:
    with pytest.raises(ValueError, match="fan_out must be at least 2"):
        read_options("medym", {"fan_out": 1})
