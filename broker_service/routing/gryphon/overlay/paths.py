"""Choice of a broker among those of a node (section 3.1: any of them will do, and any link).

`hash` takes the broker whose place is the publication's hash, modulo the brokers of the node, or the next one that can
be reached. The hash is the number of the stream, or comes from an attribute (`hash_of`). `message` takes them in turn,
by position. `least-loaded` takes the link with the shortest queue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from zlib import crc32

from broker_service.language import Value
from broker_service.messages import BrokerId
from broker_service.routing.interface import LinkStatus

Links = Mapping[BrokerId, LinkStatus]
Path = Callable[[Links, Sequence[BrokerId], int, int], BrokerId | None]
"""The broker for a hash and a position, of a node's brokers; None when no link to them works."""

MOST_HASH = 1 << 32
"""Number above all hashes."""


def hash_of(value: Value | None) -> int:
    """The hash of an attribute's value: an integer's own value, so that a scenario can choose paths; 0 for None."""
    if value is None:
        return 0
    return value % MOST_HASH if isinstance(value, int) else crc32(str(value).encode())


def by_hash(links: Links, members: Sequence[BrokerId], hash: int, position: int) -> BrokerId | None:
    count = len(members)
    first = members[hash % count]
    if links[first].up:
        return first
    for place in range(hash + 1, hash + count):
        if links[members[place % count]].up:
            return members[place % count]
    return None


def by_message(links: Links, members: Sequence[BrokerId], hash: int, position: int) -> BrokerId | None:
    return by_hash(links, members, position, 0)


def by_load(links: Links, members: Sequence[BrokerId], hash: int, position: int) -> BrokerId | None:
    reachable = [member for member in members if links[member].up]
    return min(reachable, key=lambda member: links[member].queue_length, default=None)


PATHS: Mapping[str, Path] = {"hash": by_hash, "message": by_message, "least-loaded": by_load}
