"""Evolutions in files: JSON lines, the overlay at the start and then a change on each line.

{"schema":1,"start":{...}}                  the overlay, as in its own file
{"at":1.0,"vanish":["B1","B2"]}             seconds since the start
{"at":1.1,"appear":{"a":"B1","b":"B7",...}} a link with its properties
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from record.files import open_file
from topology.evolutions.evolution import MOST_CHANGES, Appears, Change, Evolution, Vanishes
from topology.files import from_json, to_json
from topology.link_properties import BrokerId, Link, OverlayError
from topology.model import Overlay

SCHEMA = 1
"""Version of the format; a file of another version is refused."""
LARGEST_LINE = 64 << 20
"""Bytes: room for the overlay at the start."""


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    start: msgspec.Raw
    schema: int = 0


class _ChangeRecord(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    at: float
    appear: Link | None = None
    vanish: tuple[BrokerId, BrokerId] | None = None


def to_json_lines(evolution: Evolution) -> bytes:
    """An evolution as JSON lines."""
    return b"".join(line + b"\n" for line in _lines(evolution))


def load_evolution(path: Path) -> Evolution:
    """Reads a file of JSON lines. Raises `OverlayError`, which names file and line, or `OSError`."""
    with open_file(path) as file:
        try:
            start = _start(file.readline(LARGEST_LINE))
        except OverlayError as error:
            raise OverlayError(f"{path}:1: {error}") from error
        changes: list[Change] = []
        for number, line in enumerate(iter(lambda: file.readline(LARGEST_LINE), b""), start=2):
            if len(changes) == MOST_CHANGES:
                raise OverlayError(f"{path}:{number}: more than {MOST_CHANGES:,} changes of links")
            try:
                changes.append(_change(msgspec.json.decode(line, type=_ChangeRecord)))
            except (msgspec.DecodeError, UnicodeDecodeError, OverlayError) as error:
                raise OverlayError(f"{path}:{number}: not a change of a link: {error}") from error
    try:
        return Evolution(start, tuple(changes))
    except OverlayError as error:
        raise OverlayError(f"{path}: {error}") from error


def _lines(evolution: Evolution) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    yield encode(_Header(msgspec.Raw(to_json(evolution.start)), SCHEMA)).replace(b"\n", b"")
    for change in evolution.changes:
        if isinstance(change, Appears):
            yield encode(_ChangeRecord(change.at, appear=change.link))
        else:
            yield encode(_ChangeRecord(change.at, vanish=(change.a, change.b)))


def _start(line: bytes) -> Overlay:
    try:
        header = msgspec.json.decode(line, type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise OverlayError(f"not the start of an evolution: {error}") from error
    if header.schema != SCHEMA:
        raise OverlayError(f"evolution schema {header.schema} is not known; this version reads schema {SCHEMA}")
    return from_json(bytes(header.start))


def _change(record: _ChangeRecord) -> Change:
    if record.appear is not None and record.vanish is None:
        return Appears(record.at, record.appear)
    if record.vanish is not None and record.appear is None:
        return Vanishes(record.at, *record.vanish)
    raise OverlayError("a change has either `appear` or `vanish`")
