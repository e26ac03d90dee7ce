"""Meshes: what they refuse, and what they report without mending it."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology.inspection import Severity, inspect_mesh, inspect_overlay
from topology.link_properties import Link, LinkProperties, OverlayError
from topology.model import Broker, Overlay
from topology.underlays.mesh import Mesh, examine, mesh_of

NAN = math.nan


def mesh(*rows: list[float]) -> Mesh:
    return Mesh("m", tuple(Broker(name) for name in "ABCDEFGH"[: len(rows)]), np.array(rows, dtype=float))


@st.composite
def meshes(draw: st.DrawFn) -> Mesh:
    size = draw(st.integers(1, 6))
    cell = st.just(NAN) | st.sampled_from([0.0, 1.0, 1.001, 2.0, 3.0, 10.0])
    return mesh(*[[0.0 if row == column else draw(cell) for column in range(size)] for row in range(size)])


@given(meshes())
def test_the_examination_is_the_definitions(made: Mesh) -> None:
    found, delay = examine(made), made.delay
    ids = [broker.id for broker in made.brokers]
    pairs = list(permutations(ids, 2))
    assert set(found.missing) == {(a, b) for a, b in pairs if math.isnan(delay(a, b))}
    assert {(one.a, one.b) for one in found.asymmetric} == {
        (a, b) for a, b in pairs if a < b and abs(delay(a, b) - delay(b, a)) > 0.01 * max(delay(a, b), delay(b, a))
    }
    around = {
        (a, b): min([delay(a, c) + delay(c, b) for c in ids if not math.isnan(delay(a, c) + delay(c, b))], default=NAN)
        for a, b in pairs
    }
    violated = {(a, b) for a, b in pairs if around[a, b] < delay(a, b)}
    assert {(one.a, one.b) for one in found.violations} == violated
    for one in found.violations:
        assert one.direct == delay(one.a, one.b)
        assert one.detour == around[one.a, one.b] == delay(one.a, one.via) + delay(one.via, one.b)


def test_the_worst_is_reported_first() -> None:
    found = examine(mesh([0, 1, 9, 30], [1, 0, 1, 9], [8, 1, 0, 1], [20, 9, 1, 0]))
    assert [(one.a, one.b, one.via) for one in found.violations][:2] == [("A", "D", "B"), ("D", "A", "C")]
    assert [(one.a, one.b, one.forward, one.backward) for one in found.asymmetric] == [
        ("A", "D", 30, 20), ("A", "C", 9, 8)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0, -1], [1, 0]], "delay from A to B: must be zero or more seconds, not -1"),
        ([[0, 1], [math.inf, 0]], "delay from B to A"),
        ([[0, 1, 2], [1, 0, 2]], "as many rows and columns"),
    ],
)
def test_what_cannot_be_a_mesh(rows: list[list[float]], message: str) -> None:
    with pytest.raises(OverlayError, match=message):
        mesh(*rows)


def test_brokers_come_once() -> None:
    with pytest.raises(OverlayError, match="no name may occur twice"):
        Mesh("m", (Broker("A"), Broker("A")), np.zeros((2, 2)))


def test_a_mesh_cannot_be_changed_behind_its_back() -> None:
    delays = np.array([[7.0, 1.0], [2.0, 7.0]])
    made = Mesh("m", (Broker("A"), Broker("B")), delays)
    delays[0, 1] = 9
    assert made.delay("A", "B") == 1
    assert made.delay("A", "A") == 0
    with pytest.raises(ValueError, match="read-only"):
        made.delays[0, 1] = 9


def overlay(**delays: tuple[float, float]) -> Overlay:
    links = [
        Link(ends[0], ends[1], LinkProperties(there), LinkProperties(back)) for ends, (there, back) in delays.items()
    ]
    return Overlay("o", tuple(Broker(name) for name in sorted(set("".join(delays)))), tuple(links))


def test_the_mesh_of_an_overlay_has_its_fastest_paths() -> None:
    made = mesh_of(overlay(AB=(1, 10), BC=(2, 20), CA=(4, 40)))
    assert made.delays.tolist() == [[0, 1, 3], [6, 0, 2], [4, 5, 0]]


def test_links_slower_than_a_way_round_are_found() -> None:
    findings = list(inspect_overlay(overlay(AB=(1, 1), BC=(1, 1), AC=(5, 1.5))))
    assert [(one.severity, one.subject, one.element) for one in findings] == [
        (Severity.WARNING, "asymmetric delay", "link A - C"), (Severity.WARNING, "triangle violation", "link A - C")
    ]  # fmt: skip
    assert "5000 ms from A to C, 2000 ms over other links" in findings[1].message


def test_missing_delays_are_errors_and_the_rest_warnings() -> None:
    findings = list(inspect_mesh(mesh([0, NAN, 1], [1, 0, 1], [9, 1, 0])))
    assert {(one.severity, one.subject, one.element) for one in findings} == {
        (Severity.ERROR, "missing delay", "A to B"),
        (Severity.WARNING, "asymmetric delay", "A - C"),
        (Severity.WARNING, "triangle violation", "C to A"),
    }
