"""A hostile neighbour or client of a broker, as a process: it sends one kind of flood at full speed until it is ended.

    python -m benchmarks.support.attacker ADDRESS FLOOD

Floods of HTTP/2 begin a new connection whenever theirs is closed. Floods of messages come over the link of a neighbour
that the broker knows, with headers that are legal for the routing protocol and as much work as their bytes can make.
Floods of requests come from a client (`hostile_client`).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping

from benchmarks.support.floods import FLOODS, Flood, HostileEnd
from benchmarks.support.hostile_client import REQUESTS, attack_by_requests, read_all
from broker_service.language import Operator, Predicate
from broker_service.language.content import encode_predicates
from broker_service.links.frames import Hello, MessageFrame
from broker_service.messages import Kind, Message
from broker_service.routing.common.bounds import MOST_TREES_NAMED
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.tid.messages import AdvertiseHeader, PublishHeader, Restarted, SubscribeHeader
from broker_service.transport.channel import dial
from broker_service.transport.methods import LINK
from broker_service.transport.status import RpcError
from broker_service.transport.wire import encode_link_frame

NAME = "B4"
"""The attacker's name in the overlay."""

CONNECTIONS = "connections"
"""The name of the flood of connections."""

_MOST_CONNECTIONS = 800
_AT_ONCE = 256_000
_LARGEST = 1 << 20
_STOCK = encode_predicates((Predicate("class", Operator.STRING_EQUAL, "STOCK"),))
_HOME = f"{NAME}.1"

Messages = Callable[[], Iterator[Message]]


def _subscription(number: int, trees: range) -> Message:
    header = SubscribeHeader("S", tuple(f"B1.1.{tree}" for tree in trees))
    return Message(Kind.SUBSCRIBE, f"{_HOME}.{number}", _STOCK, encode_header(header), 1)


def _subscriptions(number: int, trees: int) -> Iterator[Message]:
    """A subscription to many trees, in as few messages as there may be."""
    for begin in range(0, trees, MOST_TREES_NAMED):
        yield _subscription(number, range(begin, min(trees, begin + MOST_TREES_NAMED)))


def _groups() -> Iterator[Message]:
    """Publications for many subscribers of whom nobody knows."""
    header = encode_header(PublishHeader("B1.1.1", 9, {_HOME: [(number,) for number in range(7_500)]}))
    return itertools.repeat(Message(Kind.PUBLISH, "P:1", b"", header, 1))


def _squares() -> Iterator[Message]:
    """A client with two subscriptions of many trees each, and publications that name them over and over."""
    for number in (1, 2):
        yield from _subscriptions(number, 9_000 + number)
    header = encode_header(PublishHeader("B1.1.1", 9, {_HOME: [(1, 2) * 15_000]}))
    yield from itertools.repeat(Message(Kind.PUBLISH, "P:1", b"", header, 1))


def _trees() -> Iterator[Message]:
    """A subscription with many trees, and further trees of it one at a time."""
    for number in itertools.count(1):
        yield from _subscriptions(number, 9_000)
        for tree in range(9_000, 16_000):
            yield _subscription(number, range(tree, tree + 1))


def _restarts() -> Iterator[Message]:
    for incarnation in itertools.count(2):
        header = encode_header(Restarted("B9", incarnation))
        yield Message(Kind.CONTROL, "r", b"", header)


def _advertisements() -> Iterator[Message]:
    for number in itertools.count(1):
        yield Message(Kind.ADVERTISE, f"{_HOME}.{number}", _STOCK, encode_header(AdvertiseHeader((NAME,))), 1)
        yield Message(Kind.UNADVERTISE, f"{_HOME}.{number}")


def _astray() -> Iterator[Message]:
    """Small publications that lead nowhere."""
    header = encode_header(PublishHeader("B1.1.1", 9, {"B9.1": [(1,)]}))
    return itertools.repeat(Message(Kind.PUBLISH, "P:1", b"", header, 1))


MESSAGES: Mapping[str, Messages] = {
    "destinations of nobody": _groups,
    "groups over trees": _squares,
    "trees one by one": _trees,
    "restarts": _restarts,
    "advertisements": _advertisements,
    "publications astray": _astray,
}


def attack(address: str, flood: Flood) -> None:
    """Sends a flood of HTTP/2, for ever. What the broker answers is not read, but for its end."""
    host, _, port = address.rpartition(":")
    while True:
        with socket.create_connection((host, int(port))) as connection:
            end = HostileEnd()
            try:
                connection.sendall(end.greeting(flood.streams))
                while True:
                    connection.sendall(flood.data(end, _AT_ONCE))
                    _discard(connection)
            except OSError:
                pass  # the broker has closed it


def open_connections(address: str) -> None:
    """Opens one connection after another, on which nothing happens, and closes the oldest of very many."""
    host, _, port = address.rpartition(":")
    connections: deque[socket.socket] = deque()
    while True:
        connection = socket.create_connection((host, int(port)))
        with contextlib.suppress(OSError):
            connection.sendall(HostileEnd().greeting(0))
        connections.append(connection)
        if len(connections) > _MOST_CONNECTIONS:
            connections.popleft().close()


def _discard(connection: socket.socket) -> None:
    """Reads the answers that have come. Raises `OSError` at the end of them."""
    try:
        while True:
            if not connection.recv(_AT_ONCE, socket.MSG_DONTWAIT):
                raise ConnectionResetError
    except BlockingIOError:
        return


async def attack_by_messages(address: str, messages: Messages) -> None:
    """Sends messages of a neighbour, for ever."""
    for incarnation in itertools.count(1):
        try:
            call = await dial(address, LINK, _LARGEST)
            hello = Hello(broker=NAME, incarnation=incarnation, protocol="tid")
            await call.write(encode_link_frame(hello, _LARGEST)[0])
            reading = asyncio.create_task(read_all(call))
            endless = messages()
            while not reading.done():
                frame = MessageFrame(list(itertools.islice(endless, 16)))
                for data in encode_link_frame(frame, _LARGEST):
                    await call.write(data)
                await asyncio.sleep(0)
        except RpcError:
            await asyncio.sleep(0.01)


def main(address: str, name: str) -> None:
    if name == CONNECTIONS:
        open_connections(address)
    if name in FLOODS:
        attack(address, FLOODS[name])
    if name in MESSAGES:
        asyncio.run(attack_by_messages(address, MESSAGES[name]))
    asyncio.run(attack_by_requests(address, REQUESTS[name]))


if __name__ == "__main__":
    main(*sys.argv[1:])
