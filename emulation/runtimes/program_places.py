"""Files of a router's program on this host, for brokers that do not see all of its files."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path

from broker_service.routing.program.references import PREFIX, argv_of, own_paths
from record.errors import HostError


def program_paths(protocol: str) -> tuple[Path, ...]:
    """The files and folders on this host that a program's arguments name, without those that every system has.

    Nothing where the protocol is no program.
    """
    if not protocol.startswith(PREFIX):
        return ()
    return tuple(path for path in own_paths(argv_of(protocol)) if path.exists())


def program_places(protocol: str) -> tuple[Path, ...]:
    """The folders that a program's arguments name, and the folders around the files that they name."""
    paths = program_paths(protocol)
    return tuple(sorted({path if path.is_dir() or path.parent == Path("/") else path.parent for path in paths}))


def require_readable(places: Iterable[Path]) -> None:
    """Raises `HostError` for a folder that brokers, which are users of their own, may not read."""
    for place in places:
        needed = stat.S_IROTH | stat.S_IXOTH if place.is_dir() else stat.S_IROTH
        if place.stat().st_mode & needed != needed:
            raise HostError(
                f"routing.protocol: brokers run as other users, who may not read {place}, where the router's program "
                f"is; allow it with `chmod -R o+rX {place}`"
            )
