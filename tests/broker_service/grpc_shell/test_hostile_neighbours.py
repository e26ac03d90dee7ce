"""A neighbour that sends anything: damaged, forged and replayed messages of every kind, by every routing.

Messages between routers are not authenticated, so such a neighbour can take subscriptions away and bring
publications where they do not belong. What it cannot do is end a broker, have a message wander for ever, or spoil what
clients of other brokers request from then on.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

import pytest

from broker_service.language import Operator, Predicate
from broker_service.messages import MOST_HOPS, BrokerId, Kind, Message, Operation
from tests.broker_service.overlay import CoreOverlay
from topology import shapes
from topology.links import LinkTemplates, build

ROUTINGS = [
    ("tid", {"publications": "fixed"}),
    ("tid", {"publications": "dynamic"}),
    ("octopia", {"publications": "static"}),
    ("octopia", {"publications": "inter-cluster-dynamic"}),
]
MESSAGES = 60
STOCK = Predicate("class", Operator.STRING_EQUAL, "STOCK")
NEW = Predicate("class", Operator.STRING_EQUAL, "NEW")


def overlay_with_traffic(protocol: str, options: Mapping[str, str], seed: int) -> tuple[CoreOverlay, list[Message]]:
    """Four clients somewhere on a SCOT of 4 x 3, and all messages that travelled."""
    overlay = build("scot", shapes.scot(shapes.lettered(shapes.tree(4)), 3), LinkTemplates(), seed)
    net = CoreOverlay(
        [(link.a, link.b) for link in overlay.links],
        options=options,
        seed=seed,
        protocol=protocol,
        attributes={broker.id: dict(broker.attributes) for broker in overlay.brokers},
    )
    seen: list[Message] = []
    for broker in net.brokers.values():

        def receive(
            neighbour: BrokerId,
            messages: Sequence[Message],
            arrived: int | None = None,
            handle: Callable[..., None] = broker.neighbours.receive,
        ) -> None:
            seen.extend(messages)
            handle(neighbour, messages, arrived)

        broker.neighbours.receive = receive
    for number in range(4):
        net.attach(f"c{number}", net.random.choice(net.names))
        net.advertise(f"c{number}", "a", (STOCK, Predicate("price", Operator.PRESENT, 0)))
    net.settle()
    for number in range(4):
        net.subscribe(f"c{number}", "s", (STOCK, Predicate("price", Operator.GREATER, number)))
        net.subscribe(f"c{number}", "t", (STOCK,))
    net.settle()
    net.publish("c0", "p0", {"class": "STOCK", "price": 10})
    net.request("c3", Operation.UNSUBSCRIBE, "t")
    net.request("c3", Operation.UNADVERTISE, "a")
    net.settle()
    return net, seen


def damaged(data: bytes, source: random.Random) -> bytes:
    """A byte changed, the end cut off, something put in, or a part repeated; several times."""
    for _ in range(source.randint(1, 4)):
        at = source.randrange(len(data) + 1)
        put = source.choice([source.randbytes(source.randint(1, 9)), data[at : at + 8], b""])
        data = data[:at] + put + data[at + source.choice([0, 1, len(data)]) :]
    return data


def forged(message: Message, source: random.Random) -> Message:
    return Message(
        kind=message.kind if source.random() < 0.8 else source.choice(list(Kind)),
        id=message.id + source.choice(["", "", "x"]),
        body=damaged(message.body, source) if source.random() < 0.4 else message.body,
        header=damaged(message.header, source) if source.random() < 0.7 else message.header,
        hops=source.choice([message.hops, 0, MOST_HOPS, 2**32 - 1]),
    )


@pytest.mark.parametrize(("protocol", "options"), ROUTINGS, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_a_hostile_broker_ends_nobody(protocol: str, options: Mapping[str, str], seed: int) -> None:
    net, seen = overlay_with_traffic(protocol, options, seed)
    source = random.Random(f"hostile:{seed}")
    hostile = source.choice(net.names)
    for _ in range(MESSAGES):
        receiver = source.choice(list(net.brokers[hostile].links))
        net.brokers[receiver].neighbours.receive(hostile, [forged(source.choice(seen), source)])
        net.brokers[receiver].links[hostile].received -= 1  # it is not the link that is tried here
        net.settle()
    assert sum(broker.dropped for broker in net.brokers.values()) > 0, "some cannot be read"

    first, last, *_ = (name for name in (net.names[0], net.names[-1], net.names[5]) if name != hostile)
    net.attach("publisher", first)
    net.attach("subscriber", last)
    net.advertise("publisher", "a", (NEW,))
    net.settle()
    net.subscribe("subscriber", "s", (NEW,))
    net.settle()
    net.publish("publisher", "fresh", {"class": "NEW"})
    net.settle()
    assert net.notified["subscriber"] == ["fresh"]
