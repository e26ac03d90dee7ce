"""Recognition of publications that a client repeats: the ids of each client's latest ones, over crashes of the broker.

1. A client's publications are numbered in the order in which the broker has accepted them, in all incarnations.
2. In stable storage their ids are in blocks. One is stored when it is full; until then its ids are those of
   publications in the log, which are stored with their clients and numbers. When the log forgets a publication earlier,
   its block is stored as far as it goes. So a client that publishes much costs a value for many publications.
3. The blocks of a client take turns in a few slots, so that old ones make room.
4. Blocks take a bounded number of bytes. Beyond, those clients are forgotten whose latest publication is the oldest and
   not in the log any more: a client repeats only what it had sent shortly before its broker failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, takewhile
from typing import Final, NamedTuple

import msgspec

from broker_service.messages import ClientId
from broker_service.routing.interface import Erase, Store

BLOCKS: Final = "recognised "
"""Beginning of the keys of blocks in stable storage."""
_IN_BLOCK: Final = 16
"""Ids in one block."""

_encode = msgspec.msgpack.Encoder().encode
_decode_block: Final = msgspec.msgpack.Decoder(tuple[int, list[str]]).decode


class Accepted(NamedTuple):
    """A publication of a client."""

    client: ClientId
    number: int
    id: str


class _Latest:
    """The latest publications of one client."""

    __slots__ = ("accepted", "ids", "position", "sizes")

    def __init__(self) -> None:
        self.accepted = 0
        """Publications so far; the number of the next one."""
        self.ids: dict[str, None] = {}
        """Ids in the order of their numbers."""
        self.position = 0
        """Position of the client's latest publication in the log."""
        self.sizes: dict[int, int] = {}
        """Bytes of the block in each slot, with its key."""

    def add(self, number: int, id: str, most: int) -> None:
        """Adds a publication that comes behind all others, and forgets the oldest if there are too many."""
        self.accepted = number + 1
        self.ids[id] = None
        if len(self.ids) > most:
            del self.ids[next(iter(self.ids))]


class Recognition:
    """The ids of each client's latest publications, by which repeated ones are recognised."""

    def __init__(self, most: int, most_bytes: int) -> None:
        """`most` is the number of each client's publications that are recognised, and `most_bytes` the bytes of all
        blocks."""
        self.bytes = 0
        """Bytes of all blocks, with their keys."""
        self._most = most
        self._most_bytes = most_bytes
        self._slots = 1 + -(-most // _IN_BLOCK)
        self._latest: dict[ClientId, _Latest] = {}
        """Clients in the order of their latest publications."""
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
        latest = self._latest.pop(client, None)
        if latest is None:
            latest = _Latest()
        self._latest[client] = latest
        latest.position = position
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

    @property
    def excess(self) -> int:
        """Bytes beyond the bound, because the log holds publications of too many clients."""
        return max(0, self.bytes - self._most_bytes)

    def make_room(self, first: int) -> list[Erase]:
        """Forgets clients that there is no room for (rule 4); `first` is the first position in the log."""
        erased: list[Erase] = []
        while self.bytes > self._most_bytes:
            client, latest = next(iter(self._latest.items()))
            if latest.position >= first or client in self._open:
                break
            del self._latest[client]
            self.bytes -= sum(latest.sizes.values())
            erased += [Erase(_key(slot, client)) for slot in latest.sizes]
        return erased

    def recover(self, blocks: Mapping[str, bytes], logged: Iterable[tuple[int, Accepted]]) -> None:
        """Recognises what former incarnations have accepted: the publications of stored blocks by their keys, and those
        in the log with their positions, in the order of these."""
        numbered: set[Accepted] = set()
        positions: dict[ClientId, int] = {}
        for key, value in blocks.items():
            numbered.update(_read_block(key, value))
        for position, accepted in logged:
            positions[accepted.client] = position
            if accepted not in numbered:
                numbered.add(accepted)
                self._open.setdefault(accepted.client, position)
        found: dict[ClientId, _Latest] = {}
        for client, number, id in sorted(numbered):
            found.setdefault(client, _Latest()).add(number, id, self._most)
        for client in sorted(found, key=lambda each: positions.get(each, 0)):
            self._latest[client] = found[client]
            found[client].position = positions.get(client, 0)
        for key, value in blocks.items():
            slot, client = key.removeprefix(BLOCKS).split(" ", 1)
            self._count(found[client], int(slot), len(key) + len(value))

    def _block(self, client: ClientId, latest: _Latest) -> Store:
        """The change that stores the block of a client's latest publication."""
        block = (latest.accepted - 1) // _IN_BLOCK
        ids = list(islice(reversed(latest.ids), latest.accepted - block * _IN_BLOCK))
        ids.reverse()
        slot = block % self._slots
        key, value = _key(slot, client), _encode((latest.accepted - len(ids), ids))
        self._count(latest, slot, len(key) + len(value))
        return Store(key, value)

    def _count(self, latest: _Latest, slot: int, size: int) -> None:
        """Counts a block that is stored in a slot."""
        self.bytes += size - latest.sizes.get(slot, 0)
        latest.sizes[slot] = size


def _key(slot: int, client: ClientId) -> str:
    """The key of a block in stable storage."""
    return f"{BLOCKS}{slot} {client}"


def _read_block(key: str, value: bytes) -> list[Accepted]:
    """The publications of a stored block."""
    client = key.removeprefix(BLOCKS).split(" ", 1)[1]
    first, ids = _decode_block(value)
    return [Accepted(client, number, id) for number, id in enumerate(ids, first)]
