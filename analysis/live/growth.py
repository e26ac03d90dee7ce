"""How log files grow: which whole lines are new since a place in each of them.

A place is a byte offset by file name; a file that is not there yet is at 0. Lines count once they end: a torn last line
waits until its writer's next start has ended it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from analysis.run_files.logs import Piece
from record.files import log_files

_LOOK_BYTES = 64 << 10

Places = Mapping[str, int]


def latest(logs: Path, start: Places, most: int | None = None) -> dict[str, int]:
    """The places up to which whole lines can be read, of all files together about so many bytes further.

    What waits is taken from all files alike, so that a late follower sees nodes advance together in the run's time. A
    file that became shorter stays where it is.
    """
    sizes = {file.name: file.stat().st_size for file in log_files(logs)}
    waiting = {name: max(0, size - start.get(name, 0)) for name, size in sizes.items()}
    total = sum(waiting.values())
    share = 1.0 if most is None or total <= most else most / total
    ends = dict(start)
    for name, bytes_ in waiting.items():
        if bytes_:
            begin = start.get(name, 0)
            ends[name] = _end_of_lines(logs / name, begin, begin + max(1, int(bytes_ * share)), sizes[name])
    return ends


def grown(logs: Path, start: Places, end: Places) -> list[Piece]:
    """What lies between two places, file by file."""
    return [
        Piece(str((logs / name).resolve()), start.get(name, 0), until)
        for name, until in sorted(end.items())
        if until > start.get(name, 0)
    ]


def last_line(piece: Piece) -> Piece:
    """Of a piece that ends with a line; as much of it as is surely enough."""
    with Path(piece.file).open("rb") as file:
        start = max(piece.start, piece.end - _LOOK_BYTES)
        file.seek(start)
        newline = file.read(piece.end - 1 - start).rfind(b"\n")
    return Piece(piece.file, start + newline + 1, piece.end)


def _end_of_lines(path: Path, begin: int, until: int, size: int) -> int:
    """The end of the last line that ends by `until`; where none does, of the first line; where that does not end,
    `begin`."""
    with path.open("rb") as file:
        before = until
        while before > begin:
            start = max(begin, before - _LOOK_BYTES)
            file.seek(start)
            newline = file.read(before - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            before = start
        after = until
        while after < size:
            file.seek(after)
            newline = (found := file.read(min(_LOOK_BYTES, size - after))).find(b"\n")
            if newline >= 0:
                return after + newline + 1
            if not found:
                break
            after += len(found)
    return begin
