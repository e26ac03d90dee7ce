"""Rooms of a layered graph are placed beside one another, in their layers, with few crossings."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.architecture.drawings.layers import GAP, place

Layers = list[list[str]]
Arrows = list[tuple[str, str]]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Layers, Arrows, dict[str, float]]:
    """Layers from the ground up, arrows from higher to lower ones, and widths."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    layers = [[f"r{level}.{number}" for number in range(size)] for level, size in enumerate(sizes)]
    down = [
        (high, low) for level, layer in enumerate(layers) for high in layer for lower in layers[:level] for low in lower
    ]
    arrows = draw(st.lists(st.sampled_from(down), unique=True, max_size=12)) if down else []
    widths = {room: draw(st.floats(20, 200)) for layer in layers for room in layer}
    return layers, arrows, widths


@given(graphs())
def test_rooms_of_a_layer_do_not_overlap(graph: tuple[Layers, Arrows, dict[str, float]]) -> None:
    layers, arrows, widths = graph
    placed = place(layers, arrows, widths)
    for layer in layers:
        for left, right in pairwise(sorted(layer, key=lambda room: placed.centres[room])):
            least = (widths[left] + widths[right]) / 2 + GAP
            assert placed.centres[right] - placed.centres[left] >= least - 1e-6
    assert all(
        widths[room] / 2 - 1e-6 <= centre <= placed.width - widths[room] / 2 + 1e-6
        for room, centre in placed.centres.items()
    )


@given(graphs())
def test_an_arrow_bends_in_every_layer_that_it_passes(graph: tuple[Layers, Arrows, dict[str, float]]) -> None:
    layers, arrows, widths = graph
    level = {room: number for number, layer in enumerate(layers) for room in layer}
    placed = place(layers, arrows, widths)
    for high, low in arrows:
        passed = [number for number, _ in placed.bends[high, low]]
        assert passed == list(range(level[high] - 1, level[low], -1))


def test_crossings_that_can_be_avoided_are_avoided() -> None:
    layers = [["a", "b", "c"], ["x", "y", "z"]]
    placed = place(layers, [("x", "c"), ("y", "b"), ("z", "a")], dict.fromkeys("abcxyz", 40.0))
    order_below = sorted("abc", key=lambda room: placed.centres[room])
    order_above = sorted("xyz", key=lambda room: placed.centres[room])
    assert [{"x": "c", "y": "b", "z": "a"}[room] for room in order_above] == order_below


def test_a_room_stands_above_the_only_room_that_it_imports() -> None:
    placed = place([["a", "b"], ["x"]], [("x", "b")], dict.fromkeys("abx", 40.0))
    assert abs(placed.centres["x"] - placed.centres["b"]) < 2
