"""Destination lists in the headers of publications.

A header is one byte with the form of the list, then the list itself. Servers are named by their numbers, in two bytes
each, the less significant byte first. The receiver is among them.

1. A *list*, for distributed multicast: all servers that the receiver is responsible for, in ascending order.
2. A *tree*, for source-based multicast (section 3.1.3): the servers of a multicast tree whose root is the receiver,
   each before those behind it, and the shape of the tree: for each server a bit 1 where its part of the tree begins and
   a bit 0 where it ends, from the most significant bit of a byte on. The rest of the last byte is 0. Order alone, which
   the paper mentions, cannot tell all trees of the same servers apart.

Bit 1 of the first byte is set in copies that were sent again because a neighbour failed, and in those made of them: the
receiver may have got the same publication by another way.

What a neighbour sends is not trusted: a header in any other form raises `MalformedMessageError`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from broker_service.routing.common.distances import Servers
from broker_service.routing.interface import MalformedMessageError

_LIST, _TREE, _REROUTED = b"\0", b"\1", 2
_NUMBER: Final = np.dtype("<u2")
_END: Final = -1
"""In the stack of a walk through a tree: the part of a server ends here."""


class Tree(NamedTuple):
    """A multicast tree."""

    servers: Servers
    """The root first, each server before those behind it."""
    shape: NDArray[np.bool_]
    """For each server True where its part begins and False where it ends."""

    @property
    def root(self) -> int:
        return int(self.servers[0])

    def branches(self) -> Iterator[Tree]:
        """The trees that the root's children are the roots of."""
        shape = self.shape[1:-1]
        begun = np.cumsum(shape)
        ends = np.flatnonzero(_depths(shape) == 0) + 1
        first, begin = 1, 0
        for end in ends.tolist():
            last = 1 + int(begun[end - 1])
            yield Tree(self.servers[first:last], shape[begin:end])
            first, begin = last, end


def tree_of(edges: Iterable[tuple[int, int]], root: int) -> Tree:
    """The tree with these edges, each from a parent to a child."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for parent, child in edges:
        children[parent].append(child)
    servers: list[int] = []
    shape: list[bool] = []
    stack = [root]
    while stack:
        server = stack.pop()
        shape.append(server != _END)
        if server != _END:
            servers.append(server)
            stack += (_END, *children[server])
    return Tree(np.array(servers, np.uint16), np.array(shape, np.bool_))


def encode_list(servers: Servers) -> bytes:
    """The header with a list of servers, which are in ascending order."""
    return _LIST + servers.astype(_NUMBER, copy=False).tobytes()


def encode_tree(tree: Tree) -> bytes:
    """The header with a tree."""
    return _TREE + tree.servers.astype(_NUMBER, copy=False).tobytes() + np.packbits(tree.shape).tobytes()


def decode(header: bytes, receiver: int, servers: int) -> Servers | Tree:
    """Reads a header that a receiver got: the other servers in its list, or its tree.

    `servers` is the number of servers there are.
    """
    form, content = _form(header), header[1:]
    if form == _LIST:
        return _decode_list(content, receiver, servers)
    if form == _TREE:
        return _decode_tree(content, receiver, servers)
    raise MalformedMessageError("the header holds no destination list")


def destinations(header: bytes) -> Servers:
    """All servers in a header that this server has encoded, in ascending order."""
    if _form(header) == _LIST:
        return _numbers(header[1:])
    return np.sort(_numbers(header[1 : 1 + 2 * _servers_in_tree(len(header) - 1)]))


def is_rerouted(header: bytes) -> bool:
    """True when the copy with this header may be the second one."""
    return bool(header and header[0] & _REROUTED)


def as_rerouted(header: bytes) -> bytes:
    """The header of a copy that may be the second one."""
    return bytes((header[0] | _REROUTED,)) + header[1:]


def _form(header: bytes) -> bytes:
    return bytes((header[0] & ~_REROUTED,)) if header else b""


def _decode_list(content: bytes, receiver: int, servers: int) -> Servers:
    if len(content) % 2:
        raise MalformedMessageError(f"a destination list of {len(content)} bytes")
    listed = _numbers(content)
    if (listed[1:] <= listed[:-1]).any():
        raise MalformedMessageError("a destination list that is not in ascending order")
    others: Servers = listed[listed != receiver]
    if len(others) == len(listed):
        raise MalformedMessageError("a destination list for another server")
    _check_known(int(listed[-1]), servers)
    return others


def _decode_tree(content: bytes, receiver: int, servers: int) -> Tree:
    count = _servers_in_tree(len(content))
    if len(content) != 2 * count + (count + 3) // 4:
        raise MalformedMessageError(f"a multicast tree of {len(content)} bytes")
    listed = _numbers(content[: 2 * count])
    bits = np.unpackbits(np.frombuffer(content, np.uint8, offset=2 * count))
    shape, rest = bits[: 2 * count].astype(np.bool_), bits[2 * count :]
    depths = _depths(shape)
    if rest.any() or (depths[:-1] <= 0).any() or depths[-1:].any():
        raise MalformedMessageError("a multicast tree that is no tree")
    if len(np.unique(listed)) != count:
        raise MalformedMessageError("a multicast tree that a server is in twice")
    if not count or listed[0] != receiver:
        raise MalformedMessageError("a multicast tree for another server")
    _check_known(int(listed.max()), servers)
    return Tree(listed, shape)


def _check_known(number: int, servers: int) -> None:
    if number >= servers:
        raise MalformedMessageError(f"server {number} in a header, and there are {servers}")


def _numbers(content: bytes) -> Servers:
    return np.frombuffer(content, _NUMBER).astype(np.uint16, copy=False)


def _servers_in_tree(length: int) -> int:
    """Number of servers whose tree takes that many bytes, 2 bytes and 2 bits for each server."""
    return 4 * length // 9


def _depths(shape: NDArray[np.bool_] | Sequence[bool]) -> NDArray[np.int_]:
    """Parts of the tree that are open behind each place of its shape."""
    return np.cumsum(np.where(shape, 1, -1))
