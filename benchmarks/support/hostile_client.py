"""Floods of requests of a hostile client of a broker: each is legal, and is sent at full speed."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping

from broker_service.language import Operator, Predicate, Publication
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.composite_wire import encode_composite
from broker_service.language.content import encode_predicates, encode_publication
from broker_service.language.notation import parse_composite
from broker_service.messages import ClientRequest, Operation
from broker_service.transport.channel import Call, dial
from broker_service.transport.methods import SESSION
from broker_service.transport.status import RpcError
from broker_service.transport.wire import encode_client_frames

_CLIENT = "hostile"
_LARGEST = 1 << 20
_IN_A_FRAME = 128
_LONG = 250
"""Predicates, or attributes, of what is long."""

Requests = Callable[[], Iterator[ClientRequest]]

_STOCK = Predicate("class", Operator.STRING_EQUAL, "STOCK")
_OWN = Predicate("class", Operator.STRING_EQUAL, "OWN")
_NUMBERS = [f"a{number}" for number in range(_LONG)]
_ADVERTISED = encode_predicates((_OWN, *(Predicate(name, Operator.GREATER, 0) for name in _NUMBERS)))
_QUOTED = encode_predicates((_STOCK, Predicate("open", Operator.GREATER, 0)))


def _requests(*first: tuple[Operation, str, bytes]) -> Iterator[ClientRequest]:
    """An attached client's first requests."""
    yield ClientRequest(_CLIENT, 0, Operation.ATTACH)
    for number, (operation, id, body) in enumerate(first, 1):
        yield ClientRequest(_CLIENT, number, operation, id, body)


def _request(number: int, operation: Operation, id: str, body: bytes = b"") -> ClientRequest:
    return ClientRequest(_CLIENT, number, operation, id, body)


def _wanting_quotes(number: int) -> bytes:
    """A subscription to all quotes that no other one is equal to."""
    return encode_predicates((_STOCK, Predicate("open", Operator.GREATER, -number)))


def _subscriptions() -> Iterator[ClientRequest]:
    """Subscriptions that no publication matches."""
    yield from _requests()
    for number in itertools.count(1):
        body = encode_predicates((_STOCK, Predicate("open", Operator.GREATER, 10**6 + number)))
        yield _request(number, Operation.SUBSCRIBE, f"s{number}", body)


def _matching_subscriptions() -> Iterator[ClientRequest]:
    """Subscriptions that every publication of the others matches."""
    yield from _requests()
    for number in itertools.count(1):
        yield _request(number, Operation.SUBSCRIBE, f"s{number}", _wanting_quotes(number))


def _long_subscriptions() -> Iterator[ClientRequest]:
    """Subscriptions of many predicates, and publications that they are compared with to the last one."""
    yield from _requests((Operation.ADVERTISE, "a", _ADVERTISED))
    content = encode_publication(Publication({"class": "OWN", **dict.fromkeys(_NUMBERS, 5)}))
    for number in range(12):
        last = Predicate(_NUMBERS[-1], Operator.GREATER, 5 + number)
        predicates = (*(Predicate(name, Operator.GREATER, number - 20) for name in _NUMBERS[:-1]), last)
        yield _request(2 + number, Operation.SUBSCRIBE, f"s{number}", encode_predicates((_OWN, *predicates[:-2], last)))
    for number in itertools.count(100):
        yield _request(number, Operation.PUBLISH, f"p{number}", content)


def _withdrawals() -> Iterator[ClientRequest]:
    yield from _requests()
    for number in itertools.count(1, 2):
        yield _request(number, Operation.SUBSCRIBE, "s", _wanting_quotes(number))
        yield _request(number + 1, Operation.UNSUBSCRIBE, "s")


def _advertisements() -> Iterator[ClientRequest]:
    yield from _requests()
    for number in itertools.count(1, 2):
        yield _request(number, Operation.ADVERTISE, "a", _QUOTED)
        yield _request(number + 1, Operation.UNADVERTISE, "a")


def _standing_advertisements() -> Iterator[ClientRequest]:
    yield from _requests()
    for number in itertools.count(1):
        yield _request(number, Operation.ADVERTISE, f"a{number}", _ADVERTISED)


def _publications() -> Iterator[ClientRequest]:
    """Publications each of which matches all of a thousand subscriptions of the client."""
    yield from _requests((Operation.ADVERTISE, "a", _ADVERTISED))
    for number in range(2, 1_002):
        body = encode_predicates((_OWN, Predicate(_NUMBERS[0], Operator.GREATER, -number)))
        yield _request(number, Operation.SUBSCRIBE, f"s{number}", body)
    content = encode_publication(Publication({"class": "OWN", _NUMBERS[0]: 1}))
    for number in itertools.count(2_000):
        yield _request(number, Operation.PUBLISH, f"p{number}", content)


def _refused() -> Iterator[ClientRequest]:
    """Publications that do not conform to an advertisement, subscriptions that cannot be read, unknown names."""
    yield from _requests()
    content = encode_publication(Publication({"class": "STOCK", "open": 100}))
    for number in itertools.count(1, 3):
        yield _request(number, Operation.PUBLISH, f"p{number}", content)
        yield _request(number + 1, Operation.SUBSCRIBE, "s", b"\xff")
        yield _request(number + 2, Operation.UNSUBSCRIBE, "unknown")


def _attached() -> Iterator[ClientRequest]:
    for number in itertools.count(1):
        yield ClientRequest(f"{_CLIENT}{number}", number, Operation.ATTACH)


def _composites() -> Iterator[ClientRequest]:
    """Composite subscriptions to the others' publications, made and withdrawn."""
    yield from _requests()
    pattern = parse_composite("{[class,eq,'STOCK'],[open,>,0]} & {[class,eq,'STOCK'],[open,>,1]}")
    body = encode_composite(CompositeSubscription(pattern, 10**9))
    for number in itertools.count(1, 2):
        yield _request(number, Operation.COMPOSE, "c", body)
        yield _request(number + 1, Operation.UNSUBSCRIBE, "c")


REQUESTS: Mapping[str, Requests] = {
    "client: subscriptions": _subscriptions,
    "client: subscriptions that all match": _matching_subscriptions,
    "client: long subscriptions": _long_subscriptions,
    "client: withdrawals": _withdrawals,
    "client: advertisements withdrawn": _advertisements,
    "client: advertisements": _standing_advertisements,
    "client: publications": _publications,
    "client: refused requests": _refused,
    "client: names attached": _attached,
    "client: composite subscriptions": _composites,
}


async def attack_by_requests(address: str, requests: Requests) -> None:
    """Sends requests of a client, for ever, and reads the answers."""
    while True:
        with contextlib.suppress(RpcError):
            call = await dial(address, SESSION, _LARGEST)
            reading = asyncio.create_task(read_all(call))
            endless = requests()
            while not reading.done():
                for data in encode_client_frames(list(itertools.islice(endless, _IN_A_FRAME)), _LARGEST):
                    await call.write(data)
                await asyncio.sleep(0)
        await asyncio.sleep(0.01)


async def read_all(call: Call) -> None:
    """Reads what comes on a stream, and throws it away, until the stream ends."""
    with contextlib.suppress(RpcError):
        while await call.read() is not None:
            pass
