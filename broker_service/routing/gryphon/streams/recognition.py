"""Recognition of publications that a client repeats: the ids of each client's latest ones, over crashes of the broker.

1. A client's publications are numbered in the order in which the broker has accepted them, in all incarnations.
2. In stable storage their ids are in blocks. One is stored when it is full; until then its ids are those of
   publications in the log, which are stored with their clients and numbers. When the log forgets a publication earlier,
   its block is stored as far as it goes. So a client that publishes much costs a value for many publications.
3. The blocks of a client take turns in a few slots, so that old ones make room.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice, takewhile
from typing import Final, NamedTuple

import msgspec

from broker_service.messages import ClientId
from broker_service.routing.interface import Store

BLOCKS: Final = "recognised "
"""Beginning of the keys of blocks in stable storage."""
_IN_BLOCK: Final = 16
"""Ids."""

_encode = msgspec.msgpack.Encoder().encode
_decode_block: Final = msgspec.msgpack.Decoder(tuple[int, list[str]]).decode


class Accepted(NamedTuple):
    """A publication of a client."""

    client: ClientId
    number: int
    id: str


class _Latest:
    """The latest publications of one client."""

    __slots__ = ("accepted", "ids")

    def __init__(self) -> None:
        self.accepted = 0
        """Publications so far; the number of the next one."""
        self.ids: dict[str, None] = {}
        """In the order of their numbers."""

    def add(self, number: int, id: str, most: int) -> None:
        """Adds a publication that comes behind all others, and forgets the oldest if there are too many."""
        self.accepted = number + 1
        self.ids[id] = None
        if len(self.ids) > most:
            del self.ids[next(iter(self.ids))]


class Recognition:
    """See the module."""

    def __init__(self, most: int) -> None:
        """`most` is the number of each client's publications that are recognised."""
        self._most = most
        self._slots = 1 + -(-most // _IN_BLOCK)
        self._latest: defaultdict[ClientId, _Latest] = defaultdict(_Latest)
        self._open: dict[ClientId, int] = {}
        """Clients with a block that is not stored as it is, and the position of the first publication that it lacks;
        in the order of these positions."""

    def is_repeat(self, client: ClientId, id: str) -> bool:
        """True for one of the latest publications of a client."""
        latest = self._latest.get(client)
        return latest is not None and id in latest.ids

    def accept(self, client: ClientId, id: str, position: int) -> tuple[int, Sequence[Store]]:
        """Accepts a client's next publication, which has this position in the log. Returns its number, and the changes
        of stable storage."""
        latest = self._latest[client]
        number = latest.accepted
        latest.add(number, id, self._most)
        if latest.accepted % _IN_BLOCK:
            self._open.setdefault(client, position)
            return number, ()
        self._open.pop(client, None)
        return number, (self._block(client, latest),)

    def settle(self, end: int) -> list[Store]:
        """Stores the blocks that have ids of publications before a position, because the log forgets these."""
        clients = [client for client, _ in takewhile(lambda each: each[1] < end, self._open.items())]
        for client in clients:
            del self._open[client]
        return [self._block(client, self._latest[client]) for client in clients]

    def recover(self, stored: Iterable[Accepted], logged: Iterable[tuple[int, Accepted]]) -> None:
        """Recognises what former incarnations have accepted: the publications of stored blocks, in any order, and those
        in the log with their positions, in the order of these."""
        numbered = set(stored)
        for position, accepted in logged:
            if accepted not in numbered:
                numbered.add(accepted)
                self._open.setdefault(accepted.client, position)
        for client, number, id in sorted(numbered):
            self._latest[client].add(number, id, self._most)

    def _block(self, client: ClientId, latest: _Latest) -> Store:
        """The change that stores the block of a client's latest publication."""
        block = (latest.accepted - 1) // _IN_BLOCK
        ids = list(islice(reversed(latest.ids), latest.accepted - block * _IN_BLOCK))
        ids.reverse()
        key = f"{BLOCKS}{block % self._slots} {client}"
        return Store(key, _encode((latest.accepted - len(ids), ids)))


def read_block(key: str, value: bytes) -> list[Accepted]:
    """The publications of a stored block."""
    client = key.removeprefix(BLOCKS).split(" ", 1)[1]
    first, ids = _decode_block(value)
    return [Accepted(client, number, id) for number, id in enumerate(ids, first)]
