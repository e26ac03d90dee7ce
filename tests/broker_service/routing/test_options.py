"""Planned meshes, against the same links as a list."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.cbf.tree import cbf_tree
from broker_service.routing.common.full_mesh import round_trips
from broker_service.routing.options import PlannedMesh, Preparation


@st.composite
def meshes(draw: st.DrawFn) -> PlannedMesh:
    """Meshes with many pairs that are equally far apart."""
    count = draw(st.integers(2, 7))
    delays = draw(st.lists(st.integers(0, 3), min_size=count**2, max_size=count**2))
    names = draw(st.permutations([f"B{number}" for number in range(count)]))
    return PlannedMesh(names, np.array(delays, np.float64).reshape(count, count) * (1 - np.eye(count)))


@given(meshes())
def test_protocols_prepare_alike_for_a_mesh_and_for_its_links(mesh: PlannedMesh) -> None:
    links = list(mesh)
    assert len(links) == len(mesh)
    assert cbf_tree(mesh.brokers, mesh) == cbf_tree(mesh.brokers, links)
    numbers = {broker: number for number, broker in enumerate(sorted(mesh.brokers))}
    of_mesh, of_links = (
        round_trips(
            Preparation(
                brokers={broker: {} for broker in numbers}, links=found, advertisements={}, subscriptions={}, seed=0
            ),
            numbers,
        )
        for found in (mesh, links)
    )
    assert of_mesh.dtype == of_links.dtype
    assert of_mesh.tolist() == of_links.tolist()
