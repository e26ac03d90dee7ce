"""Underlays in files: `underlay.json`, beside the overlay's file in a run directory."""

from __future__ import annotations

from pathlib import Path

import msgspec

from record.files import open_file
from topology.bounded_files import read_bounded
from topology.link_properties import BrokerId, OverlayError
from topology.underlays.underlay import RouterLink, Underlay, UnderlayRouter

SCHEMA = 1
"""Version of the format; a file of another version is refused."""
LARGEST_FILE = 64 << 20
"""Bytes: the most routers that a scenario may have, 100,000, with ten links each."""


class _UnderlayRecord(msgspec.Struct, forbid_unknown_fields=True):
    schema: int
    lan_delay: float
    routers: list[tuple[int, int]]
    """Transit domain and stub domain of each router."""
    links: list[tuple[int, int, float]]
    """Two routers and the delay between them, in seconds."""
    servers: dict[BrokerId, int]


def save_underlay(underlay: Underlay, path: Path) -> None:
    """Writes an underlay as JSON."""
    record = _UnderlayRecord(
        schema=SCHEMA,
        lan_delay=underlay.lan_delay,
        routers=[(router.domain, router.stub) for router in underlay.routers],
        links=[(link.a, link.b, link.delay) for link in underlay.links],
        servers=dict(underlay.servers),
    )
    path.write_bytes(msgspec.json.encode(record) + b"\n")


def load_underlay(path: Path) -> Underlay:
    """Reads what `save_underlay` wrote. Raises `OverlayError` (naming the file) or `OSError`."""
    with open_file(path) as file:
        content = read_bounded(file, path, LARGEST_FILE, "an underlay file")
    try:
        record = msgspec.json.decode(content, type=_UnderlayRecord)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise OverlayError(f"{path}: not an underlay file: {error}") from error
    if record.schema != SCHEMA:
        raise OverlayError(f"{path}: underlay schema {record.schema} is not known; this version reads schema {SCHEMA}")
    try:
        return Underlay(
            routers=tuple(UnderlayRouter(domain, stub) for domain, stub in record.routers),
            links=tuple(RouterLink(a, b, delay) for a, b, delay in record.links),
            servers=record.servers,
            lan_delay=record.lan_delay,
        )
    except OverlayError as error:
        raise OverlayError(f"{path}: {error}") from error
