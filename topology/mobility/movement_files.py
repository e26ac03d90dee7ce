"""Movement files of two well-known generators: BonnMotion's own format, and that of ns-2.

- BonnMotion (`.movements`, also gzipped as `.movements.gz`): a line for each node with triples of time, x and y. The
  node is at (x, y) at that time and moves straight at constant speed in between; lines that begin with # are comments.
- ns-2 (`.ns_movements`, `.tcl`): `$node_(0) set X_ 83.3` and `set Y_` give the start of a node,
  `$ns_ at 2.0 "$node_(0) setdest 90.4 44.8 1.37"` sends it straight to a point at a speed. Statements about `$god_` are
  skipped, because they repeat distances.

Times are seconds and lengths metres. Nodes become brokers B1, B2, ... in the order of lines or of node numbers.
"""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import islice, pairwise
from pathlib import Path
from typing import TypeVar

from record.files import open_file
from topology.bounded_files import read_bounded
from topology.link_properties import BrokerId, OverlayError
from topology.mobility.trajectories import Leg, Point, Trajectory
from topology.model import MOST_BROKERS

LARGEST_FILE = 64 << 20
"""Bytes, unpacked."""
MOST = 1e9
"""Largest number: metres, seconds, or metres a second. Larger ones would overflow in products."""
_NUMBER = r"([^\s\"]+)"
_START = re.compile(rf"\$node_\((\d{{1,9}})\)\s+set\s+([XYZ])_\s+{_NUMBER}")
_MOVE = re.compile(rf'\$ns_\s+at\s+{_NUMBER}\s+"\$node_\((\d{{1,9}})\)\s+setdest\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}"')
_GOD = re.compile(r'(\$ns_\s+at\s+\S+\s+")?\$god_\s.*')


_Read = TypeVar("_Read")


class _LineError(ValueError):
    """A line that cannot be read; the message does not name it."""


def load_movements(path: Path) -> dict[BrokerId, Trajectory]:
    """The trajectory of each broker, by a file whose name tells its format.

    Raises `OverlayError`, which names file and line, or `OSError`.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] == [".gz"]
    if packed:
        suffixes.pop()
    read = _FORMATS.get(suffixes[-1]) if suffixes else None
    if read is None:
        raise OverlayError(f"{path}: a movement file is called .movements (BonnMotion), .ns_movements or .tcl (ns-2)")
    ways = read(str(path), StringIO(_text(path, packed)))
    if not ways:
        raise OverlayError(f"{path}: no node in it has a position")
    return {f"B{number}": way for number, way in enumerate(ways, start=1)}


def to_bonnmotion(ways: Iterable[Trajectory]) -> str:
    """Trajectories in BonnMotion's format, exactly."""
    return "".join(" ".join(_triples(way)) + "\n" for way in ways)


def _triples(way: Trajectory) -> list[str]:
    points = [(leg.begin, *leg.position) for leg in way.legs]
    last = way.legs[-1]
    points.append((last.end, *last.at(last.end)))
    return [repr(float(number)) for point in points for number in point]


def _text(path: Path, packed: bool) -> str:
    with open_file(path) as raw:
        try:
            with gzip.open(raw) if packed else raw as file:
                content = read_bounded(file, path, LARGEST_FILE, "a movement file")
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise OverlayError(f"{path}: not gzipped: {error}") from error
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise OverlayError(f"{path}: not UTF-8 text") from error


def _from_bonnmotion(title: str, lines: Iterable[str]) -> list[Trajectory]:
    ways = list(islice(_each_line(title, lines, _bonnmotion_node), MOST_BROKERS + 1))
    if len(ways) > MOST_BROKERS:
        raise OverlayError(f"{title}: more than {MOST_BROKERS:,} nodes")
    return ways


def _bonnmotion_node(line: str) -> Trajectory | None:
    if not line or line.startswith("#"):
        if line.replace(" ", "").upper() == "#3D":
            raise _LineError("movements in three dimensions; brokers move in two")
        return None
    words = line.split()
    if len(words) % 3:
        raise _LineError(f"{len(words)} numbers; a line has triples of time, x and y")
    numbers = [_number(word) for word in words]
    return _through([(numbers[n], (numbers[n + 1], numbers[n + 2])) for n in range(0, len(numbers), 3)])


def _through(points: Sequence[tuple[float, Point]]) -> Trajectory:
    """The trajectory through these points, with their times."""
    legs = []
    for (begin, position), (end, following) in pairwise(points):
        if end < begin:
            raise _LineError(f"the time {end:g} follows {begin:g}; a node's times are in order")
        if end == begin:
            if position != following:
                raise _LineError(f"two positions at {begin:g} s")
            continue
        if math.dist(position, following) > MOST * (end - begin):
            raise _LineError(f"faster than {MOST:g} m/s from {begin:g} s to {end:g} s")
        velocity = (following[0] - position[0]) / (end - begin), (following[1] - position[1]) / (end - begin)
        legs.append(Leg(begin, end, position, velocity))
    return Trajectory(tuple(legs) or (Leg(points[0][0], points[0][0], points[0][1], (0.0, 0.0)),))


@dataclass(slots=True)
class _Ns2Node:
    """Statements about one node."""

    start: dict[str, float] = field(default_factory=dict)
    moves: list[tuple[float, Point, float]] = field(default_factory=list)
    """Time, destination and speed."""


def _from_ns2(title: str, lines: Iterable[str]) -> list[Trajectory]:
    nodes: dict[int, _Ns2Node] = {}
    for _ in _each_line(title, lines, lambda line: _ns2_statement(line, nodes)):
        pass
    return [_ns2_way(title, number, nodes[number]) for number in sorted(nodes)]


def _ns2_statement(line: str, nodes: dict[int, _Ns2Node]) -> None:
    if not line or line.startswith("#") or _GOD.fullmatch(line):
        return
    if start := _START.fullmatch(line):
        _node(nodes, start[1]).start[start[2]] = _number(start[3])
        return
    move = _MOVE.fullmatch(line)
    if move is None:
        raise _LineError(
            f"neither a start such as `$node_(0) set X_ 10.0` nor a move such as "
            f'`$ns_ at 2.0 "$node_(0) setdest 90.0 44.0 1.5"`: {line[:60]!r}'
        )
    time, x, y, speed = (_number(move[group]) for group in (1, 3, 4, 5))
    if time < 0 or speed < 0:
        raise _LineError(f"a move has a time and a speed from 0, not {time:g} and {speed:g}")
    _node(nodes, move[2]).moves.append((time, (x, y), speed))


def _node(nodes: dict[int, _Ns2Node], number: str) -> _Ns2Node:
    node = nodes.setdefault(int(number), _Ns2Node())
    if len(nodes) > MOST_BROKERS:
        raise _LineError(f"more than {MOST_BROKERS:,} nodes")
    return node


def _ns2_way(title: str, number: int, node: _Ns2Node) -> Trajectory:
    if not {"X", "Y"} <= node.start.keys():
        raise OverlayError(f"{title}: node {number} has no start: write `$node_({number}) set X_ 10.0` and `set Y_`")
    time, position = 0.0, (node.start["X"], node.start["Y"])
    legs: list[Leg] = []
    moves = sorted(node.moves, key=lambda move: move[0])
    for at, (begin, target, speed) in enumerate(moves):
        if begin > time:
            legs.append(Leg(time, begin, position, (0.0, 0.0)))
            time = begin
        until = moves[at + 1][0] if at + 1 < len(moves) else math.inf
        distance = math.dist(position, target)
        if speed == 0 or distance == 0 or until <= time:
            continue
        arrival = time + distance / speed
        velocity = speed * (target[0] - position[0]) / distance, speed * (target[1] - position[1]) / distance
        leg = Leg(time, min(arrival, until), position, velocity)
        legs.append(leg)
        time, position = leg.end, target if arrival <= until else leg.at(until)
    return Trajectory(tuple(legs) or (Leg(0.0, 0.0, position, (0.0, 0.0)),))


def _each_line(title: str, lines: Iterable[str], read: Callable[[str], _Read | None]) -> Iterator[_Read]:
    """Values read from the lines that have one. Raises `OverlayError`, which names the line."""
    for number, line in enumerate(lines, start=1):
        try:
            found = read(line.strip())
        except _LineError as error:
            raise OverlayError(f"{title}:{number}: {error}") from error
        if found is not None:
            yield found


def _number(word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in word:  # Python accepts _ between digits
        raise _LineError(f"{word[:40]!r} is not a number")
    if abs(number) > MOST:
        raise _LineError(f"{word[:40]!r} is out of bounds; numbers are {MOST:g} at most")
    return number


_FORMATS: Mapping[str, Callable[[str, Iterable[str]], list[Trajectory]]] = {
    ".movements": _from_bonnmotion,
    ".ns_movements": _from_ns2,
    ".tcl": _from_ns2,
}
