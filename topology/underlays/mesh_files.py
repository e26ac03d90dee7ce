"""Latency matrices as CSV.

The first row names the brokers, and each further row begins with its broker's name; a cell is the delay of a message
from the row's broker to the column's. The corner is the unit, see `Unit`. A square of numbers is accepted too, below a
row of names or without one, with brokers B1, B2, ...; then, as with any other corner, the caller gives the unit. Cells
that are empty or `-`, `na` or `nan` are unknown; the diagonal is ignored.
"""

from __future__ import annotations

import csv
import enum
import io
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from record.files import open_file
from topology.bounded_files import read_bounded
from topology.link_properties import OverlayError
from topology.model import MOST_BROKERS, Broker, check_size
from topology.underlays.mesh import Mesh

LARGEST_MATRIX = 64 << 20
"""Bytes: about 2,400 brokers with the digits that `to_csv` writes."""
_Read = TypeVar("_Read")
_UNKNOWN = frozenset(("", "-", "na", "nan"))


class Unit(enum.StrEnum):
    """Meaning of a matrix's numbers: one-way delays or round-trip times, in seconds or milliseconds."""

    DELAY_MS = "delay_ms"
    DELAY_S = "delay_s"
    RTT_MS = "rtt_ms"
    RTT_S = "rtt_s"

    @property
    def seconds(self) -> float:
        """Seconds of one-way delay for the number 1. Each direction has half of a round trip."""
        return (0.5 if self.value.startswith("rtt") else 1.0) * (1e-3 if self.value.endswith("ms") else 1.0)


def to_csv(mesh: Mesh) -> str:
    """One-way delays in milliseconds, exact to the nanosecond."""
    ids = [broker.id for broker in mesh.brokers]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([Unit.DELAY_MS, *ids])
    for broker, row in zip(ids, mesh.delays, strict=True):
        writer.writerow([broker, *("" if math.isnan(delay) else f"{delay * 1e3:.6f}" for delay in row.tolist())])
    return text.getvalue()


def load_mesh(path: Path, unit: Unit | None = None) -> Mesh:
    """Reads a latency matrix; a file without a unit needs `unit`. Raises `OverlayError` or `OSError`."""
    return _load(path, lambda text: from_csv(text, path.stem, unit))


def load_matrix(path: Path) -> Matrix:
    """Reads a matrix whose unit does not matter. Raises `OverlayError` or `OSError`."""
    return _load(path, parse_matrix)


def from_csv(text: str, name: str, unit: Unit | None = None) -> Mesh:
    """The mesh that a CSV text describes. Raises `OverlayError`, which names the line and the column."""
    matrix = parse_matrix(text)
    factor = _unit(matrix.corner.lower(), unit).seconds
    return Mesh(name, tuple(map(Broker, matrix.names)), factor * matrix.numbers)


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """A square of numbers from 0 between named nodes, as it is written."""

    corner: str
    """First cell of the row of names; empty where there is none."""
    names: tuple[str, ...]
    numbers: NDArray[np.float64]
    """From the row's node to the column's; NaN where unknown."""


def parse_matrix(text: str) -> Matrix:
    """The matrix of a CSV text. Raises `OverlayError`, which names the line and the column."""
    try:
        reader = enumerate(csv.reader(io.StringIO(text), strict=True), 1)
        rows = list(islice(((number, row) for number, row in reader if any(row)), MOST_BROKERS + 2))
    except csv.Error as error:
        raise OverlayError(f"not valid CSV: {error}") from error
    if len(rows) > MOST_BROKERS + 1:
        raise OverlayError(f"more than {MOST_BROKERS:,} rows; {MOST_BROKERS:,} brokers are the most")
    if not rows:
        raise OverlayError("empty; a latency matrix has a row and a column for each broker")
    corner, names, rows = _named(rows)
    check_size(len(names))
    _check_names(names, rows)
    return Matrix(corner, tuple(names), np.array([_numbers(line, row[1:], names) for line, row in rows]))


_Rows = list[tuple[int, list[str]]]
"""Cells of each row, with its line."""


def _named(rows: _Rows) -> tuple[str, list[str], _Rows]:
    """The corner, the names, and the rows of numbers, each of which begins with its name."""
    first = rows[0][1]
    if all(_is_number(cell) for cell in first):
        names = [f"B{number}" for number in range(1, len(rows) + 1)]
    elif len(rows) == len(first) + 1 and _is_number(rows[1][1][0]):
        names, rows = [cell.strip() for cell in first], rows[1:]
    else:
        corner, *names = (cell.strip() for cell in first)
        return corner, names, rows[1:]
    return "", names, [(line, [name, *row]) for name, (line, row) in zip(names, rows, strict=True)]


def _load(path: Path, parse: Callable[[str], _Read]) -> _Read:
    with open_file(path) as file:
        content = read_bounded(file, path, LARGEST_MATRIX, "a latency matrix")
    try:
        return parse(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise OverlayError(f"{path}: not UTF-8 text") from error
    except OverlayError as error:
        raise OverlayError(f"{path}: {error}") from error


def _unit(written: str, wanted: Unit | None) -> Unit:
    known = written in set(Unit)
    if wanted is not None and known and wanted != written:
        raise OverlayError(f"its corner states {written}, but the caller asks for {wanted}")
    if wanted is None and not known:
        raise OverlayError(
            f"the unit of its numbers is missing: write one of {', '.join(Unit)} in the corner (line 1, first column), "
            "or give the unit"
        )
    return wanted or Unit(written)


def _check_names(names: list[str], rows: _Rows) -> None:
    doubled = [name for name, columns in Counter(names).items() if columns > 1]
    if doubled:
        raise OverlayError(f"line 1: {min(doubled)!r} names two columns")
    for (line, row), name in zip(rows, names, strict=False):
        if row[0].strip() != name:
            raise OverlayError(
                f"line {line}: begins with {row[0].strip()!r}; rows follow the columns, so {name!r} is due"
            )
    if len(rows) < len(names):
        raise OverlayError(f"the row of {names[len(rows)]!r} is missing: {len(names)} columns, {len(rows)} rows")
    if len(rows) > len(names):
        raise OverlayError(f"line {rows[len(names)][0]}: more rows than the {len(names)} columns; each broker has both")


def _numbers(line: int, cells: list[str], names: list[str]) -> list[float]:
    if len(cells) != len(names):
        raise OverlayError(f"line {line}: {len(cells)} cells for {len(names)} brokers; leave unknown ones empty")
    return [_number(line, name, cell) for name, cell in zip(names, cells, strict=True)]


def _number(line: int, column: str, cell: str) -> float:
    if cell.strip().lower() in _UNKNOWN:
        return math.nan
    if not _is_number(cell) or not 0 <= float(cell) < math.inf:
        raise OverlayError(f"line {line}, column {column!r}: {cell.strip()[:40]!r} is not a number from 0")
    return float(cell)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.strip().lower() in _UNKNOWN
    return "_" not in cell  # Python accepts it between digits
