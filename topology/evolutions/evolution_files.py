"""Evolutions in files: JSON lines, the overlay at the start and then a change on each line.

{"schema":1,"start":{...}}                  the overlay, as in its own file
{"at":1.0,"vanish":["B1","B2"]}             seconds since the start
{"at":1.1,"appear":{"a":"B1","b":"B7",...}} a link with its properties
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from topology.evolutions.evolution import Appears, Evolution
from topology.files import to_json

SCHEMA = 1
"""Version of the format."""


def to_json_lines(evolution: Evolution) -> bytes:
    """An evolution as JSON lines."""
    return b"".join(line + b"\n" for line in _lines(evolution))


def _lines(evolution: Evolution) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    yield encode({"schema": SCHEMA, "start": msgspec.Raw(to_json(evolution.start).replace(b"\n", b""))})
    for change in evolution.changes:
        if isinstance(change, Appears):
            yield encode({"at": change.at, "appear": change.link})
        else:
            yield encode({"at": change.at, "vanish": (change.a, change.b)})
