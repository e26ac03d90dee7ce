"""Latency matrices in CSV files."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology.link_properties import OverlayError
from topology.model import Broker
from topology.underlays.mesh import Mesh
from topology.underlays.mesh_files import Unit, from_csv, load_mesh, parse_matrix, to_csv


@given(st.lists(st.none() | st.integers(0, 10**10), min_size=16, max_size=16))
def test_round_trip_to_the_nanosecond(nanoseconds: list[int | None]) -> None:
    cells = [math.nan if value is None else value / 1e9 for value in nanoseconds]
    mesh = Mesh("m", tuple(Broker(f"B{i}") for i in range(4)), np.array(cells).reshape(4, 4))
    again = from_csv(to_csv(mesh), "m")
    assert again.brokers == mesh.brokers
    assert np.allclose(again.delays, mesh.delays, rtol=0, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize(
    ("unit", "delay"), [(Unit.DELAY_S, 8.0), (Unit.DELAY_MS, 0.008), (Unit.RTT_S, 4.0), (Unit.RTT_MS, 0.004)]
)
def test_units_by_the_corner_or_by_the_caller(unit: Unit, delay: float) -> None:
    assert from_csv(f"{unit},A,B\nA,,8\nB,-,0\n", "m").delay("A", "B") == delay
    told = from_csv(",A,B\nA,0,8\nB,na,0\n", "m", unit)
    assert told.delay("A", "B") == delay
    assert math.isnan(told.delay("B", "A"))


def test_a_row_of_names_above_a_square_of_numbers_names_its_brokers() -> None:
    mesh = from_csv("X,Y\n0,3\n4,0\n", "m", Unit.DELAY_S)
    assert [broker.id for broker in mesh.brokers] == ["X", "Y"]
    assert (mesh.delay("X", "Y"), mesh.delay("Y", "X")) == (3.0, 4.0)


def test_a_matrix_keeps_its_numbers_as_they_are_written() -> None:
    matrix = parse_matrix("metres,X,Y\nX,,3\nY,4.5,\n")
    assert (matrix.corner, matrix.names) == ("metres", ("X", "Y"))
    assert np.array_equal(matrix.numbers, [[np.nan, 3], [4.5, np.nan]], equal_nan=True)


def test_a_square_of_numbers_names_its_brokers_itself() -> None:
    mesh = from_csv("0, 3\n4, nan\n", "m", Unit.DELAY_S)
    assert [broker.id for broker in mesh.brokers] == ["B1", "B2"]
    assert mesh.delay("B2", "B1") == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("a,A,B\nA,0,1\nB,1,0", "the unit of its numbers is missing"),
        ("1,2\n3,4", "the unit of its numbers is missing"),
        ("rtt_ms,A,B\nA,0,1\nB,x,0", "line 3, column 'A': 'x' is not a number from 0"),
        ("rtt_ms,A,B\nA,0,-1\nB,1,0", "line 2, column 'B': '-1'"),
        ("rtt_ms,A,B\nA,0,inf\nB,1,0", "line 2, column 'B': 'inf'"),
        ("rtt_ms,A,B\nA,0,1", "the row of 'B' is missing"),
        ("rtt_ms,A,B\nA,0,1\nB,1,0\nC,1,0", "line 4: more rows than the 2 columns"),
        ("rtt_ms,A,B\nA,0\nB,1,0", "line 2: 1 cells for 2 brokers"),
        ("rtt_ms,A,B\nB,0,1\nA,1,0", "line 2: begins with 'B'; rows follow the columns, so 'A' is due"),
        ("rtt_ms,A,A\nA,0,1\nA,1,0", "line 1: 'A' names two columns"),
        ("rtt_ms,A b,B\nA b,0,1\nB,1,0", "broker id 'A b'"),
        ("rtt_ms,A,B\nA,0,1e400\nB,1,0", "line 2, column 'B': '1e400'"),
        ("rtt_ms,A,B\nA,0,1_0\nB,1,0", "line 2, column 'B': '1_0'"),
        ("1\n" * 20_000, "more than 10,000 rows"),
        (f"rtt_ms,{','.join(f'B{number}' for number in range(5_000))}", "5000 columns, 0 rows"),
        ('rtt_ms,"A', "not valid CSV"),
    ],
)
def test_bad_matrices_name_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(OverlayError, match=message) as raised:
        load_mesh(path)
    assert str(raised.value).startswith(f"{path}: ")


def test_the_corner_and_the_caller_must_agree() -> None:
    with pytest.raises(OverlayError, match="its corner states rtt_ms, but the caller asks for delay_s"):
        from_csv("rtt_ms,A\nA,0", "m", Unit.DELAY_S)


def test_text_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(OverlayError, match="not UTF-8"):
        load_mesh(path)


@given(st.text("rtt_ms,-\n\"'AB0123456789.e nan", max_size=60))
def test_any_text_is_a_mesh_or_refused(text: str) -> None:
    with contextlib.suppress(OverlayError):
        mesh = from_csv(text, "m", Unit.RTT_S if "rtt_ms" not in text else None)
        assert len(mesh.brokers) == len(mesh.delays) > 0
