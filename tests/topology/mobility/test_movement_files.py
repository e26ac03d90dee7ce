"""Movement files of BonnMotion and ns-2: small examples by hand, round trips, and each mistake with its line."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topology.link_properties import OverlayError
from topology.links import Range
from topology.mobility import Area, Trajectory, Walk, movement_files, random_direction, random_waypoint
from topology.mobility.movement_files import load_movements, to_bonnmotion

SEEDS = st.integers(0, 2**32)
BONNMOTION = """\
# two nodes
0.0 10.0 20.0 5.0 20.0 20.0 8.0 20.0 20.0 10.0 20.0 24.0
2.0 1.0 1.0
"""
NS2 = """\
#
# nodes: 3, pause: 0.00
#
$node_(1) set X_ 0.0
$node_(1) set Y_ 5.0
$node_(1) set Z_ 0.000000000000
$node_(0) set X_ 0.0
$node_(0) set Y_ 0.0
$god_ set-dist 0 1 1
$ns_ at 4.0 "$node_(0) setdest 3.0 4.0 1.0"
$ns_ at 1.0 "$node_(0) setdest 2.0 0.0 0.5"
$ns_ at 1.5 "$god_ set-dist 0 1 2"
$ns_ at 10.0 "$node_(0) setdest 0.0 0.0 0.0"
"""


def write(directory: Path, name: str, text: str) -> Path:
    path = directory / name
    path.write_text(text)
    return path


def test_bonnmotion(tmp_path: Path) -> None:
    ways = load_movements(write(tmp_path, "two.movements", BONNMOTION))
    assert list(ways) == ["B1", "B2"]
    expected = [(10, 20), (15, 20), (20, 20), (20, 20), (20, 22), (20, 24), (20, 24)]
    assert [ways["B1"].at(time) for time in (0.0, 2.5, 5.0, 7.0, 9.0, 10.0, 99.0)] == expected
    assert ways["B2"].at(0.0) == ways["B2"].at(50.0) == (1, 1)


def test_a_gzipped_file(tmp_path: Path) -> None:
    packed = tmp_path / "two.movements.gz"
    packed.write_bytes(gzip.compress(BONNMOTION.encode()))
    assert load_movements(packed) == load_movements(write(tmp_path, "two.movements", BONNMOTION))


@pytest.mark.parametrize("name", ["three.ns_movements", "three.tcl"])
def test_ns2(tmp_path: Path, name: str) -> None:
    """Node 0 is on its way from (0, 0) to (2, 0) when it is sent to (3, 4); there it stays."""
    ways = load_movements(write(tmp_path, name, NS2))
    assert list(ways) == ["B1", "B2"], "in the order of node numbers"
    first = ways["B1"]
    assert [first.at(time) for time in (0.0, 1.0, 3.0, 4.0)] == [(0, 0), (0, 0), (1, 0), (1.5, 0)]
    assert first.at(4.0 + 4.272001872658765) == pytest.approx((3, 4)), "sqrt(1.5^2 + 4^2) m at 1 m/s"
    assert first.at(20.0) == pytest.approx((3, 4))
    assert ways["B2"].at(7.0) == (0, 5)


def random_ways(seed: int) -> list[Trajectory]:
    rng = random.Random(seed)
    area, walk = Area(100.0, 60.0), Walk(Range(1.0, 5.0), Range(0.0, 4.0))
    return [model(area.draw(rng), area, walk, 100.0, rng) for model in (random_direction, random_waypoint)]


@settings(max_examples=25)
@given(seed=SEEDS, time=st.floats(0, 120))
def test_traces_survive_a_round_trip(seed: int, time: float, tmp_path_factory: pytest.TempPathFactory) -> None:
    ways = random_ways(seed)
    directory = tmp_path_factory.mktemp("movements")
    bonnmotion = load_movements(write(directory, "a.movements", to_bonnmotion(ways)))
    ns2 = load_movements(write(directory, "a.ns_movements", to_ns2(ways)))
    for number, way in enumerate(ways, start=1):
        assert bonnmotion[f"B{number}"].at(time) == pytest.approx(way.at(time), abs=1e-9)
        assert ns2[f"B{number}"].at(time) == pytest.approx(way.at(time), abs=1e-6)


def to_ns2(ways: list[Trajectory]) -> str:
    lines = []
    for number, way in enumerate(ways):
        x, y = way.at(0.0)
        lines += [f"$node_({number}) set X_ {x!r}", f"$node_({number}) set Y_ {y!r}"]
        for leg in way.legs:
            speed = (leg.velocity[0] ** 2 + leg.velocity[1] ** 2) ** 0.5
            x, y = leg.at(leg.end)
            lines.append(f'$ns_ at {leg.begin!r} "$node_({number}) setdest {x!r} {y!r} {speed!r}"')
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.movements", "0 1 2\n0 1 2 3\n", ":2: 4 numbers; a line has triples"),
        ("a.movements", "0 1 x\n", ":1: 'x' is not a number"),
        ("a.movements", "0 1 nan\n", ":1: 'nan' is not a number"),
        ("a.movements", "0 1 1_0\n", ":1: '1_0' is not a number"),
        ("a.movements", "0 1 1e308\n", ":1: '1e308' is out of bounds; numbers are 1e+09 at most"),
        ("a.movements", "0 1 1 5e-324 2 2\n", ":1: faster than 1e+09 m/s from 0 s to 4.94066e-324 s"),
        ("a.tcl", "$node_(0) set X_ -1e10\n", ":1: '-1e10' is out of bounds"),
        ("a.movements", "\n5 1 1 4 2 2\n", ":2: the time 4 follows 5"),
        ("a.movements", "5 1 1 5 2 2\n", ":1: two positions at 5 s"),
        ("a.movements", "#3D\n0 1 1 1\n", ":1: movements in three dimensions"),
        ("a.movements", "# nothing\n", ": no node"),
        ("a.movements", "0 1 1\n" * 10_001, ": more than 10,000 nodes"),
        ("a.movements.gz", "0 1 1\n", ": not gzipped"),
        ("a.tcl", "$node_(0) set X_ 1\n$node_(0) set Y_ up\n", ":2: 'up' is not a number"),
        ("a.tcl", "$node_(0) set X_ 1\n", ": node 0 has no start"),
        ("a.tcl", "set opt(x) 1\n", ":1: neither a start such as"),
        ("a.tcl", '$ns_ at -1 "$node_(0) setdest 1 1 1"\n', ":1: a move has a time and a speed from 0"),
        ("a.tcl", '$ns_ at 1 "$node_(0) set X_ 5"\n', ":1: neither a start such as"),
        ("a.csv", "", ": a movement file is called"),
        ("movements", "", ": a movement file is called"),
        ("a.gz", "", ": a movement file is called"),
    ],
)
def test_each_mistake_is_named_with_its_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = write(tmp_path, name, text)
    with pytest.raises(OverlayError) as raised:
        load_movements(path)
    assert str(raised.value).startswith(f"{path}{message}")


def test_files_are_bounded_also_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(movement_files, "LARGEST_FILE", 1000)
    packed = tmp_path / "a.movements.gz"
    packed.write_bytes(gzip.compress(b"0 1 1\n" * 10_000))
    for path in (packed, write(tmp_path, "a.tcl", "#" * 1001)):
        with pytest.raises(OverlayError, match="larger than the"):
            load_movements(path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.movements").write_bytes(b"\xff")
    with pytest.raises(OverlayError, match="not UTF-8 text"):
        load_movements(tmp_path / "a.movements")
