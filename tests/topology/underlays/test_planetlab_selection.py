"""Selection of measured sites, on small made-up matrices and against a naive clustering."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology.underlays.planetlab_selection import RoundTrips, average, complete, draw, groups

MATRICES = st.lists(st.floats(0, 100), min_size=2, max_size=12, unique=True).map(
    lambda points: np.abs(np.subtract.outer(np.array(points), np.array(points)))
)


@given(distances=MATRICES, limit=st.floats(1, 60))
def test_complete_linkage_keeps_groups_within_the_limit_and_apart_beyond_it(
    distances: RoundTrips, limit: float
) -> None:
    found = groups(distances, limit, complete)
    assert sorted(node for group in found for node in group) == list(range(len(distances)))
    assert all(distances[np.ix_(group, group)].max() <= limit for group in found)
    for index, group in enumerate(found):
        for other in found[index + 1 :]:
            assert distances[np.ix_(group, other)].max() > limit


def test_average_linkage_is_the_mean_over_all_pairs() -> None:
    points = np.array([0.0, 1.0, 9.0, 12.0])
    distances = np.abs(np.subtract.outer(points, points))
    assert groups(distances, 9.9, average) == [[0, 1], [2, 3]]
    assert groups(distances, 10.0, average) == [[0, 1, 2, 3]], "the mean of 9, 12, 8 and 11"


def _two_continents_and_an_island() -> RoundTrips:
    """120 nodes of Europe, 100 of the United States, two to a site, and one site far off; milliseconds."""

    positions = np.full(221, 900.0)
    positions[:120] = np.linspace(0, 60, 120)
    positions[120:220] = 300 + np.repeat(np.arange(50) * 2.5, 2)
    return np.abs(np.subtract.outer(positions, positions))


def test_a_draw_is_seeded_and_has_a_node_a_site() -> None:
    distances = _two_continents_and_an_island()
    names, round_trips = draw(distances, 1)
    assert [name.split("-")[0] for name in names[:44]] == ["us"] * 44
    assert {name.split("-")[0] for name in names[44:]} <= {"europe", "far"}
    assert len(set(names)) == len(names) == 56
    assert round_trips[np.triu_indices(44, 1)].min() >= 2.5, "two nodes of one site are never both drawn"
    assert np.array_equal(round_trips, draw(distances, 1)[1])
    assert not np.array_equal(round_trips, draw(distances, 2)[1])


def test_too_few_sites_for_a_draw() -> None:
    with pytest.raises(ValueError, match="larger than population"):
        draw(_two_continents_and_an_island()[:150, :150], 1)
